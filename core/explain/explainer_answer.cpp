// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/api/json_values.h"
#include "core/api/read_json.h"
#include "core/explain/explainer.h"
#include "core/explain/row_counts.h"
#include "core/explain/row_places.h"

namespace kvlab {
namespace {

// Single heads of rows a little above their bounds are draws of the noise that the bounds model.
constexpr double kFewWrong = 0.002, kLittleAbove = 2;
constexpr double kOffBefore = 0.02;                      // share of the tokens before an edit that rounding may move
constexpr double kLooksStale = 0.05;                     // share of the tokens behind an edit whose rows it has moved
constexpr double kMostSeconds = 45, kTrialSeconds = 20;  // until no further trial begins; trials have at least

/// How a program lays out rows by itself, which its files do not say.
bool usualOf(const ForeignCache& cache, const Cause& cause) {
  const std::string side = memberOr(cause.parameters, "side", std::string());
  if (cause.kind == kGrownRotation) return true;
  if (cache.importer == "llama.cpp")
    return (cause.kind == "pairing" && side == "keys" && cause.parameters["pairs"] == "neighbours") ||
        (cause.kind == "hadamard" && storedType(cache.layers.front().keys.type) &&
         storedType(cache.layers.front().keys.type)->block > 0);
  if (cache.importer == "vllm")  // its CPU back end
    return cause.kind == "block_pairs" ||
        ((cause.kind == "head_transpose" || cause.kind == "block_transpose") && side == "keys");
  return false;
}

/// Figures of one side of a layer that count.
struct Counted {
  std::size_t wrong = 0, all = 0;
  double most = 0, ratio = 0;  // figure, figure / bound
  std::vector<float> figures;

