// SPDX-License-Identifier: Apache-2.0
#include "core/api/table.h"

#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

const char* name(ColumnType type) {
  static constexpr const char* kNames[] = {"integer", "number", "text", "flag", "value"};
  return kNames[static_cast<std::size_t>(type)];
}

json tableArgs(const std::string& table, json of, json columns) {
  json out{{"name", table}, {"of", std::move(of)}};
  if (!columns.is_null()) out["columns"] = std::move(columns);
  return out;
}

const json& cellsIn(const json& answer, const std::string& column) {
  static const json kNone = json::array();
  const json& cells = member(member(answer, "columns"), column);
  return cells.is_array() ? cells : kNone;
}

json recordsOf(const json& answer) {
  json out = json::array();
  const json& columns = member(answer, "columns");
  if (!columns.is_object()) return out;
  for (const auto& [name, cells] : columns.items())
    for (std::size_t i = 0; cells.is_array() && i < cells.size(); ++i) {
      if (out.size() <= i) out.push_back(json::object());
      out[i][name] = cells[i];
    }
  return out;
}

}  // namespace kvlab
