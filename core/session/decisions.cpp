// SPDX-License-Identifier: Apache-2.0
#include "core/session/decisions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/api/json_values.h"
#include "core/policy/selection.h"
#include "core/session/look_back.h"

namespace kvlab {
namespace {

constexpr std::array kVerdicts = {"computed", "kept", "dropped"};
constexpr std::array kGrounds = {"none", "sink", "window", "pinned", "rank", "threshold", "repeated"};
constexpr float kNoScore = std::numeric_limits<float>::quiet_NaN();

std::string scoreText(float score) { return numberWords(static_cast<double>(score), 3); }

std::span<const LedgerId> residentRows(const ResidencyView& map) {
  return map.ledger.span().subspan(at(map.first), map.resident());
}

/// Calls visit(row, index of `rows`) for those that are not in `other`.
template <class Visit>
void eachMissing(std::span<const LedgerId> rows, std::span<const LedgerId> other, const Visit& visit) {
  std::vector<bool> there;
  for (const LedgerId row : other) {
    if (at(row.value()) >= there.size()) there.resize(at(row.value()) + 1);
    there[at(row.value())] = true;
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (at(rows[i].value()) >= there.size() || !there[at(rows[i].value())]) visit(rows[i], i);
}

}  // namespace

std::string_view name(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }
std::string_view name(Ground ground) { return kGrounds[static_cast<std::size_t>(ground)]; }

std::string decisionWords(const RowDecision& one) {
  std::string out(name(one.verdict));
  if (one.ground == Ground::None) return out;
  if (one.policy) out += " by " + one.policy->name;
  if (one.atPromptEnd) out += " at the end of the prompt";
  if (one.ground == Ground::Repeated) return out + ": repeated from history, which has no scores";
  if (one.rank == 0)
    return out + ": " +
        (one.ground == Ground::Sink         ? "one of the sinks"
             : one.ground == Ground::Window ? "in the window"
                                            : "pinned");
  out += std::isnan(one.score) ? ": no score" : ": score " + scoreText(one.score);
  out += ", rank " + std::to_string(one.rank) + " of " + std::to_string(one.of);
  if (one.ground == Ground::Threshold && one.policy && one.policy->threshold)
    out += ", below the threshold " + numberWords(*one.policy->threshold, 3);
  if (one.stayed == 0) return out + "; none of these stayed";
  out += ", of which " + std::to_string(one.stayed) + " stayed";
  if (one.lowest == one.row) return out + "; the lowest of these";
  return out + "; the lowest of these is row " + std::to_string(one.lowest.value()) + " with " +
      scoreText(one.threshold);
}

std::optional<LayerDecision> LayerDecision::of(const CacheState* before, const CacheState& now, CacheLayer layer) {
  if (!now.policy || now.policy->audit.tick != now.tick || kvlab::at(layer) >= now.policy->layers.size()) return {};
  if (before && before->policy == now.policy) return {};
  LayerDecision out(now, layer);
  const RowValues& scores = now.policy->layers[kvlab::at(layer)].scores;
  if (scores.map && scores.values.size() == scores.map->size()) {
    if (before && before->policy && kvlab::at(layer) < before->policy->layers.size() &&
        before->policy->layers[kvlab::at(layer)].scores.map == scores.map)
      return {};  // those of an earlier decision
    out.m_rows = residentRows(*scores.map);
    out.m_scores = scores.values.span().subspan(kvlab::at(scores.map->first));
    return out;
  }
  if (!now.policy->decided) return {};
  const auto repeated = std::ranges::find(*now.policy->decided, layer, &Decided::layer);
  if (repeated == now.policy->decided->end() || repeated->left.empty()) return {};
  out.m_rows = repeated->left;
  out.m_judged = true;
  out.m_stayed.assign(out.m_rows.size(), false);
  out.m_ground.assign(out.m_rows.size(), Ground::Repeated);
  out.m_rank.assign(out.m_rows.size(), 0);
  out.m_threshold = kNoScore;
  return out;
}

/// Ranks the rows that competed as losers() does, and sees which of them stayed.
void LayerDecision::judge() {
  if (std::exchange(m_judged, true)) return;
  const PolicyState& policy = *m_now->policy;
  const Bands& bands = policy.audit.layers[kvlab::at(m_layer)].bands;
  const std::optional<double> least = policy.specs[kvlab::at(m_layer)].threshold;
  const auto rows = static_cast<std::int32_t>(m_rows.size());
  const std::int32_t begin = std::min(bands.sinks, rows), end = std::max(begin, rows - bands.window);
  m_stayed.assign(m_rows.size(), true);
  m_ground.assign(m_rows.size(), Ground::Window);
  m_rank.assign(m_rows.size(), 0);
  m_threshold = kNoScore;
  std::fill_n(m_ground.begin(), begin, Ground::Sink);
  eachMissing(m_rows, residentRows(m_now->map(m_layer)), [&](LedgerId, std::size_t i) { m_stayed[i] = false; });
  const bool pins = m_now->ledger.pins();
  std::vector<std::int32_t> order;
  for (std::int32_t i = begin; i < end; ++i) {
    const bool pinned =
        pins && m_now->ledger.contains(m_rows[kvlab::at(i)]) && m_now->ledger[m_rows[kvlab::at(i)]].pinned;
    m_ground[kvlab::at(i)] = pinned ? Ground::Pinned : Ground::Rank;
    if (!pinned) order.push_back(i);
  }
  const auto scoreOf = [&](std::int32_t i) { return ranked(m_scores[kvlab::at(i)]); };
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) { return scoreOf(a) > scoreOf(b); });
  m_of = static_cast<std::int32_t>(order.size());
  const std::int32_t places = std::max(0, bands.budget - (end - begin - m_of));
  for (std::int32_t rank = 0; rank < m_of; ++rank) {
    const std::size_t i = kvlab::at(order[kvlab::at(rank)]);
    m_rank[i] = rank + 1;
    if (!m_stayed[i]) {
      ++m_left;
      if (least && rank < places) m_ground[i] = Ground::Threshold;
      continue;
    }
    m_lowest = m_rows[i];
    m_threshold = m_scores[i];
  }
}

