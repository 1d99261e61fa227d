// SPDX-License-Identifier: Apache-2.0
#include "core/api/breakpoint_view.h"

namespace kvlab {

nlohmann::json toJson(const BreakpointView& point) {
  return {{"id", point.id},         {"condition", point.condition},
          {"ignore", point.ignore}, {"once", point.once},
          {"log", point.logs},      {"enabled", point.enabled},
          {"hits", point.hits},     {"last", point.last ? nlohmann::json(point.last->value()) : nlohmann::json()}};
}

}  // namespace kvlab
