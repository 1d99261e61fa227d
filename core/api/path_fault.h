// SPDX-License-Identifier: Apache-2.0
// Texts that name no file. Pure; any thread.
#pragma once
#include <cstring>
#include <string>

namespace kvlab {

/// The reason why a text cannot name a file; empty = it can. The operating system would end the name at the first NUL
/// character.
inline std::string pathFault(const std::string& path) {
  if (path.empty()) return "is empty";
  return std::strlen(path.c_str()) == path.size() ? "" : "has a NUL character";
}

}  // namespace kvlab
