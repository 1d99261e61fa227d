// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/api/json_values.h"
#include "core/explain/explainer.h"
#include "core/explain/row_places.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

constexpr double kOtherLayer = 0.1;  // mean sine up to which rows are those of a layer; noise of deep layers is less
constexpr double kFarRow = 0.25;     // square of a relative distance: the row is another token's
constexpr double kFound = 0.6;       // mean error up to which a reading tells something

/// Sine of the angle between heads, on average over some rows.
double apartness(std::span<const float> theirs, std::span<const float> ours, std::size_t width, std::size_t dim) {
  double sum = 0;
  std::size_t count = 0;
  const std::size_t rows = theirs.size() / width, every = std::max<std::size_t>(1, rows / 32);
  for (std::size_t row = 0; row < rows; row += every)
    for (std::size_t from = row * width; from < (row + 1) * width; from += dim) {
      double dot = 0, a = 0, b = 0;
      for (std::size_t i = from; i < from + dim; ++i)
        dot += double{theirs[i]} * ours[i], a += double{theirs[i]} * theirs[i], b += double{ours[i]} * ours[i];
      if (std::isnan(b)) continue;
      const double cosine = a > 0 && b > 0 && std::isfinite(a) ? dot / std::sqrt(a * b) : 0;
      sum += std::sqrt(std::max(0.0, 1 - cosine * cosine)), ++count;
    }
  return count > 0 ? sum / static_cast<double>(count) : 1;
}

/// The row that is furthest from ours: squares of its distance and of its length.
double worstRow(std::span<const float> theirs, std::span<const float> ours, std::size_t width) {
  double out = 0;
  for (std::size_t from = 0; from < theirs.size(); from += width) {
    double apart = 0, length = 0;
    for (std::size_t i = from; i < from + width; ++i)
      apart += (double{theirs[i]} - ours[i]) * (double{theirs[i]} - ours[i]), length += double{ours[i]} * ours[i];
    if (std::isfinite(length) && length > 0) out = std::max(out, std::isfinite(apart) ? apart / length : 1e9);
  }
  return out;
}

/// Tokens between the first and the last that no row is of.
std::vector<std::int32_t> missingTokens(const RowPlaces& places) {
  const std::set<std::int32_t> has(places.tokens.begin(), places.tokens.end());
  std::vector<std::int32_t> out;
  for (std::int32_t token = has.empty() ? 0 : *has.begin(); !has.empty() && token < *has.rbegin(); ++token)
    if (token >= 0 && !has.contains(token)) out.push_back(token);
  return out;
}

std::string missingText(const std::vector<std::int32_t>& tokens) {
  return std::string(tokens.size() == 1 ? "the row of token " : "the rows of tokens ") + rangeWords(tokens) +
      (tokens.size() == 1 ? " is missing" : " are missing");
}

std::string layerMapText(const std::vector<std::int32_t>& layers, const std::vector<std::int32_t>& own) {
  bool reversed = true;
  std::set<std::int32_t> shifts;
  std::string pairs;
  for (std::size_t i = 0; i < own.size(); ++i) {
    reversed = reversed && own[i] == layers[own.size() - 1 - i];
    shifts.insert(own[i] - layers[i]);
    if (own[i] != layers[i])
      pairs += (pairs.empty() ? "layer " : ", layer ") + std::to_string(layers[i]) + " holds layer " +
          std::to_string(own[i]);
  }
  if (reversed) return "layers are in the reverse order";
  if (shifts.size() == 1)
    return "layers are shifted by " + std::to_string(std::abs(*shifts.begin())) + ": layer " +
        std::to_string(layers.front()) + " of the file holds layer " + std::to_string(own.front()) + " of the model";
  return "layers are in another order: " + pairs;
}

}  // namespace

