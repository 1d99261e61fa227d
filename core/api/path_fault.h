// SPDX-License-Identifier: Apache-2.0
// Texts that name no file. Pure; any thread.
#pragma once
#include <string>
#include <string_view>

namespace kvlab {

/// Why a text cannot name a file; empty = it can. The operating system would end the name at the first NUL character.
inline std::string pathFault(std::string_view path) {
  if (path.empty()) return "is empty";
  return path.find('\0') == std::string_view::npos ? "" : "has a NUL character";
}

}  // namespace kvlab
