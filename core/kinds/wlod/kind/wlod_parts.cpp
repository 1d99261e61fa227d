// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/kind/wlod_parts.h"

#include <algorithm>
#include <limits>

#include "core/kinds/wlod/tree/gist_net.h"
#include "core/policy/outside.h"

namespace kvlab {

WlodRatios ratiosOf(const WlodState& state, int layers) {
  WlodRatios out;
  std::array<double, kTopLevel + 1> moments = {};
  for (const TreeNode entry : state.context.entries()) moments[at(entry.level)] += entry.span();
  const double length = std::max(1, state.tree.length());
  for (std::size_t level = 0; level < moments.size(); ++level) out.residency[level] = moments[level] / length;
  out.spatial = out.temporal = out.hits = out.swaps = std::numeric_limits<double>::quiet_NaN();
  if (!state.change || state.change->why.empty()) return out;
  const WlodChange& change = *state.change;
  const auto rows = static_cast<double>(change.why.size());
  double spatial = 0, temporal = 0, kept = rows - change.computed, layer0 = 0;
  for (std::size_t i = 0; i < change.why.size(); ++i) {
    spatial += change.why[i] == DirtyWhy::Hierarchical || change.why[i] == DirtyWhy::Both;
    temporal += change.why[i] == DirtyWhy::Temporal || change.why[i] == DirtyWhy::Both;
    layer0 += change.layer0[i];
  }
  out.spatial = spatial / rows;
  out.temporal = temporal / rows;
  out.hits = (kept * layers + layer0) / (rows * layers);
  out.swaps = change.swapped / rows;
  return out;
}

WlodView describeWlod(const WlodState& state, int layers, const WlodParts& parts) {
  WlodView view;
  const WlodRules& rules = state.rules;
  view.attention = rules.attention == WlodAttention::Flat ? "flat" : "pyramid";
  view.gist = parts.gists->name();
  view.lens = parts.lens.name;
  view.figures = parts.gists->figures();
  view.notice = gistNotice(*parts.gists);
  view.near = rules.pyramid.near;
  view.middle = rules.pyramid.middle;
  view.sigma = rules.sigma;
  view.moments = state.tree.length();
  view.budget = rules.working.budget;
  view.protectedFrom = std::max(0, state.tree.length() - rules.working.protectedTail);
  view.tokens = state.tree.tokens();
  view.entries = state.context.entries();
  view.rows = state.rows;
  view.mass.assign(state.mass.begin(), state.mass.end());
  const std::vector<double> scores = parts.scores(state);
  view.scores.assign(scores.begin(), scores.end());
  for (std::int32_t i = 0; i < state.context.cost(); ++i) {
    const std::optional<std::int32_t> age = state.context.age(i);
    view.cooling.push_back(age ? std::max(0, rules.working.cooldown - *age) : 0);
  }
  if (state.draft) view.draft = Moments{state.draft->begin, state.tree.length()};
  view.change = state.change;
  view.rounds = state.rounds;
  view.ratios = ratiosOf(state, layers);
  return view;
}

namespace {

void append(std::vector<float>& to, std::span<const float> values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// [entries, hidden] embeddings of tokens, and gists.
std::vector<float> vectorsOf(const CacheState& state, const Model& model) {
  const WlodState& wlod = wlodIn(state);
  std::vector<float> out;
  for (std::size_t i = 0; i < state.context.size(); ++i) {
    const TreeNode node = wlod.context.entries()[i];
    if (node.level == 0) append(out, embeddingOf(model, state.ledger[state.context[i]].token));
    else append(out, wlod.tree.gist(node));
  }
  return out;
}

}  // namespace

std::vector<double> WlodParts::foreseen(const CacheState& state, const Model& model) const {
  if (!lens.net) return {};
  const WlodState& wlod = wlodIn(state);
  std::vector<float> tail;
  const auto length = wlod.tree.length();
  for (auto t = std::max<std::int64_t>(0, length - lens.net->tail()); t < length; ++t)
    append(tail, embeddingOf(model, state.ledger[wlod.tree.token(Moment(static_cast<std::int32_t>(t)))].token));
  return lens.net->mass(wlod.context.entries().span(), length, vectorsOf(state, model), tail);
}

Result<std::vector<double>> WlodParts::asked(const CacheState& state, const Model& model) const {
  const WlodState& wlod = wlodIn(state);
  std::vector<std::int32_t> starts, levels;
  for (const TreeNode entry : wlod.context.entries()) {
    starts.push_back(entry.start);
    levels.push_back(entry.level);
  }
  const std::vector<float> vectors = vectorsOf(state, model);
  std::vector<double> out = KV_TRY(ruleOf<LensRule>(*lens.added)
                                       .scores({.starts = starts,
                                                .levels = levels,
                                                .mass = wlod.mass,
                                                .vectors = vectors,
                                                .length = wlod.tree.length(),
                                                .hidden = model.config().hidden,
                                                .options = lens.added->options}));
  const bool right = std::ranges::all_of(out, [](double score) { return score >= -1 && score <= 1; });
  if (right && out.size() == starts.size()) return out;
  return Error(
      "bad_lens", "the lens " + lens.added->what->name + " failed",
      right ? "it gave " + std::to_string(out.size()) + " scores for " + std::to_string(starts.size()) + " entries"
            : "it gave scores outside -1 .. 1",
      "mend it and add it again; the session is as it was", "name", lens.added->what->name);
}

std::vector<double> WlodParts::scores(const WlodState& state) const {
  if (lens.name == "script" || lens.added) return state.scores;
  return state.mass.empty() ? std::vector<double>() : attentionScores(state.mass, lens.gain, lens.bias);
}

std::int32_t addsIn(const std::vector<Action>& actions) {
  return static_cast<std::int32_t>(
      std::count_if(actions.begin(), actions.end(), [](const Action& a) { return std::holds_alternative<Add>(a); }));
}

Status FocusReviser::before(CacheState& observed, TickPart& part, CallContext& call) const {
  const WlodState& state = wlodIn(observed);
  if (!m_settings.allocates() || state.context.cost() == 0 || state.draft || part.draft) return ok();
  const std::int32_t adds = addsIn(part.actions);
  const bool room = state.context.cost() + adds > state.rules.working.budget;
  const bool due =
      adds ? adds == 1 && part.actions.size() == 1 && state.sinceRound + 1 >= state.rules.every : part.actions.empty();
  if (!room && !due) return ok();
  auto scope = call.trace.scope("refocus");
  auto next = withPins(observed);
  if (m_parts.lens.net) next->mass = m_parts.foreseen(observed, *call.parts.model);
  if (m_parts.lens.added) next->scores = KV_TRY(m_parts.asked(observed, *call.parts.model));
  std::vector<double> scores = m_parts.scores(*next);
  scores.resize(static_cast<std::size_t>(state.context.cost()));  // without scores all entries are equal
  if (!room) next->context = state.context.nextRound();
  FocusRules rules = state.rules.focus;
  // After a prompt, edits may make any share dirty; where rows behind edits are kept, they cost nothing.
  if ((!room && !adds) || m_settings.recompute == WlodRecompute::Keep) rules.dirty = 1;
  Result<Refocus> round = room ? makeRoom(next->context, scores, adds, rules, next->rules.working)
                               : refocus(next->context, scores, rules, next->rules.working);
  if (!round && room && round.error().code == "over_budget") return ok();  // the plan starts cold or refuses the tick
  if (!round) return round.error();
  if (!room) next->sinceRound = -adds;  // the tokens are counted when they are added
  round->round.tick = Tick(observed.tick.value() + 1);
  scope.detail(std::to_string(round->edits.size()) + " of " + std::to_string(round->round.decisions.size()) +
               " candidates");
  next->rounds.push_back(std::make_shared<const FocusRound>(std::move(round->round)));
  if (next->rounds.size() > WlodState::kMostRounds) next->rounds.erase(next->rounds.begin());
  for (const LodEdit& edit : round->edits) {
    if (edit.expand) part.actions.push_back(Expand{edit.node.id()});
    else part.actions.push_back(Collapse{edit.node.id()});
  }
  observed.kind = std::move(next);
  return ok();
}

bool FocusReviser::wantsTick(const CacheState& state, CallContext& call) const {
  if (state.length() == 0) return false;
  CacheState looked = state;
  TickPart part;
  const Status round = before(looked, part, call);
  return round ? !part.actions.empty() : round.error().code == "bad_lens";  // the tick tells why
}

}  // namespace kvlab
