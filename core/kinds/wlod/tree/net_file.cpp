// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/net_file.h"

#include <algorithm>
#include <cmath>

namespace kvlab {

Error NetFile::bad(const std::string& field, const std::string& why, const std::string& remedy) const {
  return Error(m_kind.code, std::string("the ") + m_kind.what + " was refused", m_path + ": " + field + " " + why,
               remedy, field);
}

std::optional<std::string> NetFile::metadata(const std::string& key) const {
  const auto found = m_file.metadata().find(key);
  return found == m_file.metadata().end() ? std::nullopt : std::optional(found->second);
}

Result<std::string> NetFile::model() const {
  if (const auto kind = metadata("kind"); kind != m_kind.kind)
    return bad("kind", kind ? "is \"" + *kind + "\"" : "is missing in the metadata",
               std::string("use a file whose metadata says kind ") + m_kind.kind);
  const auto whose = metadata("model");
  if (!whose)
    return bad("model", "is missing in the metadata", "write the fingerprint of the model it was trained for");
  return *whose;
}

Result<std::int64_t> NetFile::rows(const std::string& tensor, std::int64_t most) const {
  const FileTensor* found = m_file.find(tensor);
  if (!found) return bad(tensor, "is missing", std::string("export every tensor that ") + m_kind.header + " lists");
  const std::int64_t size = found->shape.size() == 2 ? found->shape[0] : 0;
  if (size >= 1 && size <= most) return size;
  return bad(tensor, "is " + shapeText(found->shape) + ", no matrix of 1 to " + std::to_string(most) + " rows",
             "export it as a matrix");
}

Result<std::vector<float>> NetFile::take(const std::string& tensor, const std::vector<std::int64_t>& shape) {
  const FileTensor* found = m_file.find(tensor);
  m_taken.push_back(tensor);
  if (!found) return bad(tensor, "is missing", std::string("export every tensor that ") + m_kind.header + " lists");
  if (found->shape != shape)
    return bad(tensor, "is " + shapeText(found->shape) + ", and " + shapeText(shape) + " is needed",
               "use a network that was trained for this model");
  const auto type = kernelType(found->element);
  if (!type || kernels::dtypeHasScale(*type))
    return bad(tensor, "is " + std::string(name(found->element)), "export F32, F16 or BF16");
  std::vector<float> values = widened(found->view());
  const auto odd = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  if (odd == values.end()) return values;
  return bad(tensor, "is not finite at element " + std::to_string(odd - values.begin()),
             "train it again, with a smaller learning rate");
}

Status NetFile::nothingElse() const {
  for (const auto& [tensor, unused] : m_file.tensors())
    if (std::find(m_taken.begin(), m_taken.end(), tensor) == m_taken.end())
      return bad(tensor, std::string("is no part of a ") + m_kind.what,
                 std::string("export the tensors that ") + m_kind.header + " lists and nothing else");
  return ok();
}

}  // namespace kvlab