std::vector<FoundReading> Explainer::readingsOf(Side side, const std::vector<RowPlaces>& places,
                                                const std::vector<float>& theirs) const {
  const std::size_t s = side == Side::Keys ? kKeys : kValues;
  const int own = m_layers.front().own;
  const std::vector<float>& exact = side == Side::Keys ? m_exact.keys[at(own)] : m_exact.values[at(own)];
  return findReadings({config(), side, shapeOf(0), theirs, own, m_exact, static_cast<std::int64_t>(m_ids.size()),
                       places, m_cache.block, typeError(m_type[s], exact, config().headDim)});
}

FoundReading Explainer::searchSide(Side side, const std::vector<RowPlaces>& places) {
  std::vector<FoundReading> found = readingsOf(side, places, rowsOf(0, side == Side::Keys ? kKeys : kValues));
  for (std::size_t i = 1; i < found.size(); ++i) {
    Rival rival{causesOf(found[i].reading, std::string(name(side))), {}};
    rival.left.wrong = std::numeric_limits<double>::quiet_NaN();
    (side == Side::Keys ? rival.left.keys : rival.left.values) = found[i].rest;
    if (!rival.causes.empty()) m_rivals.push_back(std::move(rival));
  }
  return std::move(found.front());
}

/// Values that were read as another type of as many bits.
void Explainer::rereadBits(const std::vector<RowPlaces>& places, FoundReading& values) {
  const auto allowed = [&](const StoredType* type) {
    return restAllowed(typeError(type, m_exact.values[at(m_layers.front().own)], config().headDim));
  };
  if (values.rest <= std::max(allowed(m_type[kValues]), 0.2)) return;
  using Reread = float (*)(float);
  constexpr Reread toBrain = [](float x) { return kernels::bf16ToFloat(kernels::floatToHalf(x)); };
  constexpr Reread toHalf = [](float x) { return kernels::halfToFloat(kernels::floatToBf16(x)); };
  constexpr Reread toNarrow = [](float x) {  // a byte of e5m2 is the upper one of f16
    return kernels::fp8ToFloat(static_cast<std::uint8_t>(kernels::floatToHalf(x) >> 8));
  };
  constexpr Reread toWide = [](float x) {
    return kernels::halfToFloat(static_cast<std::uint16_t>(kernels::floatToFp8(x) << 8));
  };
  for (const auto& [read, are, reread] : {std::tuple("fp8_e5m2", "fp8_e4m3", toNarrow),
                                          {"fp8_e4m3", "fp8_e5m2", toWide},
                                          {"f16", "bf16", toBrain},
                                          {"bf16", "f16", toHalf}}) {
    if (!holdsAll(*storedType(read), m_raw.front()[kValues])) continue;
    std::vector<Sides> again = m_raw;
    for (Sides& sides : again)
      for (std::vector<float>& side : sides) std::ranges::transform(side, side.begin(), reread);
    FoundReading found = readingsOf(Side::Values, places, again.front()[kValues]).front();
    if (found.rest > allowed(storedType(are)) || found.rest > 0.5 * values.rest) continue;
    values = std::move(found);
    m_apart = std::move(again);
    m_type = {storedType(are), storedType(are)};
    m_more.push_back({"bits_misread",
                      {{"read", read}, {"are", are}},
                      std::string("rows are ") + are + " values whose bits were read as " + read,
                      0});
    return;
  }
}

/// Keys and values that were cut into rows in the wrong way explain each other: neither can be read alone.
void Explainer::separatePairs(const std::vector<RowPlaces>& places, FoundReading& values) {
  const double allowed =
      restAllowed(typeError(m_type[kValues], m_exact.values[at(m_layers.front().own)], config().headDim));
  if (values.rest <= std::max(allowed, 0.2)) return;
  for (const PairLayout& pair : pairLayouts(shapeOf(0), m_cache.block)) {
    Sides first = m_raw.front();
    pair.separate(shapeOf(0), first[kKeys], first[kValues]);
    FoundReading found = readingsOf(Side::Values, places, first[kValues]).front();
    if (found.rest > allowed || found.rest > 0.5 * values.rest) continue;
    values = std::move(found);
    m_apart = m_raw;
    for (std::size_t i = 0; i < m_apart.size(); ++i) pair.separate(shapeOf(i), m_apart[i][kKeys], m_apart[i][kValues]);
    m_more.push_back({"block_pairs", {{"rows", pair.block}, {"by_head", pair.byHead}}, pair.text(), 0});
    return;
  }
}

