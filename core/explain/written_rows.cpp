// SPDX-License-Identifier: Apache-2.0
// Rows that are not what was computed: left zero, written to one slot, with the scales of others, overwritten in a
// ring, missing at the end. The engine goes on over such rows, so that later ones follow from them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/explain/engine_search.h"
#include "core/explain/fault_trials.h"
#include "core/explain/other_text.h"
#include "core/explain/row_places.h"
#include "core/files/key_rotation.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr double kOtherText = 0.1;  // of a row's length: how far values may be from those of a token

/// Rows of the file by token in a layer of the model.
class TheirRows {
 public:
  TheirRows(const HypothesisRoom& room, int layer) : m_rows(room.ids.size(), -1) {
    for (const ExplainedLayer& one : room.theirs)
      if (one.own == layer) m_layer = &one;
    for (std::int64_t row = 0; m_layer && row < m_layer->rows(); ++row) {
      const std::int32_t token = m_layer->tokens[at(row)];
      if (token >= 0 && at(token) < m_rows.size()) m_rows[at(token)] = row;
    }
  }
  explicit operator bool() const { return m_layer != nullptr; }
  bool has(std::int64_t token) const { return m_rows[at(token)] >= 0; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(m_rows.size()); }
  /// Empty where the layer has no row of the token.
  std::span<const float> keys(std::int64_t token) const { return part(m_layer->theirKeys, token); }
  std::span<const float> values(std::int64_t token) const { return part(m_layer->theirValues, token); }

 private:
  std::span<const float> part(const std::vector<float>& all, std::int64_t token) const {
    if (!has(token) || m_layer->rows() == 0) return {};
    const std::size_t width = all.size() / at(m_layer->rows());
    return std::span(all).subspan(at(m_rows[at(token)]) * width, width);
  }
  const ExplainedLayer* m_layer = nullptr;
  std::vector<std::int64_t> m_rows;  // [tokens] -1 = none
};

std::span<const float> exactValues(const HypothesisRoom& room, int layer, std::int64_t token) {
  const std::vector<float>& all = room.exact.values[at(layer)];
  const std::size_t width = all.size() / room.ids.size();
  return std::span(all).subspan(at(token) * width, width);
}

bool allZero(std::span<const float> row) {
  return !row.empty() && std::ranges::all_of(row, [](float value) { return value == 0; });
}

/// Tokens whose keys and values are zero in a layer.
std::vector<std::int64_t> zeroTokens(const HypothesisRoom& room, int layer) {
  std::vector<std::int64_t> out;
  const TheirRows theirs(room, layer);
  for (std::int64_t token = 0; theirs && token < theirs.tokens(); ++token)
    if (allZero(theirs.values(token)) && allZero(theirs.keys(token))) out.push_back(token);
  return out;
}

std::string listText(const std::vector<std::int64_t>& tokens) {
  std::string out;
  for (std::size_t i = 0; i < tokens.size() && i < 4; ++i) out += (i == 0 ? "" : ", ") + std::to_string(tokens[i]);
  return tokens.size() > 4 ? out + ", ..." : out;
}

// --- rows that stay zero ----------------------------------------------------------------------------

std::vector<EngineTrial> zeroedTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const std::vector<std::int64_t> zeros = zeroTokens(room, room.left.firstLayer);
  if (zeros.empty() || zeros.front() == 0) return out;
  if (zeros.size() > 1 && zeros[0] + 1 == zeros[1]) return out;  // a run of zeros has another cause
  std::int64_t every = 0;
  for (const std::int64_t token : zeros) every = std::gcd(every, token + 1);
  if (every < 8 || every % 8 != 0) return out;
  FaultPass pass = rightPass(room);
  std::int64_t begin = 0;
  for (const std::int64_t token : zeros) {
    pass.calls = joined(std::move(pass.calls), promptCalls(begin, token + 1, 0));
    begin = token + 1;
  }
  pass.calls = joined(std::move(pass.calls), promptCalls(begin, tokensOf(room), 0));
  pass.ordered = true;
  pass.written = [zeros](Layer, const EngineCall& call, const WrittenBend& bend) {
    if (!std::ranges::binary_search(zeros, call.end - 1)) return;
    bend.pool.zero(bend.slots.last(1));
  };
  out.push_back(trialOf(
      std::move(pass),
      "a row is left zero where the length is a multiple of " + std::to_string(every) + ": tokens " + listText(zeros),
      {{"every", every}, {"tokens", zeros}}));
  return out;
}

