// SPDX-License-Identifier: Apache-2.0
// Small files made in memory for the tests of core/model.
#pragma once
#include <QTemporaryDir>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace kvlab::test {

inline std::span<const std::byte> bytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A safetensors file of this header text and data; `claim` overrides the stated header length.
inline std::string safetensorsFile(const std::string& header, const std::string& data,
                                   std::optional<std::uint64_t> claim = {}) {
  const std::uint64_t length = claim.value_or(header.size());
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

inline void writeFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string readAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace kvlab::test
