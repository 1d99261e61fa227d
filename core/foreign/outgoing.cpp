// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/outgoing.h"

namespace kvlab {

Error notSaved(const char* code, const std::string& why, const std::string& remedy, const std::string& field,
               const nlohmann::json& value) {
  return Error(code, "the cache was not saved", why, remedy, field, value);
}

Error notFinite(std::int32_t layer, const OutgoingRow& row, kernels::DType type) {
  return notSaved("not_finite",
                  "layer " + std::to_string(layer) + ", index " + std::to_string(row.token) + " holds a number that " +
                      kernels::dtypeName(type) + " does not",
                  "rebuild, or check the weights", "type", kernels::dtypeName(type));
}

}  // namespace kvlab
