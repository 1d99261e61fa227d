// SPDX-License-Identifier: Apache-2.0
#include "core/explain/engine_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/explain/fault_trials.h"
#include "core/explain/row_places.h"

namespace kvlab {
namespace {

constexpr double kWorthAll = 0.6;  // of what is left over: a trial of few layers must get below it

TokenRows rowsOf(const TokenRows& all, const std::vector<std::int32_t>& which, std::vector<double> phases,
                 std::size_t width) {
  TokenRows out;
  out.phases = std::move(phases);
  for (const auto& [from, to] : {std::pair(&all.keys, &out.keys), std::pair(&all.values, &out.values)})
    for (const std::vector<float>& layer : *from) {
      std::vector<float> rows;
      for (const std::int32_t row : which)
        rows.insert(rows.end(), layer.begin() + std::ptrdiff_t(at(row) * width),
                    layer.begin() + std::ptrdiff_t((at(row) + 1) * width));
      to->push_back(std::move(rows));
    }
  return out;
}

/// What an edit did: the first token that is not as before, and the tokens that went and came.
struct EditBetween {
  std::int32_t first = 0;
  std::vector<std::int32_t> gone, fresh;  // indices in `before` and in the text
};

EditBetween editBetween(const std::vector<std::int32_t>& kept, std::size_t before) {
  EditBetween out;
  std::vector<bool> stays(before);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] < 0) out.fresh.push_back(static_cast<std::int32_t>(i));
    else stays[at(kept[i])] = true;
  }
  for (std::size_t i = 0; i < before; ++i)
    if (!stays[i]) out.gone.push_back(static_cast<std::int32_t>(i));
  while (at(out.first) < kept.size() && kept[at(out.first)] == out.first) ++out.first;
  return out;
}

std::vector<EngineTrial> staleTrials(const HypothesisRoom& room) {
  if (room.before.empty() || !room.left.firstLayerRight) return {};
  const std::vector<std::int32_t> kept = commonTokens(room.ids, room.before);
  const EditBetween edit = editBetween(kept, room.before.size());
  const auto common = static_cast<std::size_t>(std::ranges::count_if(kept, [](std::int32_t one) { return one >= 0; }));
  if (common * 2 < room.ids.size() || at(edit.first) >= room.ids.size()) return {};
  EngineTrial out;
  out.parameters = {{"position", edit.first}, {"deleted", edit.gone}, {"computed", edit.fresh}};
  out.text = "rows from position " + std::to_string(edit.first) + " on are stale since an edit there";
  if (!edit.gone.empty())
    out.text += " that deleted " + std::string(edit.gone.size() == 1 ? "token " : "tokens ") + rangeWords(edit.gone);
  out.text += ": they were computed from the text before it";
  out.run = [&room](int layers, const Progress& progress) { return keptRows(room, layers, progress); };
  return {out};
}

struct Asked {
  std::string kind;
  EngineTrial trial;
};

std::vector<Asked> trialsOf(const HypothesisRoom& room, bool ofRows) {
  std::vector<Asked> out;
  if (!ofRows)
    for (EngineTrial& trial : staleTrials(room)) out.push_back({"stale_rows", std::move(trial)});
  if (!room.ask.engine) return out;
  for (const EngineHypothesis& hypothesis : engineHypotheses())
    if (hypothesis.rows == ofRows)
      for (EngineTrial& trial : hypothesis.trials(room))
        out.push_back({std::string(hypothesis.name), std::move(trial)});
  return out;
}

/// What a fit leaves over, in one number.
double restOf(const TrialFit& fit) { return fit.wrong + std::min(1.0, fit.median) * 0.1; }

}  // namespace

Result<TokenRows> keptRows(const HypothesisRoom& room, int layers, const Progress& progress) {
  const std::vector<std::int32_t> kept = commonTokens(room.ids, room.before);
  const EditBetween edit = editBetween(kept, room.before.size());
  if (edit.fresh.size() == kept.size())
    return Error("bad_argument", "the edit was not repeated", "the text before it shares no token with the text",
                 "give both");
  const ModelConfig& config = room.session.model().config();
  const auto old = static_cast<std::int32_t>(room.before.size());
  TokenPass pass;
  pass.weights = room.session.parts().weights;
  pass.backend = room.session.parts().backend.get();
  pass.ids.assign(room.before.begin(), room.before.end());
  RowStage first{0, old, std::vector<std::int32_t>(at(old)), {}};
  std::iota(first.rows.begin(), first.rows.end(), 0);
  first.phases = first.rows;
  RowStage second{old, old + static_cast<std::int64_t>(edit.fresh.size()), {}, {}};
  std::vector<double> phases;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    second.rows.push_back(kept[i] >= 0 ? kept[i] : static_cast<std::int32_t>(pass.ids.size()));
    second.phases.push_back(static_cast<std::int32_t>(room.exact.phases[i]));
    phases.push_back(room.exact.phases[i]);
    if (kept[i] < 0) pass.ids.push_back(room.ids[i]);
  }
  const std::vector<std::int32_t> rows = second.rows;
  pass.stages.push_back(std::move(first));
  if (!edit.fresh.empty()) pass.stages.push_back(std::move(second));
  pass.layers = layers;
  pass.windows = windowsOf(room.session);
  pass.stored = room.stored;
  pass.progress = progress;
  return rowsOf(KV_TRY(tokenRows(pass)), rows, std::move(phases), at(config.kvHeads) * at(config.headDim));
}

Result<std::vector<FoundTrial>> searchEngine(const EngineSearch& search) {
  const int all = search.room.session.model().config().layers;
  const int few = std::min(all, search.room.left.firstLayer + 2);
  const TrialFit plainFew = search.fit(search.room.exact, few);
  std::vector<FoundTrial> out;
  const std::vector<Asked> asked = trialsOf(search.room, search.ofRows);
  for (std::size_t i = 0; i < asked.size() && !search.late(); ++i) {
    const Asked& one = asked[i];
    if (!report(search.progress, "trying: " + one.trial.text, static_cast<std::int64_t>(i),
                static_cast<std::int64_t>(asked.size())))
      return Error("cancelled", "the cache was not explained", "somebody stopped it", "start again");
    Result<TokenRows> rows = one.trial.run(few, {});
    if (!rows && rows.error().code == "cancelled") return rows.error();
    if (!rows) continue;  // a fault that this model or text cannot have explains nothing
    if (restOf(search.fit(*rows, few)) > kWorthAll * restOf(plainFew)) continue;
    if (few < all) rows = one.trial.run(all, {});
    if (!rows) continue;
    const TrialFit fit = search.fit(*rows, all);
    if (restOf(fit) > 0.8 * restOf(search.plain)) continue;
    const bool settles = fit.wrong < 0.002;
    out.push_back({one.kind, one.trial, rows.take(), fit});
    std::ranges::stable_sort(out, {},
                             [](const FoundTrial& found) { return restOf(found.fit) + 0.002 * found.trial.cost; });
    for (std::size_t j = 1; j < out.size(); ++j) out[j].rows = {};
    if (settles) break;
  }
  return out;
}

}  // namespace kvlab