  void add(float figure, float bound) {
    ++all;
    if (!(figure <= bound)) ++wrong;
    const float finite = std::isfinite(figure) ? figure : std::numeric_limits<float>::infinity();
    figures.push_back(finite);
    most = std::max(most, double{finite});
    ratio = std::max(ratio, std::isfinite(figure) ? double{figure} / bound : 1e9);
  }
  double median() {
    if (figures.empty()) return 0;
    const auto mid = figures.begin() + std::ptrdiff_t(figures.size() / 2);
    std::nth_element(figures.begin(), mid, figures.end());
    return *mid;
  }
};

template <class Visit>
void eachHead(const ExplainedLayer& layer, std::size_t heads, const std::vector<bool>* skipped, const Visit& visit) {
  for (std::size_t row = 0; row < layer.tokens.size(); ++row) {
    if (layer.tokens[row] < 0 || (skipped && (*skipped)[row])) continue;
    for (std::size_t head = 0; head < heads; ++head) visit(row, head, row * heads + head);
  }
}

}  // namespace

/// Rows of another text are so in all layers: those that are near no token in the lowest one, and beside them those
/// that share a token with the text and agree with it in no deeper layer.
void Explainer::nameForeign(std::vector<RowFault>& faults) const {
  std::set<std::int32_t> foreign, shared;  // tokens of rows
  const auto tokenOf = [&](const RowFault& fault) {
    const auto layer = std::ranges::find(m_layers, fault.layer, &ExplainedLayer::layer);
    return layer->tokens[at(fault.row)];
  };
  for (const RowFault& fault : faults) {
    if (fault.kind == RowFault::Kind::Foreign) foreign.insert(tokenOf(fault));
    if (fault.layer == m_layers.front().layer && fault.kind == RowFault::Kind::OtherToken)
      shared.insert(tokenOf(fault));
  }
  if (foreign.empty()) return;
  for (const RowFault& fault : faults)
    if (fault.layer != m_layers.front().layer && fault.kind == RowFault::Kind::None && shared.contains(tokenOf(fault)))
      foreign.insert(tokenOf(fault));
  for (const RowFault& fault : faults)  // the same token at the same position shows in deeper layers alone
    if (const std::int32_t token = tokenOf(fault);
        fault.kind == RowFault::Kind::None && foreign.contains(token - 1) && foreign.contains(token + 1))
      foreign.insert(token);
  for (RowFault& fault : faults)
    if ((fault.kind == RowFault::Kind::None || fault.kind == RowFault::Kind::OtherToken) &&
        foreign.contains(tokenOf(fault)))
      fault.kind = RowFault::Kind::Foreign;
}

Status Explainer::findFaults(const TokenRows& ours) {
  const FaultGround ground{
      config(),     ours, m_ids, m_reading[kKeys], m_reading[kValues], static_cast<std::int64_t>(m_ids.size()),
      m_cache.block};
  std::vector<RowFault> all;
  std::vector<int> layers;
  for (std::size_t i = 0; i < m_layers.size(); ++i) {
    if (!told("finding rows that are wrong", static_cast<std::int64_t>(i), static_cast<std::int64_t>(m_layers.size())))
      return Error("cancelled", "the cache was not explained", "somebody stopped it", "start again");
    const ExplainedLayer& one = m_layers[i];
    layers.push_back(one.layer);
    const LayerRowsRead rows{one.layer, one.own,    one.theirKeys, one.theirValues, one.exactKeys, one.exactValues,
                             one.keys,  one.values, one.keyBounds, one.valueBounds, m_places[i]};
    for (RowFault& fault : rowFaults(rows, ground, one.own == 0)) all.push_back(std::move(fault));
  }
  nameForeign(all);
  m_faulty.clear();
  for (const ExplainedLayer& one : m_layers) m_faulty.emplace_back(one.tokens.size());
  for (const RowFault& fault : all)
    if (fault.kind != RowFault::Kind::None)
      m_faulty[at(std::ranges::find(layers, fault.layer) - layers.begin())][at(fault.row)] = true;
  m_faults = faultCauses(all, m_places, layers, ground);
  return ok();
}

LeftSignature Explainer::signature(bool withFaults) const {
  LeftSignature out;
  const std::size_t heads = at(config().kvHeads), tokens = m_ids.size();
  for (std::vector<std::vector<float>>* list : {&out.keys, &out.values, &out.figures})
    list->assign(at(config().layers), std::vector<float>(tokens));
  bool keys = false, values = false, found = false;
  for (std::size_t i = 0; i < m_layers.size(); ++i) {
    const ExplainedLayer& one = m_layers[i];
    std::int32_t first = static_cast<std::int32_t>(tokens);
    eachHead(one, heads, withFaults ? nullptr : &m_faulty[i], [&](std::size_t row, std::size_t, std::size_t place) {
      const std::size_t token = at(one.tokens[row]);
      const float k = one.keys[place] / one.keyBounds[place], v = one.values[place] / one.valueBounds[place];
      float &most = out.keys[at(one.own)][token], &mostValues = out.values[at(one.own)][token];
      most = std::max(most, k), mostValues = std::max(mostValues, v);
      float& figure = out.figures[at(one.own)][token];
      figure = std::max({figure, one.keys[place], one.values[place]});
      keys = keys || k > 1, values = values || v > 1;
      if (k > 1 || v > 1) first = std::min(first, one.tokens[row]);
    });
    if (!found && first < static_cast<std::int32_t>(tokens)) {
      found = true;
      out.firstLayer = one.own, out.firstToken = first;
    }
  }
  out.keysOnly = keys && !values, out.valuesOnly = values && !keys;
  out.firstLayerRight = out.firstLayer > 0;
  std::size_t wrong = 0, all = 0;
  for (int layer = out.firstLayer; layer < config().layers; ++layer)
    for (std::size_t token = at(out.firstToken); token < tokens; ++token, ++all)
      wrong += out.keys[at(layer)][token] > 1 || out.values[at(layer)][token] > 1;
  out.dense = all > 0 ? static_cast<double>(wrong) / static_cast<double>(all) : 0;
  return out;
}

TrialFit Explainer::fitOf(const TokenRows& rows, int layers, bool withFaults) const {
  Counted all;
  const std::size_t heads = at(config().kvHeads);
  const auto length = static_cast<std::int64_t>(m_ids.size());
  for (std::size_t i = 0; i < m_layers.size(); ++i) {
    const ExplainedLayer& one = m_layers[i];
    if (one.own >= layers || at(one.own) >= rows.keys.size()) continue;
    RowPlaces places = m_places[i];
    for (std::size_t row = 0; row < places.tokens.size(); ++row)
      if (const std::int32_t token = places.tokens[row];
          token >= 0 && rows.phases[at(token)] != m_exact.phases[at(token)])
        places.phases[row] = rows.phases[at(token)];
    const std::vector<float> keys = relativeErrors(
        one.theirKeys, expectedRows(m_reading[kKeys], config(), rows, one.own, places, length), config().headDim);
    const std::vector<float> values = relativeErrors(
        one.theirValues, expectedRows(m_reading[kValues], config(), rows, ownOf(i, kValues), places, length),
        config().headDim);
    eachHead(one, heads, withFaults ? nullptr : &m_faulty[i], [&](std::size_t, std::size_t, std::size_t place) {
      all.add(keys[place], one.keyBounds[place]), all.add(values[place], one.valueBounds[place]);
    });
  }
  return {all.all > 0 ? static_cast<double>(all.wrong) / static_cast<double>(all.all) : 0, all.median()};
}

/// True where a trial explains most of what is left over; it then stands for the exact rows.
Result<bool> Explainer::runTrials(const LeftSignature& over, bool ofRows, bool withFaults) {
  HypothesisRoom room{m_ask, *m_session, m_ids, m_before, m_exact, over, m_layers, m_cache.block, {}};
  if (const RowRounding rounds = rounding(); rounds.rounds()) room.stored = rounds;
  const EngineSearch search{room,
                            ofRows,
                            fitOf(m_exact, static_cast<int>(m_exact.keys.size()), withFaults),
                            [&](const TokenRows& rows, int layers) { return fitOf(rows, layers, withFaults); },
                            [this, end = std::max(kMostSeconds, seconds() + kTrialSeconds)] { return seconds() > end; },
                            m_ask.progress};
  std::vector<FoundTrial> found = KV_TRY(searchEngine(search));
  const bool explains = !found.empty() && found.front().fit.wrong < (withFaults ? 0.2 : 0.5) * search.plain.wrong;
  for (std::size_t i = explains ? 1 : 0; i < found.size(); ++i) {
    Rival rival{{{found[i].kind, found[i].trial.parameters, found[i].trial.text, 0}}, {}};
    rival.left.wrong = found[i].fit.wrong, rival.left.keys = rival.left.values = found[i].fit.median;
    m_rivals.insert(m_rivals.begin(), std::move(rival));
  }
  if (!explains) return false;
  const double before = figures(false).wrong, beforeAll = figures(true).wrong;
  const WrongHeads wrong = wrongHeads(m_layers);
  const std::vector<RowPlaces> places = m_places;
  const RowBounds bounds = m_bounds;
  if (!found.front().kept.empty()) KV_TRY(boundKept(keptPass(room, found.front().kept)));
  const TokenRows rows = found.front().rows;
  m_trial = std::move(found.front());
  for (RowPlaces& some : m_places)
    for (std::size_t row = 0; row < some.tokens.size(); ++row)
      if (const std::int32_t token = some.tokens[row];
          token >= 0 && rows.phases[at(token)] != m_exact.phases[at(token)])
        some.phases[row] = rows.phases[at(token)];
  compare(rows);
  KV_TRY(findFaults(rows));
  if (figures(false).wrong < 0.5 * before || figures(true).wrong < 0.5 * beforeAll) {
    m_reach = reachOf(wrong, wrongHeads(m_layers), m_layers, config().kvHeads);
    return true;
  }
  // It only moved what is wrong to rows that count by themselves.
  m_trial.reset();
  m_places = places;
  m_bounds = bounds;
  compare(m_exact);
  KV_TRY(findFaults(m_exact));
  return false;
}

/// A setting that changes all rows may look like a factor of them, which leaves most of them wrong.
Result<bool> Explainer::runUnscaled() {
  const auto scaled = [](const SideReading& one) { return one.scale != 1; };
  if (std::ranges::none_of(m_reading, scaled)) return false;
  const std::array<SideReading, 2> kept = m_reading;
  for (SideReading& one : m_reading) one.scale = 1;
  compare(m_exact);
  KV_TRY(findFaults(m_exact));
  if (KV_TRY(runTrials(signature(true), false, true))) return true;
  m_reading = kept;
  compare(m_exact);
  KV_TRY(findFaults(m_exact));
  return false;
}

Status Explainer::runEngine() {
  if (figures(true).wrong == 0) return ok();
  // Rows that are all of another text may as well be those of a model that is set otherwise.
  if (const LeftSignature all = signature(true); !all.firstLayerRight && all.firstToken <= 8 && all.dense > 0.9)
    if (KV_TRY(runTrials(all, false, true)) || KV_TRY(runUnscaled())) return ok();
  if (KV_TRY(runTrials(signature(true), true, true))) return ok();
  if (figures(false).wrong == 0) return ok();
  const LeftSignature over = signature(false);
  if (KV_TRY(runTrials(over, false, false))) return ok();
  guessStale();
  return ok();
}

/// Rows of the right tokens that were computed from others, where nobody says from which.
void Explainer::guessStale() {
  const LeftSignature over = signature(true);
  if (!lowestRight(over) || over.dense <= kLooksStale) return;
  const int lowest = std::max(1, over.firstLayer);
  const auto layers = static_cast<std::size_t>(config().layers - lowest);
  std::size_t first = 0, wrong = 0;
  for (; first < m_ids.size(); ++first, wrong = 0) {
    for (int layer = lowest; layer < config().layers; ++layer)
      wrong += over.keys[at(layer)][first] > 1 || over.values[at(layer)][first] > 1;
    if (wrong * 4 >= layers) break;
  }
  if (first == 0 || first == m_ids.size()) return;
  const auto off = [&](std::size_t token) {
    for (int layer = lowest; layer < config().layers; ++layer)
      if (over.keys[at(layer)][token] > 1 || over.values[at(layer)][token] > 1) return true;
    return false;
  };
  std::size_t before = 0;
  for (std::size_t token = 0; token < first; ++token) before += off(token);
  if (static_cast<double>(before) > kOffBefore * static_cast<double>(first)) return;
  // Where a text repeats itself, stale rows are near those of the other time.
  std::erase_if(m_faults, [&](const Cause& one) {
    return one.kind == "rows_of_other_tokens" && one.parameters.contains("layers") &&
        one.parameters["layers"].front() != m_layers.front().layer;
  });
  m_guess = Cause{
      "stale_rows",
      {{"position", first}, {"verified", false}},
      "rows from position " + std::to_string(first) +
          " on look stale, as since an edit there: their tokens are right, and they were computed from others. The "
          "text before the edit would show it",
      0};
}

LeftFigures Explainer::figures(bool withFaults) const {
  Counted keys, values;
  const std::size_t heads = at(config().kvHeads);
  for (std::size_t i = 0; i < m_layers.size(); ++i) {
    const ExplainedLayer& one = m_layers[i];
    eachHead(one, heads, withFaults || m_faulty.empty() ? nullptr : &m_faulty[i],
             [&](std::size_t, std::size_t, std::size_t place) {
               keys.add(one.keys[place], one.keyBounds[place]);
               values.add(one.values[place], one.valueBounds[place]);
             });
  }
  LeftFigures out;
  const auto all = static_cast<double>(std::max<std::size_t>(1, keys.all + values.all));
  out.wrong = static_cast<double>(keys.wrong + values.wrong) / all;
  if (out.wrong < kFewWrong && std::max(keys.ratio, values.ratio) < kLittleAbove) out.wrong = 0;
  out.worstKeys = keys.most, out.worstValues = values.most;
  out.keys = keys.median(), out.values = values.median();
  return out;
}

LeftFigures Explainer::plainFigures() const {
  Counted keys, values;
  const std::size_t heads = at(config().kvHeads);
  const auto length = static_cast<std::int64_t>(m_ids.size());
  SideReading plain[2];
  plain[kValues].side = plain[kValues].source = Side::Values;
  for (std::size_t i = 0; i < m_layers.size(); ++i) {
    const RowPlaces places = likelyPlaces(m_cache.layers[i], length).front();
    const int own = m_layers[i].layer;
    const std::vector<float> k = relativeErrors(
        m_raw[i][kKeys], expectedRows(plain[kKeys], config(), m_exact, own, places, length), config().headDim);
    const std::vector<float> v = relativeErrors(
        m_raw[i][kValues], expectedRows(plain[kValues], config(), m_exact, own, places, length), config().headDim);
    ExplainedLayer some;
    some.tokens = places.tokens;
    eachHead(some, heads, nullptr, [&](std::size_t, std::size_t, std::size_t place) {
      keys.add(k[place], m_layers[i].keyBounds[place]), values.add(v[place], m_layers[i].valueBounds[place]);
    });
  }
  LeftFigures out;
  out.wrong =
      static_cast<double>(keys.wrong + values.wrong) / static_cast<double>(std::max<std::size_t>(1, keys.all * 2));
  out.worstKeys = keys.most, out.worstValues = values.most;
  out.keys = keys.median(), out.values = values.median();
  return out;
}

/// Middle error of the lowest layer without a part of the reading.
double Explainer::errorWithout(const std::string& kind) const {
  double most = 0;
  for (const std::size_t side : {kKeys, kValues}) {
    SideReading reading = m_reading[side];
    bool part = std::erase_if(reading.layout, [&](const LayoutStep& step) { return step.kind == kind; }) > 0;
    if (reading.turning.kind == kind) part = true, reading.turning.kind.clear();
    if (kind == "head_order" || kind == "head_map") part = part || !reading.headMap.empty(), reading.headMap.clear();
    if (kind == "scale") part = part || reading.scale != 1, reading.scale = 1;
    if (kind == "scale_of_neighbour") part = part || reading.otherScales(), reading.scaleHeads = reading.scaleRows = 0;
    if (kind == "keys_and_values_swapped") part = part || reading.source != reading.side, reading.source = reading.side;
    if (!part) continue;
    Counted figures;
    for (const float figure : relativeErrors(reading.undone(shapeOf(0), rowsOf(0, side)),
                                             expectedRows(reading, config(), m_exact, m_layers.front().own,
                                                          m_places.front(), static_cast<std::int64_t>(m_ids.size())),
                                             config().headDim))
      if (!std::isnan(figure)) figures.add(figure, 1);
    most = std::max(most, figures.median());
  }
  return most;
}

LeftFigures Explainer::typeFigures() const {
  Counted keys, values;
  const std::size_t heads = at(config().kvHeads);
  for (const ExplainedLayer& one : m_layers) {
    const std::vector<float> k = relativeErrors(one.typedKeys, one.exactKeys, config().headDim);
    const std::vector<float> v = relativeErrors(one.typedValues, one.exactValues, config().headDim);
    eachHead(one, heads, nullptr, [&](std::size_t, std::size_t, std::size_t place) {
      keys.add(k[place], one.keyBounds[place]), values.add(v[place], one.valueBounds[place]);
    });
  }
  LeftFigures out;
  out.worstKeys = keys.most, out.worstValues = values.most;
  out.keys = keys.median(), out.values = values.median();
  return out;
}

std::optional<ExplainedPlace> Explainer::firstWrong() const {
  const std::size_t heads = at(config().kvHeads);
  for (const bool skip : {true, false})
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
      const ExplainedLayer& one = m_layers[i];
      std::optional<ExplainedPlace> out;
      eachHead(one, heads, skip ? &m_faulty[i] : nullptr, [&](std::size_t row, std::size_t head, std::size_t place) {
        const bool keys = !(one.keys[place] <= one.keyBounds[place]);
        if (out || (!keys && one.values[place] <= one.valueBounds[place])) return;
        out = ExplainedPlace{keys ? Side::Keys : Side::Values,
                             one.layer,
                             static_cast<std::int32_t>(head),
                             static_cast<std::int32_t>(row),
                             one.tokens[row],
                             keys ? one.keys[place] : one.values[place],
                             keys ? one.keyBounds[place] : one.valueBounds[place]};
      });
      if (out) return out;
    }
  return std::nullopt;
}

