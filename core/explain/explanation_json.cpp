// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "core/api/json_values.h"
#include "core/api/read_json.h"
#include "core/explain/engine_hypotheses.h"
#include "core/explain/explain.h"

namespace kvlab {
namespace {

using nlohmann::json;

// What a figure may grow by between two runs of one engine before it counts as worse.
constexpr double kWorse = 1.5, kNothing = 1e-6;

json toJson(const LeftFigures& one) {
  return {{"keys", finite(one.keys)},
          {"values", finite(one.values)},
          {"worst_keys", finite(one.worstKeys)},
          {"worst_values", finite(one.worstValues)},
          {"wrong", finite(one.wrong)}};
}

json toJson(const ExplainedPlace& one) {
  return {{"side", name(one.side)}, {"layer", one.layer},           {"head", one.head},          {"row", one.row},
          {"token", one.token},     {"figure", finite(one.figure)}, {"bound", finite(one.bound)}};
}

/// [[first, last], ..] of ascending numbers.
json runsJson(const std::vector<std::int32_t>& ascending) {
  json out = json::array();
  for (const std::int32_t one : ascending) {
    if (!out.empty() && out.back()[1] == one - 1) out.back()[1] = one;
    else out.push_back({one, one});
  }
  return out;
}

/// Null where there are no rows.
json toJson(const RowReach& one) {
  if (one.empty()) return {};
  return {{"layers", runsJson(one.layers)}, {"heads", runsJson(one.heads)}, {"tokens", runsJson(one.tokens)}};
}

json toJson(const Rival& one) { return {{"causes", listJson(one.causes)}, {"left", toJson(one.left)}}; }

/// Figures of a layer in short: the middle and the worst of its rows.
json sideJson(const std::vector<float>& figures, const std::vector<float>& bounds, std::size_t heads) {
  std::vector<float> known;
  std::size_t wrong = 0;
  std::int64_t worst = -1;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (std::isnan(figures[i])) continue;
    known.push_back(figures[i]);
    wrong += figures[i] > bounds[i];
    if (worst < 0 || figures[i] > figures[at(worst)]) worst = static_cast<std::int64_t>(i);
  }
  json out = {{"wrong", wrong}};
  if (known.empty()) return out;
  out["worst"] = finite(figures[at(worst)]);
  out["bound"] = finite(bounds[at(worst)]);
  out["row"] = worst / static_cast<std::int64_t>(heads);
  out["head"] = worst % static_cast<std::int64_t>(heads);
  const auto middle = known.begin() + std::ptrdiff_t(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  out["middle"] = finite(*middle);
  return out;
}

json layerJson(const ExplainedLayer& one, std::size_t heads, bool rows) {
  json out = {{"layer", one.layer},
              {"own", one.own},
              {"rows", one.rows()},
              {"keys", sideJson(one.keys, one.keyBounds, heads)},
              {"values", sideJson(one.values, one.valueBounds, heads)}};
  if (!rows) return out;
  out["tokens"] = one.tokens;
  out["positions"] = one.positions;
  out["key_errors"] = finiteList(one.keys);
  out["value_errors"] = finiteList(one.values);
  out["key_bounds"] = finiteList(one.keyBounds);
  out["value_bounds"] = finiteList(one.valueBounds);
  return out;
}

std::string line(const std::string& what, const std::string& text) {
  return "  " + what + std::string(what.size() < 10 ? 10 - what.size() : 1, ' ') + text + "\n";
}

/// ", and 2.4 % of the heads of rows are above their bounds"
std::string wrongWords(double share) {
  return share > 0 ? ", and " + numberWords(100 * share, 2) + " % of the heads of rows are above their bounds" : "";
}

std::string sideLine(const LeftFigures& one) {
  return "keys " + numberWords(one.keys) + " (worst " + numberWords(one.worstKeys) + "), values " +
      numberWords(one.values) + " (worst " + numberWords(one.worstValues) + ")";
}

}  // namespace

std::string_view name(Side side) { return side == Side::Keys ? "keys" : "values"; }

std::string_view name(ExplainOutcome outcome) {
  static constexpr std::string_view kNames[] = {"equal", "explained", "unexplained"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::span<const CauseKind> causeKinds() {
  static const std::vector<CauseKind> kinds = [] {
    std::vector<CauseKind> out = {
#define KVLAB_CAUSE(name, title) {name, title},
#include "core/explain/cause_kinds.inc"
#undef KVLAB_CAUSE
    };
    for (const EngineHypothesis& one : engineHypotheses())
      if (std::ranges::find(out, one.name, &CauseKind::name) == out.end()) out.push_back({one.name, one.title});
    return out;
  }();
  return kinds;
}

json toJson(const Cause& cause) {
  return {{"kind", cause.kind},
          {"parameters", cause.parameters},
          {"text", cause.text},
          {"without", finite(cause.without)},
          {"reach", toJson(cause.reach)}};
}

json toJson(const Explanation& one, bool rows) {
  json layers = json::array();
  for (const ExplainedLayer& layer : one.layers) layers.push_back(layerJson(layer, at(one.heads), rows));
  json rivals = json::array();
  for (const Rival& rival : one.rivals) rivals.push_back(toJson(rival));
  json out = {{"outcome", name(one.outcome)},
              {"verdict", one.verdict},
              {"causes", listJson(one.causes)},
              {"plain", toJson(one.plain)},
              {"left", toJson(one.left)},
              {"type", toJson(one.type)},
              {"importer", one.importer},
              {"types", {{"keys", one.keyType}, {"values", one.valueType}}},
              {"alignment", one.alignment},
              {"without_token", one.without},
              {"begins", one.begins ? toJson(*one.begins) : json()},
              {"unexplained", toJson(one.unexplained)},
              {"rivals", std::move(rivals)},
              {"heads", one.heads},
              {"head_size", one.headDim},
              {"layers", std::move(layers)},
              {"notes", one.notes},
              {"seconds", one.seconds}};
  out["ids"] = one.ids;
  return out;
}

std::string explanationText(const Explanation& one) {
  std::string out = one.verdict + "\n";
  std::int64_t rows = 0;
  for (const ExplainedLayer& layer : one.layers) rows = std::max(rows, layer.rows());
  out += line("cache",
              one.importer + ", " + std::to_string(one.layers.size()) + " layers of up to " + std::to_string(rows) +
                  " rows, keys " + one.keyType + ", values " + one.valueType);
  out += line(
      "aligned",
      one.alignment + (one.without > 0 ? "; " + std::to_string(one.without) + " rows of layers have no token" : ""));
  for (std::size_t i = 0; i < one.causes.size(); ++i)
    out += line(i == 0 ? "causes" : "", std::to_string(i + 1) + ". " + one.causes[i].text);
  out += line("without", sideLine(one.plain));
  out += line("left over", sideLine(one.left));
  out += line("type", sideLine(one.type) + ": ours in the type of the file");
  if (one.begins)
    out += line("begins",
                std::string(name(one.begins->side)) + ", layer " + std::to_string(one.begins->layer) + ", head " +
                    std::to_string(one.begins->head) + ", row " + std::to_string(one.begins->row) + ": " +
                    numberWords(one.begins->figure) + ", and " + numberWords(one.begins->bound) + " would be rounding");
  for (std::size_t i = 0; i < std::min<std::size_t>(3, one.rivals.size()); ++i) {
    std::string causes;
    for (const Cause& cause : one.rivals[i].causes) causes += (causes.empty() ? "" : "; ") + cause.text;
    out += line(i == 0 ? "rivals" : "",
                causes + ": leaves " + numberWords(std::max(one.rivals[i].left.keys, one.rivals[i].left.values)) +
                    wrongWords(one.rivals[i].left.wrong));
  }
  for (std::size_t i = 0; i < one.notes.size(); ++i) out += line(i == 0 ? "notes" : "", one.notes[i]);
  return out + line("time", numberWords(one.seconds, 3) + " s");
}

Result<bool> noWorse(const Explanation& now, const json& former) {
  const json& causes = member(former, "causes");
  const json& left = member(former, "left");
  const auto refused = [](const std::string& key) {
    return Error("bad_argument", "the baseline was not read", "it has no list \"" + key + "\"",
                 "give the JSON of a former answer: kvlab compare ... --json FILE", "baseline");
  };
  if (!causes.is_array()) return refused("causes");
  if (!left.is_object()) return refused("left");
  std::set<std::string> known;
  for (const json& cause : causes) known.insert(memberOr(cause, "kind", std::string()));
  for (const Cause& cause : now.causes)
    if (!known.contains(cause.kind)) return false;
  const auto grown = [&](const std::string& key, double value) {
    const json& was = member(left, key);
    if (!was.is_number()) return false;  // it was infinite
    return !(value <= kWorse * was.get<double>() + kNothing);
  };
  return !grown("keys", now.left.keys) && !grown("values", now.left.values) &&
      !grown("worst_keys", now.left.worstKeys) && !grown("worst_values", now.left.worstValues) &&
      !grown("wrong", now.left.wrong);
}

}  // namespace kvlab
