// SPDX-License-Identifier: Apache-2.0
// Tensors of a native cache file: columns while a file is written, and tensors of a file that is read, each requested
// once by name, type and shape. Values; any thread.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/files/cache_file.h"

namespace kvlab {

/// A count in the type of shapes.
constexpr std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

class ColumnsOut {
 public:
  template <class T>
  void add(std::string name, Element element, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    std::vector<std::byte>& bytes = add(std::move(name), element, std::move(shape), values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  /// Makes room for a column; the caller fills it before the next call.
  std::vector<std::byte>& add(std::string name, Element element, std::vector<std::int64_t> shape, std::size_t bytes) {
    m_tensors.push_back({std::move(name), element, std::move(shape), std::vector<std::byte>(bytes)});
    return m_tensors.back().bytes;
  }
  /// Adds the columns to the writer, which points into them.
  void addTo(SafetensorsWriter& writer) const {
    for (const Tensor& tensor : m_tensors) writer.add(tensor.name, tensor.element, tensor.shape, tensor.bytes);
  }

 private:
  struct Tensor {
    std::string name;
    Element element;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
  };
  std::vector<Tensor> m_tensors;
};

class ColumnsIn {
 public:
  ColumnsIn(const Safetensors& file, const std::string& path) : m_file(file), m_path(path) {}

  Result<std::span<const std::byte>> bytes(const std::string& name, Element element,
                                           const std::vector<std::int64_t>& shape) {
    const FileTensor* tensor = m_file.find(name);
    if (!tensor) return badCache(m_path, "tensor \"" + name + "\" is missing", name);
    ++m_taken;
    if (tensor->element != element || tensor->shape != shape)
      return badCache(m_path,
                      "tensor \"" + name + "\" is " + std::string(kvlab::name(tensor->element)) + " " +
                          shapeText(tensor->shape) + ", expected " + std::string(kvlab::name(element)) + " " +
                          shapeText(shape),
                      name);
    return tensor->bytes;
  }

  template <class T>
  Status take(const std::string& name, Element element, const std::vector<std::int64_t>& shape, std::vector<T>& out) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span<const std::byte> data = KV_TRY(bytes(name, element, shape));
    out.resize(data.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), data.data(), data.size());
    return ok();
  }

  bool has(const std::string& name) const { return m_file.find(name) != nullptr; }
  /// Error (code bad_file) that names a value of a tensor.
  Error badAt(const std::string& name, std::size_t i, const std::string& why) const {
    return badCache(m_path, "tensor \"" + name + "\": value " + std::to_string(i) + " " + why, name);
  }
  /// The same about the whole file; `field` names the wrong part.
  Error bad(const std::string& why, const std::string& field) const { return badCache(m_path, why, field); }
  /// Size of a tensor's dimension; 0 if there is none.
  std::int64_t extent(const std::string& name, std::size_t dimension = 0) const {
    const FileTensor* tensor = m_file.find(name);
    return tensor && dimension < tensor->shape.size() ? tensor->shape[dimension] : 0;
  }
  /// Error if the file has a tensor that was not requested.
  Status finish() const {
    const std::size_t all = m_file.tensors().size();
    if (m_taken == all) return ok();
    return badCache(m_path, std::to_string(all) + " tensors, the manifest accounts for " + std::to_string(m_taken));
  }

 private:
  const Safetensors& m_file;
  const std::string& m_path;
  std::size_t m_taken = 0;
};

}  // namespace kvlab