void Explainer::judge(Explanation& out) const {
  out.left = figures(false);
  const bool rest = out.left.wrong > 0;
  const bool named =
      std::ranges::any_of(out.causes, [](const Cause& one) { return !one.parameters.contains("usual"); });
  out.outcome = rest ? ExplainOutcome::Unexplained : named ? ExplainOutcome::Explained : ExplainOutcome::Equal;
  if (rest && m_guess) out.causes.push_back(*m_guess);
}

/// A trial tells by its figures which rows it accounts for; a guess is about some of the rows that are left over.
void Explainer::reach(Explanation& out) const {
  const std::int32_t heads = config().kvHeads;
  if (out.left.wrong > 0) {
    WrongHeads named;
    for (const std::vector<bool>& rows : m_faulty) {
      named.emplace_back();
      for (const bool row : rows) named.back().insert(named.back().end(), at(heads), row);
    }
    out.unexplained = reachOf(wrongHeads(m_layers), named, m_layers, heads);
  }
  for (Cause& cause : out.causes) {
    const bool guess = m_guess && cause.kind == m_guess->kind;
    if (m_trial && cause.kind == m_trial->kind) cause.reach = m_reach;
    else cause.reach = guess ? out.unexplained : reachOf(cause, m_layers, heads);
    if (guess)
      std::erase_if(cause.reach.tokens, [from = cause.parameters["position"].get<std::int32_t>()](std::int32_t token) {
        return token < from;
      });
  }
}

