// SPDX-License-Identifier: Apache-2.0
#include "core/explain/engine_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/explain/fault_trials.h"
#include "core/explain/kept_tokens.h"
#include "core/explain/row_places.h"

namespace kvlab {
namespace {

// Shares of what exact rows leave over: a trial of few layers must get below the first; below the second no other trial
// is needed; each unit of cost counts as much as the third.
constexpr double kWorthAll = 0.6, kSettles = 0.01, kPerCost = 0.005;

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

struct Asked {
  std::string kind;
  EngineTrial trial;
  std::vector<std::int32_t> kept = {};  // FoundTrial
};

TokenPass passBefore(const HypothesisRoom& room) {
  TokenPass out;
  out.weights = room.session.parts().weights;
  out.backend = room.session.parts().backend.get();
  out.ids.assign(room.before.begin(), room.before.end());
  out.windows = windowsOf(room.session);
  out.stored = room.stored;
  return out;
}

/// A trial of rows that an edit kept; nothing where too few are.
std::optional<Asked> staleTrial(const HypothesisRoom& room, const std::vector<std::int32_t>& kept) {
  const EditBetween edit = editBetween(kept, room.ids, room.before);
  const auto common = static_cast<std::size_t>(std::ranges::count_if(kept, [](std::int32_t one) { return one >= 0; }));
  if (common * 2 < room.ids.size() || at(edit.first) >= room.ids.size()) return std::nullopt;
  EngineTrial out;
  out.parameters = {{"position", edit.first}, {"deleted", edit.gone}, {"computed", edit.fresh}};
  out.text = "rows from position " + std::to_string(edit.first) + " on are stale since an edit there";
  if (!edit.gone.empty())
    out.text += " that deleted " + std::string(edit.gone.size() == 1 ? "token " : "tokens ") + rangeWords(edit.gone);
  out.text += ": they were computed from the text before it";
  out.run = [&room, kept](int layers, const Progress& progress) { return keptRows(room, kept, layers, progress); };
  return Asked{"stale_rows", std::move(out), kept};
}

/// By the rows of the text before the edit, which tell the places of a text that repeats itself; then by its ids alone.
Result<std::vector<Asked>> staleTrials(const HypothesisRoom& room, const Progress& progress) {
  std::vector<Asked> out;
  if (room.before.empty() || !lowestRight(room.left)) return out;
  const std::vector<std::int32_t> byIds = commonTokens(room.ids, room.before);
  TokenPass pass = passBefore(room);
  pass.progress = progress;
  const std::vector<std::int32_t> byRows = keptTokens(room, KV_TRY(tokenRows(pass)));
  for (const std::vector<std::int32_t>* kept : {&byRows, &byIds}) {
    if (kept->empty() || (kept == &byIds && byIds == byRows)) continue;
    if (std::optional<Asked> one = staleTrial(room, *kept)) out.push_back(std::move(*one));
  }
  return out;
}

Result<std::vector<Asked>> trialsOf(const HypothesisRoom& room, bool ofRows, const Progress& progress) {
  std::vector<Asked> out = KV_TRY(staleTrials(room, progress));
  if (!room.ask.engine) return out;
  for (const EngineHypothesis& hypothesis : engineHypotheses())
    if (hypothesis.rows == ofRows)
      for (EngineTrial& trial : hypothesis.trials(room))
        out.push_back({std::string(hypothesis.name), std::move(trial), {}});
  return out;
}

/// What a fit leaves over, in one number.
double restOf(const TrialFit& fit) { return fit.wrong + std::min(1.0, fit.median) * 0.1; }

}  // namespace

bool lowestRight(const LeftSignature& left) {
  const auto most = [](const std::vector<float>& figures) { return std::ranges::max(figures); };
  return left.firstLayerRight || (most(left.values.front()) <= 1 && most(left.keys.front()) <= 2);
}

KeptPass keptPass(const HypothesisRoom& room, const std::vector<std::int32_t>& kept) {
  const EditBetween edit = editBetween(kept, room.ids, room.before);
  const auto old = static_cast<std::int32_t>(room.before.size());
  KeptPass out{passBefore(room), {}};
  TokenPass& pass = out.pass;
  RowStage first{0, old, std::vector<std::int32_t>(at(old)), {}};
  std::iota(first.rows.begin(), first.rows.end(), 0);
  first.phases = first.rows;
  RowStage second{old, old + static_cast<std::int64_t>(edit.fresh.size()), {}, {}};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    second.rows.push_back(kept[i] >= 0 ? kept[i] : static_cast<std::int32_t>(pass.ids.size()));
    second.phases.push_back(static_cast<std::int32_t>(room.exact.phases[i]));
    if (kept[i] < 0) pass.ids.push_back(room.ids[i]);
  }
  out.rows = second.rows;
  pass.stages.push_back(std::move(first));
  if (!edit.fresh.empty()) pass.stages.push_back(std::move(second));
  return out;
}

Result<TokenRows> keptRows(const HypothesisRoom& room, const std::vector<std::int32_t>& kept, int layers,
                           const Progress& progress) {
  const ModelConfig& config = room.session.model().config();
  KeptPass made = keptPass(room, kept);
  made.pass.layers = layers;
  made.pass.progress = progress;
  return rowsOf(KV_TRY(tokenRows(made.pass)), made.rows, room.exact.phases, at(config.kvHeads) * at(config.headDim));
}

Result<std::vector<FoundTrial>> searchEngine(const EngineSearch& search) {
  const int all = search.room.session.model().config().layers;
  const int few = std::min(all, search.room.left.firstLayer + 2);
  const TrialFit plainFew = search.fit(search.room.exact, few);
  std::vector<FoundTrial> out;
  const std::vector<Asked> asked = KV_TRY(trialsOf(search.room, search.ofRows, search.progress));
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
    const bool settles = fit.wrong <= kSettles * search.plain.wrong;
    out.push_back({one.kind, one.trial, rows.take(), fit, one.kept});
    std::ranges::stable_sort(out, {}, [per = kPerCost * restOf(search.plain)](const FoundTrial& found) {
      return restOf(found.fit) + per * found.trial.cost;
    });
    for (std::size_t j = 1; j < out.size(); ++j) out[j].rows = {};
    if (settles) break;
  }
  return out;
}

}  // namespace kvlab