bool Explainer::readTextOfRows(const FoundReading& values, RowPlaces& places) {
  if (values.reading.source != Side::Values) return false;
  const int own = m_layers.front().own;
  const ReadingAsk ask{config(),
                       Side::Values,
                       shapeOf(0),
                       rowsOf(0, kValues),
                       own,
                       m_exact,
                       static_cast<std::int64_t>(m_ids.size()),
                       {},
                       m_cache.block,
                       typeError(m_type[kValues], m_exact.values[at(own)], config().headDim)};
  const std::vector<std::vector<std::int32_t>> near = nearTokens(ask, values.reading, m_ids);
  std::size_t usual = 0;
  for (std::size_t row = 0; row < near.size(); ++row) {
    const std::int32_t token = places.tokens[row];
    usual += token >= 0 &&
        std::ranges::any_of(near[row], [&](std::int32_t one) { return m_ids[at(one)] == m_ids[at(token)]; });
  }
  const TextOfRows text = textOfRows(near, contextOrder(m_cache.layers.front()), m_ids);
  if (text.matched < usual + std::max<std::size_t>(2, near.size() / 20) || text.matched * 2 < near.size()) return false;
  places.text = "read off the rows";
  places.tokens = text.tokens;
  for (std::size_t row = 0; row < near.size(); ++row)  // new tokens, for the time being as any of their id
    if (places.tokens[row] < 0 && !near[row].empty()) places.tokens[row] = near[row].front();
  return true;
}

std::vector<RowPlaces> Explainer::placesOfKeys(const FoundReading& values, const std::vector<RowPlaces>& places) const {
  const ForeignLayer& layer = m_cache.layers.front();
  if (values.rest > kFound) return places;
  std::vector<RowPlaces> out = {places[values.places]};
  const auto add = [&](RowPlaces one) {
    const auto same = [&](const RowPlaces& other) { return other.phases == one.phases; };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(one));
  };
  for (const RowPlaces& other : likelyPlaces(layer, static_cast<std::int64_t>(m_ids.size()))) {
    RowPlaces one = out.front();
    one.phases = other.phases;
    add(std::move(one));
  }
  RowPlaces ownPhases = out.front(), ranked = out.front();
  for (std::size_t row = 0; row < ownPhases.tokens.size(); ++row)
    ownPhases.phases[row] = std::max(0, ownPhases.tokens[row]);
  const std::vector<std::int32_t> order = contextOrder(layer);
  for (std::size_t i = 0; i < order.size(); ++i) ranked.phases[at(order[i])] = static_cast<double>(i);
  add(std::move(ownPhases)), add(std::move(ranked));
  return out;
}

/// The text is that of the rows; what was taken for it is the text before an edit.
Status Explainer::takeText(const RowPlaces& places) {
  std::vector<TokenId> text;
  RowPlaces taken = places;
  std::vector<bool> has(m_ids.size());
  for (const std::int32_t row : contextOrder(m_cache.layers.front())) {
    const std::int32_t token = places.tokens[at(row)];
    if (token < 0) continue;
    has[at(token)] = true;
    taken.tokens[at(row)] = static_cast<std::int32_t>(text.size());
    text.push_back(m_ids[at(token)]);
  }
  if (m_before.empty()) m_before = m_ids;
  std::vector<std::int32_t> gone;
  const std::vector<std::int32_t> common = commonTokens(m_ids, text);
  for (std::size_t i = 0; i < common.size(); ++i)
    if (common[i] < 0) gone.push_back(static_cast<std::int32_t>(i));
  m_notes.push_back("the rows are of another text than the ids: " + std::to_string(text.size()) + " tokens" +
                    (gone.empty() ? "" : ", without tokens " + rangeWords(gone) + " of the ids"));
  m_ids = std::move(text);
  m_exact = KV_TRY(rowsOfText(m_ids, 0));
  m_places.assign(1, std::move(taken));
  return ok();
}

