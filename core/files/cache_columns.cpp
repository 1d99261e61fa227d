// SPDX-License-Identifier: Apache-2.0
#include "core/files/cache_columns.h"

namespace kvlab {

Result<std::span<const std::byte>> ColumnsIn::bytes(const std::string& name, Element element,
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

Status ColumnsIn::finish() const {
  if (m_taken == m_file.tensors().size()) return ok();
  return badCache(
      m_path,
      std::to_string(m_file.tensors().size()) + " tensors, the manifest accounts for " + std::to_string(m_taken));
}

}  // namespace kvlab