// --- all rows of a call in one slot -----------------------------------------------------------------

std::vector<EngineTrial> oneSlotTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const std::vector<std::int64_t> zeros = zeroTokens(room, room.left.firstLayer);
  for (std::size_t i = 0; i < zeros.size();) {
    std::size_t next = i + 1;
    while (next < zeros.size() && zeros[next] == zeros[next - 1] + 1) ++next;
    const std::int64_t begin = zeros[i] - 1, end = zeros[next - 1] + 1;
    i = next;
    if (begin < 0) continue;
    FaultPass pass = rightPass(room);
    pass.calls =
        joined(joined(promptCalls(0, begin, 0), promptCalls(begin, end, 0)), promptCalls(end, tokensOf(room), 0));
    pass.ordered = true;
    pass.pass = [begin, bug = bugNamed("one_slot")](Layer, const EngineCall& call, PassBend& bent) {
      if (call.begin == begin) bug->pass(bent);
    };
    out.push_back(trialOf(std::move(pass),
                          "all rows of tokens " + std::to_string(begin) + " to " + std::to_string(end - 1) +
                              " were written to the slot of the first",
                          {{"from", begin}, {"to", end - 1}}));
  }
  return out;
}

// --- scales of quantised rows -----------------------------------------------------------------------

/// Largest value of a row's values, and whether all are whole numbers.
struct WholeNumbers {
  bool whole = true;
  float most = 0;
};
WholeNumbers wholeNumbers(std::span<const float> row) {
  WholeNumbers out{!row.empty(), 0};
  for (const float value : row) {
    out.whole = out.whole && std::abs(value - std::round(value)) < 1e-4f;
    out.most = std::max(out.most, std::abs(value));
  }
  return out;
}

/// A pass in which rows are stored as int8 with a scale for each head, and a bug changes written rows from a token on.
FaultPass codedPass(const HypothesisRoom& room, std::vector<EngineCall> calls, std::int64_t from, const BugKind* bug) {
  FaultPass pass = rightPass(room);
  pass.calls = std::move(calls);
  pass.stored = {};
  pass.keys = pass.values = kernels::DType::i8;
  pass.ordered = true;
  pass.written = [from, bug](Layer, const EngineCall& call, const WrittenBend& bend) {
    if (call.begin >= from) bug->written(bend);
  };
  return pass;
}

std::vector<EngineTrial> wholeScaleTrials(const HypothesisRoom& room, const char* name, const char* text, float least,
                                          float most) {
  std::vector<EngineTrial> out;
  const TheirRows theirs(room, room.left.firstLayer);
  if (!theirs) return out;
  std::int64_t first = -1;
  for (std::int64_t token = 0; token < theirs.tokens(); ++token) {
    if (!theirs.has(token)) continue;
    const WholeNumbers found = wholeNumbers(theirs.values(token));
    if (!found.whole) {
      first = -1;
    } else if (first < 0 && found.most >= least && found.most <= most) {
      first = token;
    }
  }
  if (first < 0) return out;
  const std::int64_t n = tokensOf(room);
  std::vector<std::vector<EngineCall>> histories = {joined(promptCalls(0, first, 0), promptCalls(first, n, 0))};
  if (n - first > 1) histories.push_back(joined(promptCalls(0, first, 0), drawnCalls(first, n)));
  for (std::vector<EngineCall>& calls : histories)
    out.push_back(trialOf(codedPass(room, std::move(calls), first, bugNamed(name)),
                          std::string(text) + fromText(first, 0), {{"from", first}}));
  return out;
}
std::vector<EngineTrial> scaleIsOneTrials(const HypothesisRoom& room) {
  return wholeScaleTrials(room, "scale_is_one", "rows of int8 codes lost their scales, and 1 stands in their place",
                          100, 128);
}
std::vector<EngineTrial> scaleFloorTrials(const HypothesisRoom& room) {
  return wholeScaleTrials(room, "scale_floor", "scales of int8 rows are never below 1", 0, 99);
}