/// Tokens in the middle of the text that no row is of, where the file says no positions that would tell the same.
void Explainer::nameMissing(const RowPlaces& places) {
  if (!m_cache.layers.front().positions.empty()) return;
  const std::vector<std::int32_t> missing = missingTokens(places);
  if (!missing.empty()) m_more.push_back({"missing_rows", {{"tokens", missing}}, missingText(missing), 0});
}

Status Explainer::read() {
  for (const ForeignLayer& layer : m_cache.layers) {
    ExplainedLayer one;
    one.layer = one.own = layer.layer;
    m_layers.push_back(std::move(one));
  }
  const std::array<std::string, 2> types = {m_cache.layers.front().keys.type, m_cache.layers.front().values.type};
  for (const std::size_t side : {kKeys, kValues}) {
    m_type[side] = storedType(types[side]);
    if (!m_type[side] && side == kKeys) m_notes.push_back("rows of type " + types[side] + " cannot be rounded here");
  }
  if (!told("finding the reading"))
    return Error("cancelled", "the cache was not explained", "somebody stopped it", "start again");
  const auto tokens = static_cast<std::int64_t>(m_ids.size());
  const std::vector<RowPlaces> places = likelyPlaces(m_cache.layers.front(), tokens);
  FoundReading values = searchSide(Side::Values, places);
  separatePairs(places, values);
  rereadBits(places, values);
  RowPlaces solved = places[values.places];
  const bool other = values.rest >
          restAllowed(typeError(m_type[kValues], m_exact.values[at(m_layers.front().own)], config().headDim)) &&
      readTextOfRows(values, solved);
  std::vector<RowPlaces> ofKeys = places;
  if (other) {
    values.places = 0, values.rest = 0;
    ofKeys = {solved};
  }
  ofKeys = placesOfKeys(values, ofKeys);
  FoundReading keys = searchSide(Side::Keys, ofKeys);
  RowPlaces chosen = ofKeys[keys.places];
  m_reading = {keys.reading, values.reading};
  m_places.assign(1, chosen);
  if (other) {
    bool own = true;
    for (std::size_t row = 0; row < chosen.tokens.size(); ++row)
      own = own && (chosen.tokens[row] < 0 || chosen.phases[row] == chosen.tokens[row]);
    const bool holes = m_cache.layers.front().rows < tokens && own;
    if (!own) KV_TRY(takeText(chosen));
    else if (!holes) m_places.assign(1, places[0]);
    else nameMissing(chosen);
  }
  if (keys.own == values.own && keys.own != m_layers.front().own) m_layers.front().own = keys.own;
  placeLayers(m_places.front());
  for (const std::size_t side : {kKeys, kValues}) findOtherScales(side);
  findTypes();
  for (const std::size_t side : {kKeys, kValues}) findScale(side);
  mapLayers();
  return ok();
}

