// SPDX-License-Identifier: GPL-3.0-or-later
#include "difference_fixture.h"

#include "fixture_session.h"

namespace kvlab::fixture {
namespace {

using nlohmann::json;

json changedRow(LedgerId id, int position, int layer) {
  const auto seed = static_cast<std::uint64_t>(id.value());
  const double far = layer == 0 ? 0 : 0.12 * layer * noise(seed, static_cast<std::uint64_t>(layer), 21);
  return {{"ledger", id.value()},
          {"phase", {position > 40 ? position - 1 : position, position}},
          {"k", far},
          {"v", 1.4 * far}};
}

}  // namespace

json difference(const Snapshot& now) {
  const auto length = static_cast<std::size_t>(now.length());
  json layers = json::array(), exactness = json::array();
  for (int layer = 0; layer < static_cast<int>(now.layers.size()); ++layer) {
    json changed = json::array();
    for (std::size_t p = 40; p < length; p += layer == 0 ? 4 : 2)
      changed.push_back(changedRow(now.context[p], static_cast<int>(p), layer));
    layers.push_back({{"layer", layer},
                      {"kvHead", nullptr},
                      {"type", {"f32/f32", layer == 3 ? "int8/int8" : "f32/f32"}},
                      {"onlyThen", layer == 2 ? json({36, 300}) : json({36})},
                      {"onlyNow", {now.context[38].value()}},
                      {"changed", changed},
                      {"moved", layer == 1 ? 7 : 0},
                      {"same", 36}});
  }
  for (std::size_t p = 42; p < length; p += 9)
    exactness.push_back({{"ledger", now.context[p].value()}, {"then", "exact"}, {"now", "context-edited"}});
  return {{"then", now.tick.value() - 3},
          {"now", now.tick.value()},
          {"alike", false},
          {"kl", 0.0137},
          {"edit", "replace \u201c\u00b7cellar\u201d \u2192 \u201c\u00b7attic\u201d"},
          {"onlyThen", {36}},
          {"onlyNow", {now.context[38].value()}},
          {"textsThen", {{"300", "\u00b7harbour"}}},
          {"exactness", exactness},
          {"layers", layers}};
}

json explainedDifference(const Snapshot& now) {
  json out = difference(now);
  const auto figures = [](double left, double wrong) {
    return json{{"keys", left}, {"values", left / 2}, {"worst_keys", left}, {"worst_values", left}, {"wrong", wrong}};
  };
  const auto cause = [](const char* kind, const char* text, double without, json reach) {
    return json{{"kind", kind},
                {"parameters", json::object()},
                {"text", text},
                {"without", without},
                {"reach", std::move(reach)}};
  };
  const int length = now.length(), layers = static_cast<int>(now.layers.size());
  const auto reach = [&now](int from, int to, int layer, int lastLayer, int head, int lastHead) {
    json rows = json::array();
    for (int p = from; p <= to; ++p) rows.push_back(now.context[static_cast<std::size_t>(p)].value());
    return json{{"layers", {{layer, lastLayer}}},
                {"heads", {{head, lastHead}}},
                {"tokens", {{from, to}}},
                {"rows", std::move(rows)}};
  };
  for (json& layer : out["layers"])
    for (json& row : layer["changed"]) row["typed"] = {0.003, 0.004};
  out["explanation"] = {
      {"outcome", "explained"},
      {"verdict", "explained by: keys are transposed within blocks of 32 rows; rows from position 40 on are stale"},
      {"causes",
       {cause("block_transpose", "keys are transposed within blocks of 32 rows", 1.4,
              reach(0, length - 1, 0, layers - 1, 0, 1)),
        cause("stale_rows", "rows from position 40 on are stale since an edit there", 0.31,
              reach(40, length - 1, 1, layers - 1, 1, 1))}},
      {"left", figures(0.0041, 0)},
      {"heads", 2},
      {"unexplained", reach(44, 44, 2, 2, 0, 0)},
      {"type", figures(0.0039, 0)},
      {"types", {{"keys", "q8_0"}, {"values", "f16"}}},
      {"rivals",
       {{{"causes", {cause("scale", "keys are multiplied by 0.7", 1.4, json())}}, {"left", figures(0.92, 0.8)}}}}};
  return out;
}

}  // namespace kvlab::fixture