/// Factors of the heads of a row against exact values; empty where a head is no multiple.
std::vector<float> headFactors(const HypothesisRoom& room, std::span<const float> theirs,
                               std::span<const float> exact) {
  const std::size_t dim = at(configOf(room).headDim);
  std::vector<float> out;
  for (std::size_t head = 0; head * dim < theirs.size(); ++head) {
    const std::span<const float> a = theirs.subspan(head * dim, dim), b = exact.subspan(head * dim, dim);
    const float ab = std::inner_product(a.begin(), a.end(), b.begin(), 0.0f),
                bb = std::inner_product(b.begin(), b.end(), b.begin(), 0.0f),
                aa = std::inner_product(a.begin(), a.end(), a.begin(), 0.0f);
    if (bb <= 0 || aa <= 0 || aa - ab * ab / bb > 0.01f * aa) return {};
    out.push_back(ab / bb);
  }
  return out;
}

std::vector<EngineTrial> neighbourScaleTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const TheirRows theirs(room, room.left.firstLayer);
  if (!theirs) return out;
  std::vector<std::int64_t> scaled;
  for (const std::int64_t token : wrongTokens(room, room.left.firstLayer)) {
    const std::vector<float> factors =
        headFactors(room, theirs.values(token), exactValues(room, room.left.firstLayer, token));
    if (token > 0 && std::ranges::any_of(factors, [](float factor) { return std::abs(factor - 1) > 0.03f; }))
      scaled.push_back(token);
  }
  if (scaled.empty() || scaled.front() < 64) return out;
  std::vector<EngineCall> calls;
  std::int64_t begin = 0;
  for (const std::int64_t token : scaled) {
    calls = joined(std::move(calls), promptCalls(begin, token + 1, 0));
    begin = token + 1;
  }
  calls = joined(std::move(calls), promptCalls(begin, tokensOf(room), 0));
  out.push_back(trialOf(codedPass(room, std::move(calls), 0, bugNamed("scale_of_neighbour")),
                        "a quantised row has the scales of the row before it: tokens " + listText(scaled),
                        {{"tokens", scaled}}));
  return out;
}

// --- keys that were turned as codes -----------------------------------------------------------------

/// Largest value of each head of a key of TokenRows that is turned to a phase.
std::vector<double> turnedPeaks(const ModelConfig& config, const KeyRotation& rotation, std::span<const float> key,
                                double phase) {
  std::vector<double> turned(key.begin(), key.end());
  rotation.inside(config.kvHeads, turned.data());
  rotation.rotate(phase, config.kvHeads, turned.data());
  std::vector<double> out(at(config.kvHeads));
  for (std::size_t i = 0; i < turned.size(); ++i)
    out[i / at(config.headDim)] = std::max(out[i / at(config.headDim)], std::abs(turned[i]));
  return out;
}

/// Keys that were turned by so many places, [tokens], are codes of their new place with the scales of their old one.
void keepScales(const HypothesisRoom& room, const std::vector<std::int32_t>& shifts, TokenRows& rows) {
  const ModelConfig& config = configOf(room);
  const std::size_t dim = at(config.headDim), width = at(config.kvHeads) * dim;
  for (std::size_t layer = 0; layer < rows.keys.size(); ++layer) {
    const Layer own(static_cast<int>(layer));
    const KeyRotation rotation(config, own, tokensOf(room));
    for (std::size_t token = 0; token < shifts.size(); ++token) {
      if (shifts[token] == 0) continue;
      const std::span<float> key = std::span(rows.keys[layer]).subspan(token * width, width);
      const double phase = room.exact.phases[token];
      const std::vector<double> old = turnedPeaks(config, rotation, key, phase - shifts[token]),
                                now = turnedPeaks(config, rotation, key, phase);
      std::vector<float> values(width);
      room.stored(own, static_cast<std::int64_t>(token), key, values);
      for (std::size_t i = 0; i < width; ++i)
        if (now[i / dim] > 0) key[i] = static_cast<float>(key[i] * old[i / dim] / now[i / dim]);
    }
  }
}