void Explainer::placeLayers(const RowPlaces& first) {
  const ForeignLayer& lowest = m_cache.layers.front();
  std::map<std::int32_t, std::pair<std::int32_t, double>> byPosition;
  for (std::size_t row = 0; row < lowest.positions.size(); ++row)
    byPosition[lowest.positions[row]] = {first.tokens[row], first.phases[row]};
  const RowPlaces kept = first;
  m_places.assign(1, kept);
  for (std::size_t i = 1; i < m_cache.layers.size(); ++i) {
    const ForeignLayer& layer = m_cache.layers[i];
    const bool alike = layer.rows == lowest.rows && layer.positions == lowest.positions;
    if (alike && (!layer.positions.empty() || at(layer.rows) >= m_ids.size())) {
      m_places.push_back(kept);
      continue;
    }
    std::vector<RowPlaces> likely = likelyPlaces(layer, static_cast<std::int64_t>(m_ids.size()));
    if (!layer.positions.empty() && !byPosition.empty()) {
      RowPlaces known = likely.front();
      for (std::size_t row = 0; row < known.tokens.size(); ++row)
        if (const auto found = byPosition.find(layer.positions[row]); found != byPosition.end())
          std::tie(known.tokens[row], known.phases[row]) = found->second;
      m_places.push_back(std::move(known));
      continue;
    }
    const std::vector<float> theirs = m_reading[kValues].undone(shapeOf(i), rowsOf(i, kValues));
    const auto oursAt = [&](const RowPlaces& places) {
      return expectedRows(m_reading[kValues], config(), m_exact, m_layers[i].own, places,
                          static_cast<std::int64_t>(m_ids.size()));
    };
    if (layer.rows == lowest.rows) likely.insert(likely.begin(), kept);
    std::size_t best = 0;
    double rest = 2;
    for (std::size_t j = 0; j < likely.size(); ++j)
      if (const double now = apartness(theirs, oursAt(likely[j]), width(), at(config().headDim)); now < rest * 0.9)
        rest = now, best = j;
    if (at(layer.rows) < m_ids.size() && worstRow(theirs, oursAt(likely[best]), width()) > kFarRow) {
      RowPlaces all;
      for (std::size_t token = 0; token < m_ids.size(); ++token)
        all.tokens.push_back(static_cast<std::int32_t>(token)), all.phases.push_back(double(token));
      if (std::optional<RowPlaces> found = placesWithHoles(theirs, oursAt(all), width())) {
        nameMissingIn(layer.layer, *found);
        m_places.push_back(std::move(*found));
        continue;
      }
    }
    m_places.push_back(std::move(likely[best]));
  }
}

/// Tokens in the middle of a layer that no row is of, where the layers below have them.
void Explainer::nameMissingIn(std::int32_t layer, const RowPlaces& places) {
  const std::vector<std::int32_t> missing = missingTokens(places);
  if (missing.empty() || missing == missingTokens(m_places.front())) return;
  for (Cause& cause : m_more)
    if (cause.kind == "missing_rows" && cause.parameters.contains("layers") && cause.parameters["tokens"] == missing) {
      cause.parameters["layers"].push_back(layer);
      const auto layers = cause.parameters["layers"].get<std::vector<std::int32_t>>();
      cause.text = missingText(missing) + " in layers " + rangeWords(layers);
      return;
    }
  m_more.push_back({"missing_rows",
                    {{"tokens", missing}, {"layers", {layer}}},
                    missingText(missing) + " in layer " + std::to_string(layer),
                    0});
}

/// Layers that hold the rows of other layers of the model: both sides, or one.
void Explainer::mapLayers() {
  std::vector<std::int32_t> layers;
  std::array<std::vector<std::int32_t>, 2> own;
  for (std::size_t i = 0; i < m_layers.size(); ++i) {
    layers.push_back(m_layers[i].layer);
    for (const std::size_t side : {kKeys, kValues}) {
      const std::vector<float> theirs = m_reading[side].undone(shapeOf(i), rowsOf(i, side));
      const auto restIn = [&](int candidate) {
        return apartness(theirs,
                         expectedRows(m_reading[side], config(), m_exact, candidate, m_places[i],
                                      static_cast<std::int64_t>(m_ids.size())),
                         width(), at(config().headDim));
      };
      own[side].push_back(m_layers[i].own);
      double rest = restIn(m_layers[i].own);
      const double alike = std::max(
          kOtherLayer, restAllowed(typeError(m_type[side], m_exact.values[at(m_layers[i].own)], config().headDim)));
      for (int candidate = 0; rest > 0.3 && candidate < config().layers; ++candidate)
        if (const double now = restIn(candidate); now < 0.5 * rest && now < alike)
          rest = now, own[side].back() = candidate;
    }
    m_layers[i].own = own[kKeys].back();
  }
  m_valuesOwn = own[kValues];
  if (own[kKeys] == own[kValues] && own[kKeys] != layers)
    m_more.push_back({"layer_order", {{"layers", own[kKeys]}}, layerMapText(layers, own[kKeys]), 0});
  else
    for (const std::size_t side : {kKeys, kValues})
      if (own[side] != layers) {
        const std::string of = side == kKeys ? "keys" : "values";
        m_more.push_back({"layer_order",
                          {{"layers", own[side]}, {"side", of}},
                          of + " stand in other layers: " + layerMapText(layers, own[side]),
                          0});
      }
}

