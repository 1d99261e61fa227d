// SPDX-License-Identifier: Apache-2.0
#include "core/explain/reading.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/api/json_values.h"

namespace kvlab {
namespace {

std::string headWords(const std::vector<int>& map) {
  bool reversed = true, shifted = true;
  const auto heads = static_cast<int>(map.size());
  for (int h = 0; h < heads; ++h) {
    reversed = reversed && map[at(h)] == heads - 1 - h;
    shifted = shifted && map[at(h)] == (h + 1) % heads;
  }
  if (reversed) return "in the reverse order of heads";
  if (shifted) return "stored with heads shifted by one";
  std::string list;
  for (const int head : map) list += (list.empty() ? "" : ", ") + std::to_string(head);
  std::vector<int> sorted = map;
  std::sort(sorted.begin(), sorted.end());
  const bool each = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  return each ? "in another order of heads: " + list
              : "copied from the wrong heads, as by a wrong map of query groups: heads " + list;
}

bool eachOnce(std::vector<int> map) {
  std::sort(map.begin(), map.end());
  return std::adjacent_find(map.begin(), map.end()) == map.end();
}

}  // namespace

std::vector<float> SideReading::undone(const RowShape& shape, std::vector<float> rows) const {
  for (const LayoutStep& step : layout) step.undo(shape, rows);
  return rows;
}

std::vector<float> SideReading::applied(const RowShape& shape, std::vector<float> rows) const {
  for (auto step = layout.rbegin(); step != layout.rend(); ++step) step->apply(shape, rows);
  return rows;
}

namespace {

void takeScales(const SideReading& reading, std::size_t heads, std::size_t dim, std::vector<float>& rows) {
  std::vector<float> peaks;
  for (std::size_t i = 0; i < rows.size(); i += dim) {
    float most = 0;
    for (std::size_t j = i; j < i + dim; ++j) most = std::isnan(rows[j]) ? 0 : std::max(most, std::abs(rows[j]));
    peaks.push_back(most);
  }
  const auto count = static_cast<std::int64_t>(peaks.size() / heads);
  for (std::int64_t row = 0; row < count; ++row)
    for (std::size_t head = 0; head < heads; ++head) {
      const std::int64_t from = row + reading.scaleRows;
      const std::size_t own = at(row) * heads + head, other = (head + at(reading.scaleHeads)) % heads;
      if (from < 0 || from >= count || peaks[own] <= 0 || peaks[at(from) * heads + other] <= 0) continue;
      const float factor = peaks[at(from) * heads + other] / peaks[own];
      for (std::size_t i = own * dim; i < (own + 1) * dim; ++i) rows[i] *= factor;
    }
}

std::string scaleWords(const SideReading& reading, int heads) {
  const int by = reading.scaleRows != 0              ? reading.scaleRows
      : reading.scaleHeads == heads - 1 && heads > 2 ? -1
                                                     : reading.scaleHeads;
  const std::string what = reading.scaleRows != 0 ? "row" : "head";
  if (std::abs(by) == 1) return "the " + what + (by > 0 ? " behind" : " before");
  return "the " + what + " " + std::to_string(std::abs(by)) + (by > 0 ? " places behind" : " places before");
}

}  // namespace

std::vector<float> expectedRows(const SideReading& reading, const ModelConfig& config, const TokenRows& exact, int own,
                                const RowPlaces& places, std::int64_t length) {
  const std::size_t width = at(config.kvHeads) * at(config.headDim), dim = at(config.headDim);
  const std::vector<float>& rows = reading.source == Side::Keys ? exact.keys[at(own)] : exact.values[at(own)];
  std::vector<float> out(places.tokens.size() * width, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t row = 0; row < places.tokens.size(); ++row) {
    if (places.tokens[row] < 0) continue;
    const float* from = rows.data() + at(places.tokens[row]) * width;
    for (std::size_t head = 0; head * dim < width; ++head) {
      const std::size_t ours = reading.headMap.empty() ? head : at(reading.headMap[head]);
      for (std::size_t i = 0; i < dim; ++i)
        out[row * width + head * dim + i] = from[ours * dim + i] * static_cast<float>(reading.scale);
    }
  }
  if (reading.source == Side::Keys)
    turningLike(reading.turning, config, Layer(own), length).turn(out, config.headDim, places.phases);
  if (reading.otherScales()) takeScales(reading, width / dim, dim, out);
  return out;
}

std::vector<Cause> causesOf(const SideReading& reading, const std::string& of) {
  std::vector<Cause> out;
  const nlohmann::json side = {{"side", of}};
  const auto add = [&](const std::string& kind, nlohmann::json parameters, const std::string& text) {
    if (of != "keys and values") parameters.update(side);
    out.push_back({kind, std::move(parameters), text, 0});
  };
  for (const LayoutStep& step : reading.layout) add(step.kind, step.parameters, of + " are " + step.text);
  if (reading.source != reading.side)
    add("keys_and_values_swapped", nlohmann::json::object(),
        reading.side == Side::Keys ? "values stand where keys should be" : "keys stand where values should be");
  if (!reading.headMap.empty())
    add(eachOnce(reading.headMap) ? "head_order" : "head_map", {{"heads", reading.headMap}},
        of + " are " + headWords(reading.headMap));
  if (reading.source == Side::Keys && !reading.turning.kind.empty())
    add(reading.turning.kind, reading.turning.parameters, of + " are " + reading.turning.text);
  if (reading.scale != 1)
    add("scale", {{"factor", reading.scale}}, of + " are multiplied by " + numberWords(reading.scale, 5));
  if (reading.otherScales())
    add("scale_of_neighbour",
        reading.scaleRows != 0 ? nlohmann::json{{"rows", reading.scaleRows}}
                               : nlohmann::json{{"heads", reading.scaleHeads}},
        of + " have the scales of " + scaleWords(reading, reading.heads) + ": codes were multiplied by those");
  return out;
}

std::vector<Cause> causesOf(const SideReading& keys, const SideReading& values) {
  if (keys.source == Side::Values && values.source == Side::Keys) {
    std::vector<Cause> out = causesOf(keys, "keys"), other = causesOf(values, "values");
    const auto swapped = [](const Cause& one) { return one.kind == "keys_and_values_swapped"; };
    std::erase_if(out, swapped), std::erase_if(other, swapped);
    out.insert(out.begin(), {"keys_and_values_swapped", nlohmann::json::object(), "keys and values are swapped", 0});
    out.insert(out.end(), other.begin(), other.end());
    return out;
  }
  std::vector<Cause> out, both = causesOf(keys, "keys and values"), ofKeys = causesOf(keys, "keys"),
                          ofValues = causesOf(values, "values"), alike = causesOf(values, "keys and values");
  const auto same = [](const Cause& a, const Cause& b) { return a.kind == b.kind && a.parameters == b.parameters; };
  std::vector<bool> taken(alike.size());
  for (std::size_t i = 0; i < both.size(); ++i) {
    std::size_t j = 0;
    while (j < alike.size() && (taken[j] || !same(both[i], alike[j]))) ++j;
    if (j < alike.size()) taken[j] = true;
    out.push_back(j < alike.size() ? both[i] : ofKeys[i]);
  }
  for (std::size_t j = 0; j < alike.size(); ++j)
    if (!taken[j]) out.push_back(ofValues[j]);
  return out;
}

std::vector<float> relativeErrors(std::span<const float> theirs, std::span<const float> ours, int dim) {
  const std::size_t count = theirs.size() / at(dim);
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    double apart = 0, length = 0;
    for (std::size_t j = i * at(dim); j < (i + 1) * at(dim); ++j) {
      const double d = double{theirs[j]} - ours[j];
      apart += d * d, length += double{ours[j]} * ours[j];
    }
    if (std::isnan(length)) out[i] = std::numeric_limits<float>::quiet_NaN();
    else if (!std::isfinite(apart)) out[i] = std::numeric_limits<float>::infinity();
    else if (length > 0) out[i] = static_cast<float>(std::sqrt(apart / length));
    else out[i] = apart > 0 ? std::numeric_limits<float>::infinity() : 0;
  }
  return out;
}

}  // namespace kvlab
