// SPDX-License-Identifier: Apache-2.0
// Positions and rotation at fault inside a pass: positions that begin anew, positions that count kept rows, other bases
// and scalings of rotation. Where keys are turned wrongly in the file itself, the reading has found that before; rows
// of later layers still follow from it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/explain/fault_trials.h"
#include "core/model/decoder/frequencies.h"

namespace kvlab {
namespace {

/// Values are right in layer 0, which positions do not touch.
bool mayTurn(const HypothesisRoom& room) { return room.left.firstLayerRight || room.left.keysOnly; }

std::vector<EngineTrial> chunkPositionsTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const std::int64_t first = room.left.firstToken, n = tokensOf(room);
  if (!mayTurn(room) || first == 0) return out;
  std::vector<std::int64_t> chunks = chunksAt(first, n);
  chunks.insert(chunks.begin(), n - first);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::int64_t chunk = chunks[i];
    if (i > 0 && chunk >= n - first) continue;
    const std::string text = i == 0
        ? "positions begin at 0 again at token " + std::to_string(first)
        : "positions begin at 0 again in each chunk of " + std::to_string(chunk) + " tokens" + fromText(first, chunk);
    const nlohmann::json parameters = {{"chunk", chunk}, {"from", first}};
    FaultPass queries = rightPass(room);
    queries.calls = joined(promptCalls(0, first, 0), promptCalls(first, n, chunk));
    queries.pass = [first](Layer, const EngineCall& call, PassBend& bent) {
      if (call.begin < first) return;
      const std::int32_t begin = bent.phase.front();
      for (std::int32_t& phase : bent.phase) phase -= begin;
    };
    out.push_back(trialOf(std::move(queries), text + ", for queries", parameters, i == 0 ? 1 : 1.5));
    FaultPass both = rightPass(room);
    for (std::int64_t token = 0; token < n; ++token)
      both.phases.push_back(static_cast<std::int32_t>(token < first ? token : (token - first) % chunk));
    out.push_back(trialOf(std::move(both), text + ", for queries and keys", parameters, i == 0 ? 1 : 1.5));
  }
  return out;
}

/// Tokens that a layer of the file lacks although it has later ones, [layers of the model].
std::vector<std::vector<std::int32_t>> goneTokens(const HypothesisRoom& room) {
  std::vector<std::vector<std::int32_t>> out(at(configOf(room).layers));
  const std::vector<int> windows = windowsOf(room);
  for (const ExplainedLayer& layer : room.theirs) {
    std::vector<bool> has(room.ids.size());
    std::int64_t last = -1, first = tokensOf(room);
    for (const std::int32_t token : layer.tokens)
      if (token >= 0 && token < tokensOf(room)) {
        has[at(token)] = true, last = std::max<std::int64_t>(last, token);
        first = std::min<std::int64_t>(first, token);
      }
    if (windows[at(layer.own)] == 0) first = 0;  // rows that a window has left behind are no hole
    for (std::int64_t token = first; token < last; ++token)
      if (!has[at(token)]) out[at(layer.own)].push_back(static_cast<std::int32_t>(token));
  }
  return out;
}

FaultPass withoutGone(const HypothesisRoom& room, const std::vector<std::vector<std::int32_t>>& gone, bool counted) {
  FaultPass pass = rightPass(room);
  const std::int64_t from = room.left.firstToken;
  pass.calls = promptThenDrawn(from, tokensOf(room));
  pass.pass = [gone, from, counted](Layer l, const EngineCall& call, PassBend& bent) {
    if (call.begin < from || gone[at(l)].empty()) return;
    const auto lacks = [&](std::int32_t row) { return std::ranges::binary_search(gone[at(l)], row); };
    std::vector<std::int32_t> slots, phases;
    for (std::int32_t row = bent.begin[0]; row < bent.end[0]; ++row)
      if (row == call.begin || !lacks(row)) slots.push_back(row), phases.push_back(bent.phases[at(row)]);
    bent.slots = std::move(slots);
    bent.phases = std::move(phases);
    bent.begin[0] = 0;
    bent.end[0] = static_cast<std::int32_t>(bent.slots.size());
    if (counted) bent.phase[0] = bent.end[0] - 1;
  };
  return pass;
}

std::vector<EngineTrial> goneTrials(const HypothesisRoom& room, bool counted) {
  std::vector<EngineTrial> out;
  if (!room.left.firstLayerRight) return out;
  const std::vector<std::vector<std::int32_t>> gone = goneTokens(room);
  std::vector<int> layers;
  for (std::size_t l = 0; l < gone.size(); ++l)
    if (!gone[l].empty()) layers.push_back(static_cast<int>(l));
  if (layers.empty()) return out;
  const std::vector<std::int32_t>& first = gone[at(layers[0])];
  const std::string which =
      first.size() == 1 ? "row " + std::to_string(first[0]) : std::to_string(first.size()) + " rows";
  const std::string text = counted
      ? "a new row is turned by the number of rows that are left, not by its position: " + layersText(layers) +
          " lacked " + which
      : "rows were computed without the rows that the cache lacks: " + layersText(layers) + " lacked " + which;
  EngineTrial trial = trialOf(withoutGone(room, gone, counted), text + fromText(room.left.firstToken),
                              {{"layers", layers}, {"from", room.left.firstToken}});
  trial.run = [run = trial.run, gone](int count, const Progress& progress) -> Result<TokenRows> {
    TokenRows rows = KV_TRY(run(count, progress));
    for (std::size_t l = 0; l < rows.keys.size(); ++l)
      for (const std::int32_t token : gone[l]) eraseToken(rows, l, token);
    return rows;
  };
  out.push_back(std::move(trial));
  return out;
}
std::vector<EngineTrial> rowCountTrials(const HypothesisRoom& room) { return goneTrials(room, true); }
std::vector<EngineTrial> evictedTrials(const HypothesisRoom& room) { return goneTrials(room, false); }

