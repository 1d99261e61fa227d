// SPDX-License-Identifier: Apache-2.0
// The header of one safetensors file, checked against its data. Used by Safetensors.
#pragma once
#include <map>
#include <span>
#include <string>

#include "core/model/files/safetensors.h"

namespace kvlab {

Error badFile(const std::string& file, const std::string& why);
Error badTensor(const std::string& file, const std::string& tensor, const std::string& why);

/// Longest header that is read; the reference implementation's limit.
inline constexpr std::size_t kMaxHeader = 100'000'000;
/// Stands for every type of the format that is not known here: kvlab cannot compute with such a tensor, and it may lie
/// in a file that is read for its other tensors.
inline constexpr Element kUnknownElement = static_cast<Element>(15);
/// The key that names no tensor.
inline constexpr const char* kMetadata = "__metadata__";

/// Borrows the bytes and the file's name.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& file) : m_bytes(bytes), m_file(file) {}

  /// Comes first.
  Result<nlohmann::json> header();
  Result<FileTensor> tensor(const std::string& name, const nlohmann::json& entry) const;
  Status metadata(const nlohmann::json& entry, std::map<std::string, std::string>& out) const;
  /// Tensors must tile the data: no gap, no overlap, nothing left over.
  Status tiling(const std::map<std::string, FileTensor, std::less<>>& tensors) const;

 private:
  std::size_t begin(const FileTensor& t) const { return static_cast<std::size_t>(t.bytes.data() - m_data.data()); }
  Status readType(const nlohmann::json& entry, FileTensor& tensor) const;
  Status readShape(const nlohmann::json& entry, FileTensor& tensor) const;
  Status readBytes(const nlohmann::json& entry, FileTensor& tensor) const;

  std::span<const std::byte> m_bytes, m_data;
  const std::string& m_file;
};

}  // namespace kvlab