RowDecision LayerDecision::blank(LedgerId row) const {
  return {.layer = m_layer,
          .row = row,
          .score = kNoScore,
          .of = m_of,
          .stayed = m_of - m_left,
          .threshold = m_threshold,
          .lowest = m_lowest,
          .atPromptEnd = m_now->policy->atPromptEnd,
          .policy = &m_now->policy->specs[kvlab::at(m_layer)]};
}

/// The row that left the window for a dropped row's place; else the one that stayed with the lowest score.
LedgerId LayerDecision::winner(LedgerId loser) const {
  const std::vector<Contest>& contests = m_now->policy->audit.layers[kvlab::at(m_layer)].contests;
  const auto found = std::ranges::find(contests, loser, &Contest::loser);
  return found == contests.end() || found->challenger == loser ? m_lowest : found->challenger;
}

RowDecision LayerDecision::at(std::size_t i) const {
  RowDecision out = blank(m_rows[i]);
  out.verdict = m_stayed[i] ? Verdict::Kept : Verdict::Dropped;
  out.ground = m_ground[i];
  out.rank = m_rank[i];
  if (!m_scores.empty()) out.score = m_scores[i];
  if (!m_stayed[i]) out.replacedBy = winner(m_rows[i]);
  return out;
}

std::optional<RowDecision> LayerDecision::about(LedgerId row) {
  const auto found = std::ranges::find(m_rows, row);
  if (found == m_rows.end()) return {};
  judge();
  return at(static_cast<std::size_t>(found - m_rows.begin()));
}

void LayerDecision::each(const std::function<bool(const RowDecision&)>& take) {
  judge();
  for (std::size_t i = 0; i < m_rows.size(); ++i)
    if (!take(at(i))) return;
}

namespace {

/// Shows the decisions of one commit.
class CommitDecisions {
 public:
  CommitDecisions(const DecisionsAsked& asked, const std::function<bool(const RowDecision&)>& take)
      : m_asked(asked), m_take(take) {}

  void show(const CacheState& before, const CacheState& now, int entry) {
    const CacheLayers all = now.cacheLayers();
    for (const CacheLayer layer : now.layers()) {
      const bool wanted = (!m_asked.layer || *m_asked.layer == all.layerOf(layer)) &&
          (!m_asked.head || m_asked.head->value() == all.partOf(layer));
      if (wanted) inLayer(before, now, layer, entry);
    }
  }

 private:
  void inLayer(const CacheState& before, const CacheState& now, CacheLayer layer, int entry) {
    std::optional<LayerDecision> made = LayerDecision::of(&before, now, layer);
    const auto give = [&](RowDecision one) {
      one.entry = entry;
      if (m_more) m_more = m_take(one);
      return m_more;
    };
    const auto computed = [&](LedgerId row) {
      if (m_asked.row && *m_asked.row != row) return;
      give({.layer = layer, .row = row, .score = kNoScore, .threshold = kNoScore});
    };
    const std::span<const LedgerId> then =
        kvlab::at(layer) < before.groupOf.size() ? residentRows(before.map(layer)) : std::span<const LedgerId>();
    eachMissing(had(now, layer, made.has_value()), then, [&](LedgerId row, std::size_t) { computed(row); });
    if (!made) return;
    if (!m_asked.row) return made->each(give);
    if (const std::optional<RowDecision> one = made->about(*m_asked.row)) give(*one);
  }

