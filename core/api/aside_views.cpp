// SPDX-License-Identifier: Apache-2.0
#include "core/api/aside_views.h"

#include "core/api/json_values.h"

namespace kvlab {

nlohmann::json toJson(const BreakpointView& point) {
  return {{"id", point.id},    {"condition", point.condition}, {"ignore", point.ignore}, {"once", point.once},
          {"log", point.logs}, {"enabled", point.enabled},     {"hits", point.hits},     {"last", orNull(point.last)}};
}

nlohmann::json toJson(const WatchView& watch) {
  nlohmann::json value;
  if (const double* number = std::get_if<double>(&watch.value)) value = finite(*number);
  if (const bool* flag = std::get_if<bool>(&watch.value)) value = *flag;
  if (const std::string* text = std::get_if<std::string>(&watch.value)) value = *text;
  return {{"id", watch.id}, {"expression", watch.expression}, {"value", std::move(value)}};
}

nlohmann::json toJson(const NoteView& note) {
  return {{"id", note.id},
          {"text", note.text},
          {"tick", note.tick},
          {"branch", note.branch},
          {"layer", orNull(note.layer)},
          {"kvHead", orNull(note.kvHead)},
          {"ledger", orNull(note.ledger)},
          {"here", note.here},
          {"lost", note.entry < 0}};
}

}  // namespace kvlab