/// Keys that were turned to new places as codes keep the scales that they had. Rows are those of the text before the
/// edit, as an edit that recomputes nothing leaves them; without that text nobody knows those of later layers.
std::vector<EngineTrial> shiftOfCodesTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (room.left.firstLayer != 0 || !room.stored || room.before.empty()) return out;
  if (std::ranges::any_of(room.left.values[0], [](float figure) { return figure > 1; })) return out;
  const std::vector<std::int32_t> kept = commonTokens(room.ids, room.before);
  std::vector<std::int32_t> shifts(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i] >= 0) shifts[i] = static_cast<std::int32_t>(i) - kept[i];
  const auto first = std::ranges::find_if(shifts, [](std::int32_t shift) { return shift != 0; });
  if (first == shifts.end()) return out;
  const std::int64_t from = first - shifts.begin(), places = std::abs(*first);
  EngineTrial trial;
  trial.parameters = {{"from", from}, {"shift", *first}};
  trial.text = "keys of int8 were turned by " + std::to_string(places) + (places == 1 ? " place" : " places") +
      " as codes, with the scales that they had: from token " + std::to_string(from) + " on";
  trial.run = [&room, kept, shifts](int layers, const Progress& progress) -> Result<TokenRows> {
    TokenRows rows = KV_TRY(keptRows(room, kept, layers, progress));
    keepScales(room, shifts, rows);
    return rows;
  };
  out.push_back(std::move(trial));
  return out;
}

// --- places of other rows ---------------------------------------------------------------------------

/// A prompt longer than a ring overwrites rows that its own queries read.
std::vector<EngineTrial> wrapTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!room.left.firstLayerRight || room.left.firstLayer == 0) return out;
  const int window = windowsOf(room)[at(room.left.firstLayer - 1)];
  const std::int64_t n = tokensOf(room);
  if (window <= 1 || n <= window) return out;
  for (const std::int64_t ring : {std::int64_t{window}, std::int64_t{2} * window})
    for (std::int64_t begin = 0; begin < std::min<std::int64_t>({ring, n - ring, 64}); ++begin) {
      FaultPass pass = rightPass(room);
      pass.calls = joined(promptCalls(0, begin, 0), promptCalls(begin, n, ring));
      pass.pass = [window, ring](Layer, const EngineCall& call, PassBend& bent) {
        if (bent.window != window || call.end - call.begin < 2) return;
        for (std::size_t row = 0; row < bent.slots.size() && row < at(call.end); ++row) {
          const std::int64_t laps = (call.end - 1 - static_cast<std::int64_t>(row)) / ring;
          bent.slots[row] += static_cast<std::int32_t>(laps * ring);
        }
      };
      out.push_back(trialOf(std::move(pass),
                            "a chunk of " + std::to_string(ring) +
                                " tokens of a prompt overwrites rows in the ring of " +
                                "as many that its own queries read" + fromText(begin),
                            {{"ring", ring}, {"from", begin}}, begin == 0 && ring == window ? 1 : 1.5));
    }
  return out;
}

/// Values of a token of the file are those that the model gives another one, in a layer.
bool holdsValues(const HypothesisRoom& room, const TheirRows& theirs, int layer, std::int64_t token,
                 std::int64_t other) {
  const std::span<const float> row = theirs.values(token), exact = exactValues(room, layer, other);
  double apart = 0, all = 0;
  for (std::size_t i = 0; i < row.size(); ++i) apart += std::pow(row[i] - exact[i], 2), all += std::pow(exact[i], 2);
  return !row.empty() && apart <= 1e-4 * all;
}