/// Tokens from which on rotation has other factors; 0 = they do not follow the length.
std::int64_t changeOf(const HypothesisRoom& room) {
  std::int64_t out = 0;
  for (const Rope& rope : configOf(room).ropes)
    if (rope.followsLength()) out = lengthOfChange(rope);
  return out;
}

std::vector<EngineTrial> factorSwitchTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const std::int64_t change = changeOf(room);
  if (change == 0 || !mayTurn(room)) return out;
  const bool outgrown = tokensOf(room) > change;
  const std::string length = std::to_string(change);
  FaultPass pass = rightPass(room);
  pass.reach = outgrown ? change : change + 1;
  const nlohmann::json parameters = {{"reach", pass.reach}};
  out.push_back(trialOf(std::move(pass),
                        outgrown
                            ? "a context that has outgrown " + length + " tokens keeps the short factors of rotation"
                            : "a context of less than " + length + " tokens has the long factors of rotation",
                        parameters));
  return out;
}

/// A context that grew past the change: its first rows were computed while it was short, which is no mistake.
std::vector<EngineTrial> grownTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const std::int64_t change = changeOf(room), n = tokensOf(room);
  if (change == 0 || n <= change || !mayTurn(room)) return out;
  FaultPass pass = rightPass(room);
  pass.calls = promptThenDrawn(change, n);
  pass.reach = change;
  pass.later = change;
  pass.laterReach = n;
  out.push_back(trialOf(std::move(pass),
                        "rows of the first " + std::to_string(change) +
                            " tokens were computed by the short factors of rotation, before the context outgrew them",
                        {{"reach", change}}, 1.2));
  return out;
}

std::string shortNumber(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", value);
  return out;
}

std::vector<EngineTrial> rotaryTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const ModelConfig& own = configOf(room);
  if (!mayTurn(room) || room.left.firstToken > 8 || room.left.dense < 0.5) return out;  // token 0 is not turned
  const auto add = [&](const ModelConfig& config, std::string text, nlohmann::json parameters, double cost) {
    FaultPass pass = rightPass(room);
    pass.weights = readAs(room, config);
    out.push_back(trialOf(std::move(pass), std::move(text), std::move(parameters), cost));
  };
  for (std::size_t i = 0; i < own.ropes.size(); ++i) {
    const Rope& rope = own.ropes[i];
    if (rope.kind == Rope::Kind::Off) continue;
    const std::string which = own.ropes.size() > 1 ? ", rotation " + std::to_string(i) + " of the model" : "";
    ModelConfig config = own;
    if (rope.kind != Rope::Kind::Default) {
      config.ropes[i].kind = Rope::Kind::Default;
      config.ropes[i].attentionFactor = 1;
      add(config, "rotation is not scaled" + which, {{"scaled", false}, {"rope", i}}, 1);
      config = own;
    }
    if (rope.attentionFactor != 1) {
      config.ropes[i].attentionFactor = 1;
      add(config, "the attention factor of rotation is missing" + which, {{"factor", 1}, {"rope", i}}, 1);
      config = own;
    }
    for (std::size_t j = 0; j < own.ropes.size(); ++j) {
      if (j == i || own.ropes[j] == rope) continue;
      config.ropes[i] = own.ropes[j];
      add(config, "layers of rotation " + std::to_string(i) + " turn as those of rotation " + std::to_string(j),
          {{"rope", i}, {"as", j}}, 1);
      config = own;
    }
    std::vector<double> bases;
    for (const double base :
         {1e4, 5e5, 1e6, 1e5, rope.theta / 10, rope.theta * 10, rope.theta / 100, rope.theta * 100, 1e7, 5e6, 1.5e5})
      if (base != rope.theta && base >= 100 && std::ranges::find(bases, base) == bases.end()) bases.push_back(base);
    for (const double base : bases) {
      config.ropes[i].theta = base;
      add(config, "rotation has the base " + shortNumber(base) + " in place of " + shortNumber(rope.theta) + which,
          {{"base", base}, {"rope", i}}, 1.5);
    }
    config = own;
    for (const double factor : {2.0, 4.0, 8.0, 0.5})
      if (rope.kind == Rope::Kind::Default) {
        config.ropes[i].kind = Rope::Kind::Linear;
        config.ropes[i].factor = factor;
        add(config, "positions are divided by " + shortNumber(factor) + which, {{"factor", factor}, {"rope", i}}, 1.5);
      }
  }
  return out;
}

constexpr EngineHypothesis kTurns[] = {
    {"chunk_positions_restart", "positions begin at 0 again in a chunk of a prompt", chunkPositionsTrials},
    {"position_is_row_count", "a new row is turned by the number of rows that are left", rowCountTrials},
    {"evicted_rows", "rows were computed without rows that had left", evictedTrials},
    {"rope_factor_switch", "factors of rotation do not follow the length", factorSwitchTrials},
    {kGrownRotation, "rows are older than the change of the factors of rotation", grownTrials},
    {"rotary_setting", "rotation has another base or scaling inside attention", rotaryTrials},
};

}  // namespace

std::span<const EngineHypothesis> turnHypotheses() { return kTurns; }

}  // namespace kvlab