  /// The rows of a layer before its policy chose.
  static std::span<const LedgerId> had(const CacheState& now, CacheLayer layer, bool decided) {
    const ResidencyView* map = decided ? now.policy->layers[kvlab::at(layer)].scores.map.get() : nullptr;
    return residentRows(map ? *map : now.map(layer));
  }

  const DecisionsAsked& m_asked;
  const std::function<bool(const RowDecision&)>& m_take;
  bool m_more = true;
};

}  // namespace

namespace {

Status pastDecisions(Session& session, const DecisionsAsked& asked, CommitDecisions& shown) {
  const Timeline& line = session.timeline();
  const std::vector<int> path = line.path(line.currentId());
  Tick first = line.current().tick;
  if (asked.tick) first = *asked.tick;
  else if (asked.row) first = session.state().ledger[*asked.row].born;
  // A native file brings its own count of ticks, so that they need not ascend.
  const auto behind = [&](int id) { return line.entry(id).tick < first; };
  const auto until = [&](int id) { return !asked.tick || line.entry(id).tick <= *asked.tick; };
  const auto from = std::find_if(path.rbegin(), path.rend(), behind);
  const auto last = std::find_if(path.rbegin(), path.rend(), until);
  if (last == path.rend() || last >= from) return ok();
  LookBack back(session, [](Need) { return false; });
  return back.forward(from == path.rend() ? path.front() : *from, *last,
                      [&](const Sight& seen, int entry) { shown.show(*seen.before.state, *seen.now.state, entry); });
}

/// The group without some rows of its map.
LayerGroup without(const LayerGroup& group, const std::vector<LedgerId>& rows) {
  std::vector<LedgerId> kept;
  std::vector<Slot> slots;
  std::vector<std::int32_t> phases;
  std::vector<bool> leaves;
  for (const LedgerId row : rows) {
    if (kvlab::at(row.value()) >= leaves.size()) leaves.resize(kvlab::at(row.value()) + 1);
    leaves[kvlab::at(row.value())] = true;
  }
  const ResidencyView& map = *group.map;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::size_t id = kvlab::at(map.ledger[i].value());
    if (map.has(i) && id < leaves.size() && leaves[id]) continue;
    kept.push_back(map.ledger[i]);
    slots.push_back(map.slotOf[i]);
    phases.push_back(map.phases[i]);
  }
  auto out = std::make_shared<ResidencyView>();
  out->ledger.assign(std::move(kept));
  out->slotOf.assign(std::move(slots));
  out->phases.assign(std::move(phases));
  out->otherPhases = map.otherPhases;
  out->first = map.first;
  LayerGroup copy = group;
  copy.map = std::move(out);
  return copy;
}

/// The state that the open tick leads to, if its policies have decided.
std::optional<CacheState> decidedState(const Session& session) {
  if (!session.stage() || session.stage()->stage != Stage::Prune || !session.withPending().policy) return {};
  CacheState out = session.withPending();
  out.tick = out.policy->audit.tick;
  for (const Action& action : session.stage()->actions) {
    const auto* evict = std::get_if<Evict>(&action);
    if (!evict) continue;
    for (const CacheLayer layer : out.cacheLayers().of(evict->layer)) {
      if (evict->kvHead && evict->kvHead->value() != out.cacheLayers().partOf(layer)) continue;
      LayerGroup group = without(out.group(layer), evict->ledger);
      out.groupOf[kvlab::at(layer)] = static_cast<std::int32_t>(out.groups.size());
      out.groups.push_back(std::move(group));
    }
  }
  return out;
}

}  // namespace

Status decisions(Session& session, const DecisionsAsked& asked, const std::function<bool(const RowDecision&)>& take) {
  CommitDecisions shown(asked, take);
  KV_TRY(pastDecisions(session, asked, shown));
  if (!asked.tick && !asked.row) return ok();
  const std::optional<CacheState> decided = decidedState(session);
  if (decided && asked.tick.value_or(decided->tick) == decided->tick) shown.show(session.state(), *decided, -1);
  return ok();
}

}  // namespace kvlab
