// SPDX-License-Identifier: Apache-2.0
#include "core/api/watch_view.h"

#include "core/api/finite.h"

namespace kvlab {

nlohmann::json toJson(const WatchView& watch) {
  nlohmann::json value;
  if (const double* number = std::get_if<double>(&watch.value)) value = finite(*number);
  if (const bool* flag = std::get_if<bool>(&watch.value)) value = *flag;
  if (const std::string* text = std::get_if<std::string>(&watch.value)) value = *text;
  return {{"id", watch.id}, {"expression", watch.expression}, {"value", std::move(value)}};
}

}  // namespace kvlab