/// Types of rows that are narrower than the file says.
void Explainer::findTypes() {
  const int own = m_layers.front().own;
  for (const std::size_t side : {kKeys, kValues}) {
    const std::string of = side == kKeys ? "keys" : "values";
    const StoredType* named = m_type[side];
    if (named && named->block != -1) continue;
    const StoredType* holds = nullptr;
    for (const std::string_view narrow : {"fp8_e5m2", "fp8_e4m3", "bf16", "f16"})
      if (!holds && holdsAll(*storedType(narrow), rowsOf(0, side))) holds = storedType(narrow);
    const bool brain = holds == storedType("bf16") && named == storedType("f16");  // as wide, and another grid
    if (holds && (!named || holds->bits < named->bits || brain)) {
      const std::string says = named ? std::string(named->name) : "another type";
      if (holds->bits < 16 || named == storedType("f16"))
        m_more.push_back({"row_type",
                          {{"side", of}, {"type", holds->name}, {"named", says}},
                          of + " were rounded to " + std::string(holds->name) + " and then stored as " + says,
                          0});
      else m_notes.push_back(of + " hold no more than " + std::string(holds->name) + " does");
      m_type[side] = holds;
      continue;
    }
    // Rows with scales: ours in the type must be nearer to theirs than ours are.
    const auto length = static_cast<std::int64_t>(m_ids.size());
    SideReading within = m_reading[side];
    std::erase_if(within.layout, [](const LayoutStep& step) { return step.ofTable(); });
    const std::vector<float> theirs = m_reading[side].undone(shapeOf(0), rowsOf(0, side));
    const std::vector<float> ours = expectedRows(m_reading[side], config(), m_exact, own, m_places.front(), length);
    const auto mean = [&](const std::vector<float>& rows) {
      std::vector<float> errors = relativeErrors(theirs, rows, config().headDim);
      std::erase_if(errors, [](float x) { return !std::isfinite(x); });
      if (errors.empty()) return 1.0;
      std::ranges::sort(errors);
      return double{errors[errors.size() / 2]};
    };
    const double plain = mean(ours);
    if (plain < (named ? 4 * typeError(named, ours, config().headDim) : 0) + 1e-3 || plain > 0.3) continue;
    const bool codes = (!named || named->bits > 8) && holdsCodes(theirs, config().headDim);  // with whatever scales
    const StoredType* best = codes ? storedType("int8") : nullptr;
    double least = codes ? 0 : 0.35 * plain;
    for (const StoredType& type : storedTypes()) {
      if (type.bits >= (named ? named->bits : 33)) continue;
      std::vector<float> rounded = within.applied(shapeOf(0), ours);
      roundRows(type, rounded, config().headDim);
      if (const double now = mean(within.undone(shapeOf(0), std::move(rounded))); now < least)
        least = now, best = &type;
    }
    if (!best) continue;
    const std::string says = named ? std::string(named->name) : "another type";
    m_more.push_back({"row_type",
                      {{"side", of}, {"type", best->name}, {"named", says}},
                      of + " were rounded to " + std::string(best->name) + " and then stored as " + says,
                      0});
    m_type[side] = best;
  }
  const auto last = m_more.rbegin();
  if (m_more.size() >= 2 && last[0].kind == "row_type" && last[1].kind == "row_type" &&
      last[0].parameters["type"] == last[1].parameters["type"]) {
    m_more.pop_back();
    m_more.back().parameters.erase("side");
    m_more.back().text = "keys and values" + m_more.back().text.substr(4);
  }
}

