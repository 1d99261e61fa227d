// SPDX-License-Identifier: Apache-2.0
// A cache file taken apart, to be damaged and put together again.
#pragma once
#include <cstring>
#include <string>

#include "unit/model_bytes.h"

namespace kvlab::test {

/// The parts of a file, to be damaged and put together again.
struct Parts {
  json header;
  std::string data;

  static Parts of(const std::string& path) {
    const std::string file = readAll(path);
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    return {json::parse(file.substr(8, length)), file.substr(8 + length)};
  }
  json manifest() const { return json::parse(header["__metadata__"]["kvlab"].get<std::string>()); }
  void setManifest(const json& manifest) { header["__metadata__"]["kvlab"] = manifest.dump(); }
  void write(const std::string& path) const { writeFile(path, safetensorsFile(header.dump(), data)); }
  std::size_t offset(const std::string& tensor) const { return header[tensor]["data_offsets"][0].get<std::size_t>(); }
  template <class T>
  void poke(const std::string& tensor, std::size_t i, T value) {
    std::memcpy(data.data() + offset(tensor) + i * sizeof(T), &value, sizeof value);
  }
};

}  // namespace kvlab::test
