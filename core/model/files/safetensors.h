// SPDX-License-Identifier: Apache-2.0
// safetensors files, read in place and written whole. A file is: u64 little-endian length n of the
// header, n bytes of JSON {name: {dtype, shape, data_offsets:[begin, end)}, "__metadata__": {..}},
// data. Everything a header claims is checked before a tensor is handed out; alignment is not
// assumed. Errors (code bad_file) name file, tensor and byte. A file that another process shortens
// while it is mapped cannot be guarded against. Immutable after opening; any thread.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/model/files/mapped_file.h"
#include "core/model/files/tensor.h"

namespace kvlab {

/// Types that may stand in a header.
enum class Element : std::uint8_t { Bool, U8, I8, F8E4M3, F8E5M2, I16, U16, F16, BF16, I32, U32, F32, I64, U64, F64 };
/// Stands for every type of the format that is not known here: kvlab cannot compute with such a tensor, and it may lie
/// in a file that is read for its other tensors.
inline constexpr Element kUnknownElement = static_cast<Element>(15);
std::string_view name(Element element);  // "BF16"
std::optional<Element> elementFromName(std::string_view name);
std::int64_t elementBytes(Element element);
/// The type kernels know it by, if they do.
std::optional<kernels::DType> kernelType(Element element);
Element elementOf(kernels::DType type);

struct FileTensor {
  std::string name;
  Element element = Element::F32;
  std::vector<std::int64_t> shape;   // slowest dimension first; empty = scalar
  std::span<const std::byte> bytes;  // dense, any alignment

  /// As a kernel operand; null data where kernels lack the type.
  TensorView view() const;
};

class Safetensors : public TensorFiles<FileTensor> {
 public:
  /// One file.
  static Result<Safetensors> open(const std::string& path);
  /// A model directory: model.safetensors, or the shards of model.safetensors.index.json.
  static Result<Safetensors> openDirectory(const std::string& directory);
  /// Bytes that the caller keeps alive; `file` names them in errors.
  static Result<Safetensors> parse(std::span<const std::byte> bytes, const std::string& file);

  /// "__metadata__" of all files together.
  const std::map<std::string, std::string>& metadata() const { return m_metadata; }

 private:
  Status merge(Safetensors&& other, const std::string& file);

  std::map<std::string, std::string> m_metadata;
};

/// Collects tensors and writes them in one go: to a neighbour of the path, flushed to the disk,
/// then renamed over it, so that no reader ever meets half a file.
class SafetensorsWriter {
 public:
  /// The bytes must live until write. A name already taken or a size that is not the shape's is an
  /// error of write.
  void add(std::string name, Element element, std::vector<std::int64_t> shape, std::span<const std::byte> bytes);
  void add(const std::string& name, const TensorView& tensor);
  void metadata(const std::string& key, const std::string& value) { m_metadata[key] = value; }
  Status write(const std::string& path) const;
  /// What write() writes.
  Result<std::string> content() const;
  /// Bytes that write() writes, wherever the path leads.
  std::int64_t bytes() const;

 private:
  Result<std::string> header() const;

  std::vector<FileTensor> m_tensors;  // in file order
  std::map<std::string, std::string> m_metadata;
};

}  // namespace kvlab