Explanation Explainer::answer() {
  Explanation out;
  out.plain = plainFigures();
  out.type = typeFigures();
  out.causes = causesOf(m_reading[kKeys], m_reading[kValues]);
  out.causes.insert(out.causes.end(), m_more.begin(), m_more.end());
  for (Cause& cause : rowCountCauses(m_layers, m_cache, static_cast<std::int64_t>(m_ids.size()), m_session->manifest()))
    out.causes.push_back(std::move(cause));
  if (m_trial) out.causes.push_back({m_trial->kind, m_trial->trial.parameters, m_trial->trial.text, 0});
  out.causes.insert(out.causes.end(), m_faults.begin(), m_faults.end());
  // What the program does by itself is no mistake, and an arithmetic is the least of several causes.
  for (Cause& cause : out.causes)
    if (usualOf(m_cache, cause)) cause.parameters["usual"] = true;
  const auto rank = [](const Cause& cause) {
    return cause.parameters.contains("usual") ? 2 : cause.kind == "arithmetic";
  };
  std::ranges::stable_sort(out.causes, {}, rank);
  for (Cause& cause : out.causes) cause.without = errorWithout(cause.kind);
  judge(out);
  reach(out);
  if (out.outcome != ExplainOutcome::Equal) out.begins = firstWrong();
  out.importer = m_cache.importer;
  out.keyType = m_cache.layers.front().keys.type, out.valueType = m_cache.layers.front().values.type;
  out.ids = m_ids;
  out.alignment = m_places.front().text;
  for (const RowPlaces& places : m_places) out.without += std::ranges::count(places.tokens, -1);
  out.rivals = std::move(m_rivals);
  out.heads = config().kvHeads, out.headDim = config().headDim;
  out.notes = m_cache.notes;
  out.notes.insert(out.notes.end(), m_notes.begin(), m_notes.end());
  out.verdict = verdict(out);
  out.layers = std::move(m_layers);
  out.seconds = seconds();
  return out;
}

std::string Explainer::verdict(const Explanation& out) const {
  const std::string worst = numberWords(std::max(out.left.worstKeys, out.left.worstValues), 2);
  std::string causes;
  for (const Cause& cause : out.causes) causes += (causes.empty() ? "" : "; ") + cause.text;
  if (out.outcome == ExplainOutcome::Equal)
    return "the cache is the model's" + (causes.empty() ? "" : ", read as its program writes it (" + causes + ")") +
        ": all rows are equal to " + worst + ", which rounding accounts for";
  if (out.outcome == ExplainOutcome::Explained) return "explained by: " + causes + "; then equal to " + worst;
  std::string from;
  if (const std::optional<ExplainedPlace> first = firstWrong())
    from = " from layer " + std::to_string(first->layer) + ", row " + std::to_string(first->row) + " on";
  return std::string(m_guess ? "explained in part: " : "not explained: ") + numberWords(100 * out.left.wrong, 2) +
      " % of the heads of rows differ" + from + (causes.empty() ? "" : "; this much is known: " + causes);
}

}  // namespace kvlab