/// Tokens whose values are those of another token of the text, with that token; ascending. Layer 0 does not tell a
/// token from its like: the one that most layers tell, else the last.
std::vector<std::pair<std::int64_t, std::int64_t>> heldTokens(const HypothesisRoom& room, int layer) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  const TheirRows theirs(room, layer);
  if (!theirs) return out;
  std::vector<std::pair<int, TheirRows>> later;
  for (const ExplainedLayer& one : room.theirs)
    if (one.own > layer) later.emplace_back(one.own, TheirRows(room, one.own));
  for (const std::int64_t token : wrongTokens(room, layer)) {
    std::int64_t best = -1, most = -1;
    for (std::int64_t other = tokensOf(room) - 1; other >= 0 && theirs.has(token); --other) {
      if (room.ids[at(other)] == room.ids[at(token)] || !holdsValues(room, theirs, layer, token, other)) continue;
      const std::int64_t layers = std::ranges::count_if(later, [&](const auto& one) {
        return one.second.has(token) && holdsValues(room, one.second, one.first, token, other);
      });
      if (layers > most) best = other, most = layers;
    }
    if (best >= 0) out.emplace_back(token, best);
    if (out.size() > 64) return {};  // that many have another cause
  }
  return out;
}

/// The trial's rows of tokens become those of others in some layers.
EngineTrial withHeld(EngineTrial trial, std::vector<std::pair<std::int64_t, std::int64_t>> held,
                     std::function<bool(int)> inLayer) {
  trial.run = [run = trial.run, held = std::move(held), inLayer = std::move(inLayer)](
                  int layers, const Progress& progress) -> Result<TokenRows> {
    TokenRows rows = KV_TRY(run(layers, progress));
    for (std::size_t l = 0; l < rows.keys.size(); ++l) {
      if (!inLayer(static_cast<int>(l))) continue;
      for (std::vector<float>* all : {&rows.keys[l], &rows.values[l]}) {
        const std::vector<float> right = *all;
        const std::size_t width = all->size() / rows.phases.size();
        for (const auto& [token, other] : held)
          std::copy_n(right.begin() + static_cast<std::ptrdiff_t>(at(other) * width), width,
                      all->begin() + static_cast<std::ptrdiff_t>(at(token) * width));
      }
    }
    return rows;
  };
  return trial;
}

/// An old row and later ones have one slot in a layer: all of them are the newest of them.
std::vector<EngineTrial> freedTwiceTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const int layer = room.left.firstLayer;
  const auto held = heldTokens(room, layer);
  if (held.empty() || std::ranges::any_of(held, [&](const auto& one) {
        return one.second != held.front().second || one.second <= one.first;
      }))
    return out;
  std::vector<std::int32_t> shared;  // tokens in the slot
  for (const auto& [token, other] : held) shared.push_back(static_cast<std::int32_t>(token));
  shared.push_back(static_cast<std::int32_t>(held.front().second));
  const std::int64_t from = shared[1], old = shared[0];
  FaultPass pass = rightPass(room);
  pass.calls = promptThenDrawn(from, tokensOf(room));
  pass.pass = [shared, layer](Layer l, const EngineCall& call, PassBend& bent) {
    if (l.value() != layer) return;
    const auto behind = std::ranges::lower_bound(shared, static_cast<std::int32_t>(call.end));
    if (behind == shared.begin()) return;
    for (auto one = shared.begin(); one != behind; ++one) bent.slots[at(*one)] = *(behind - 1);
  };
  out.push_back(withHeld(trialOf(std::move(pass),
                                 "the slot of token " + std::to_string(old) + " was given back in layer " +
                                     std::to_string(layer) + " while the row stays: token " + std::to_string(from) +
                                     (shared.size() > 2 ? " and later ones were" : " was") + " written over it",
                                 {{"token", old}, {"from", from}, {"layer", layer}}),
                         held, [layer](int one) { return one == layer; }));
  return out;
}