/// Rows whose keys are right but for the position that they are turned to.
void Explainer::correctPhases() {
  ExplainedLayer& lowest = m_layers.front();
  const std::size_t heads = at(config().kvHeads);
  const std::vector<float>& exact = m_exact.keys[at(lowest.own)];
  if (m_reading[kKeys].source != Side::Keys) return;
  const KeyTurning turning =
      turningLike(m_reading[kKeys].turning, config(), Layer(lowest.own), static_cast<std::int64_t>(m_ids.size()));
  if (turning.times == 0) return;
  std::map<double, std::vector<std::int32_t>> byOffset;
  std::map<std::int32_t, double> phaseOfToken;
  std::size_t others = 0;
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(lowest.tokens.size()); ++row) {
    bool keys = false, values = false;
    double bound = 0;
    for (std::size_t i = at(row) * heads; i < (at(row) + 1) * heads; ++i) {
      keys = keys || lowest.keys[i] > lowest.keyBounds[i], values = values || lowest.values[i] > lowest.valueBounds[i];
      bound = std::max(bound, double{lowest.keyBounds[i]});
    }
    const std::int32_t token = lowest.tokens[at(row)];
    others += token >= 0 && values ? 1 : 0;  // rows of other tokens, whose position follows from that
    if (token < 0 || !keys || values) continue;
    std::vector<float> unturned(width());
    for (std::size_t i = 0; i < width(); ++i) {
      const std::size_t head = i / at(config().headDim), in = i % at(config().headDim);
      const std::size_t from = m_reading[kKeys].headMap.empty() ? head : at(m_reading[kKeys].headMap[head]);
      unturned[i] = exact[at(token) * width() + from * at(config().headDim) + in];
    }
    const std::span<const float> theirs(lowest.theirKeys.data() + at(row) * width(), width());
    const double own = m_places.front().phases[at(row)], enough = std::max(bound, 0.02);
    const auto reach = static_cast<std::int32_t>(std::min<std::size_t>(2 * m_ids.size() + 256, 8192));
    PhaseAsk ask{turning, config().headDim, {own}, enough, reach};
    for (const auto& [offset, rows] : byOffset) ask.likely.push_back(own + offset);
    const NearPhase near = nearestPhase(ask, theirs, unturned);
    if (near.error > enough || near.phase == own) continue;
    byOffset[near.phase - own].push_back(row);
    phaseOfToken[token] = near.phase;
  }
  if (phaseOfToken.empty() || phaseOfToken.size() < others) return;
  for (RowPlaces& places : m_places)
    for (std::size_t row = 0; row < places.tokens.size(); ++row)
      if (const auto found = phaseOfToken.find(places.tokens[row]); found != phaseOfToken.end())
        places.phases[row] = found->second;
  if (byOffset.size() > 4) {
    std::vector<std::int32_t> rows;
    for (const auto& [offset, some] : byOffset) rows.insert(rows.end(), some.begin(), some.end());
    std::ranges::sort(rows);
    m_more.push_back({"other_positions",
                      {{"rows", rows}},
                      "keys of rows " + rangeWords(rows) + " are turned to other positions than their own",
                      0});
  } else {
    for (const auto& [offset, rows] : byOffset)
      m_more.push_back({"position_shift",
                        {{"offset", offset}, {"rows", rows}},
                        "keys of " + std::string(rows.size() == 1 ? "row " : "rows ") + rangeWords(rows) +
                            " are turned " + numberWords(std::abs(offset), 6) +
                            (std::abs(offset) == 1 ? " position " : " positions ") +
                            (offset > 0 ? "behind" : "before") + " their own: a shift is missing or was made twice",
                        0});
  }
  compare(m_exact);
}

}  // namespace kvlab