/// Rows hold those of others in all layers, and came to do so behind the passes of most later rows.
std::vector<EngineTrial> outlivedTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const auto held = heldTokens(room, 0);
  if (held.size() != 1 || room.left.firstLayer != 0) return out;  // more are rows of other tokens
  std::int64_t seen = tokensOf(room);                             // first token that saw the wrong rows
  for (const std::int64_t token : wrongTokens(room, std::min(1, configOf(room).layers - 1)))
    if (std::ranges::none_of(held, [&](const auto& one) { return one.first == token; })) seen = std::min(seen, token);
  FaultPass pass = rightPass(room);
  pass.calls = joined(promptCalls(0, seen, 0), promptCalls(seen, tokensOf(room), 0));
  pass.pass = [held, seen](Layer, const EngineCall& call, PassBend& bent) {
    if (call.begin < seen) return;
    for (const auto& [token, other] : held)
      if (other < call.end && token < call.begin) bent.slots[at(token)] = static_cast<std::int32_t>(other);
  };
  const auto [token, other] = held.front();
  out.push_back(withHeld(trialOf(std::move(pass),
                                 "rows were copied after they had been overwritten: the row of token " +
                                     std::to_string(token) + " is that of token " + std::to_string(other),
                                 {{"token", token}, {"holds", other}}),
                         held, [](int) { return true; }));
  return out;
}

/// Rows that another text gives. The trial reads it off the values of layer 0.
std::vector<EngineTrial> foreignTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const TheirRows theirs(room, 0);
  if (room.left.firstLayer != 0 || room.left.keysOnly || !theirs) return out;
  std::vector<std::int64_t> wrong;
  std::vector<float> values;
  for (const std::int64_t token : wrongTokens(room, 0)) {
    const std::span<const float> row = theirs.values(token);
    if (row.empty() || allZero(row)) continue;
    wrong.push_back(token);
    values.insert(values.end(), row.begin(), row.end());
  }
  if (wrong.size() < 2) return out;
  EngineTrial trial;
  trial.parameters = {{"rows", wrong.size()}, {"from", wrong.front()}};
  trial.text = "rows are those of another text, from token " + std::to_string(wrong.front()) + " on";
  trial.run = [&room, wrong, values = std::move(values), found = std::make_shared<std::vector<TokenId>>()](
                  int layers, const Progress& progress) -> Result<TokenRows> {
    FaultPass pass = rightPass(room);
    if (found->empty()) *found = KV_TRY(tokensOfValues(pass.weights, *pass.backend, values, kOtherText, progress));
    for (std::size_t i = 0; i < wrong.size(); ++i)
      if ((*found)[i].value() >= 0) pass.ids[at(wrong[i])] = (*found)[i];
    return faultRows(pass, layers, progress);
  };
  out.push_back(std::move(trial));
  return out;
}

constexpr EngineHypothesis kRows[] = {
    {"zeroed_rows", "a row is left zero at some lengths", zeroedTrials, true},
    {"one_slot", "every row of a pass is written to the slot of the first", oneSlotTrials, true},
    {"scale_is_one", "quantised rows lose their scales", scaleIsOneTrials, true},
    {"scale_floor", "scales of quantised rows are never below 1", scaleFloorTrials, true},
    {"scale_of_neighbour", "quantised rows have the scales of other rows or heads", neighbourScaleTrials, true},
    {"shift_of_codes", "keys are turned to new positions as codes: their scales stay", shiftOfCodesTrials, true},
    {"slot_freed_twice", "the slot of a row that stays is given back", freedTwiceTrials, true},
    {"kept_state_outlived", "rows are copied after they were overwritten", outlivedTrials, true},
    {"foreign_rows", "rows are those of another text", foreignTrials, true},
    {"wrap_before_read", "a chunk of a prompt overwrites rows in the ring that its own queries read", wrapTrials},
};

}  // namespace

std::span<const EngineHypothesis> rowHypotheses() { return kRows; }

}  // namespace kvlab
