// SPDX-License-Identifier: Apache-2.0
#include "core/session/difference.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/metrics.h"
#include "core/files/fingerprint.h"
#include "core/model/decoder/row_codec.h"
#include "core/session/observe.h"
#include "core/session/past.h"
#include "core/session/requests.h"
#include "core/session/row_pairs.h"
#include "core/session/row_values.h"
#include "core/session/state_hash.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

/// A row's id in its own state, and its place there.
struct Place {
  LedgerId row;
  std::size_t index = 0;
};
/// Rows by the ids that they have in the later state; rows without one come first.
using Rows = std::vector<std::pair<LedgerId, Place>>;

void sortRows(Rows& rows) {
  std::ranges::sort(rows, {}, [](const auto& one) { return std::pair(one.first, one.second.row); });
}

/// Rows that a layer holds, with their records.
struct HeldRows {
  HeldRows(Session& of, CacheLayer which, const RowPairs* pairs)
      : session(of), layer(which), map(of.state().map(which)) {
    for (auto i = at(map.first); i < map.size(); ++i)
      if (map.has(i)) rows.push_back({pairs ? pairs->nowOf(map.ledger[i]) : map.ledger[i], {map.ledger[i], i}});
    sortRows(rows);
    std::vector<Slot> slots;
    for (const auto& [id, place] : rows) slots.push_back(map.slotOf[place.index]);
    records.resize(rows.size() * at(pool().stride()));
    if (!slots.empty()) pool().readRecords(slots, records.data());
  }
  const RowPool& pool() const { return session.store().pool(layer); }
  Slot slot(std::size_t place) const { return map.slotOf[rows[place].second.index]; }
  double phase(std::size_t place) const { return map.phase(rows[place].second.index).value(); }
  /// Keys and values of a row without its tag.
  std::span<const std::uint8_t> bytes(std::size_t place) const {
    const auto tag = at(kernels::rowLayout(pool().format()).tag);
    return std::span(records).subspan(place * at(pool().stride()), tag);
  }
  RowPair values(std::size_t place) const {
    RowPair out = storedRow(pool(), slot(place)).values;
    turnKeys(session, layer, rows[place].second.index, false, out.k);
    return out;
  }
  std::string type() const {
    const kernels::RowFormat& format = pool().format();
    return typeText(format, true) + "/" + typeText(format, false);
  }

  Session& session;
  CacheLayer layer;
  const ResidencyView& map;
  Rows rows = {};
  std::vector<std::uint8_t> records = {};  // [rows, stride]
};

/// 0 where both are the same; not-a-number is infinitely far away.
double farness(const std::vector<float>& a, const std::vector<float>& b) {
  double apart = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = double{a[i]}, y = double{b[i]};
    apart += (x - y) * (x - y), first += x * x, second += y * y;
  }
  if (apart == 0) return 0;
  const double out = std::sqrt(apart / std::max(first, second));
  return std::isnan(out) ? std::numeric_limits<double>::infinity() : out;
}

bool equalBytes(const HeldRows& then, std::size_t a, const HeldRows& now, std::size_t b) {
  return then.pool().format() == now.pool().format() && std::ranges::equal(then.bytes(a), now.bytes(b));
}

void compareRow(const HeldRows& then, std::size_t a, const HeldRows& now, std::size_t b, LayerDifference& out) {
  RowDifference row{.row = now.rows[b].second.row,
                    .rowThen = then.rows[a].second.row,
                    .phaseThen = then.phase(a),
                    .phaseNow = now.phase(b)};
  const bool turned = row.phaseThen != row.phaseNow, stored = equalBytes(then, a, now, b);
  if (turned || !stored) {
    const RowPair before = then.values(a), behind = now.values(b);
    row.k = farness(before.k, behind.k), row.v = farness(before.v, behind.v);
  }
  if (turned || row.k != 0 || row.v != 0) out.changed.push_back(row);
  else ++(then.slot(a) == now.slot(b) ? out.same : out.moved);
}

/// Walks through two lists of rows: calls with each row that only one list has, and with each that both have.
template <class OnlyThen, class OnlyNow, class Both>
void meet(const Rows& then, const Rows& now, OnlyThen onlyThen, OnlyNow onlyNow, Both both) {
  std::size_t a = 0, b = 0;
  while (a < then.size() || b < now.size()) {
    const bool alone = a < then.size() && then[a].first.value() < 0;
    if (alone || b == now.size() || (a < then.size() && then[a].first < now[b].first)) onlyThen(a++);
    else if (a == then.size() || now[b].first < then[a].first) onlyNow(b++);
    else both(a++, b++);
  }
}

LayerDifference compareLayer(Session& before, Session& behind, CacheLayer layer, const RowPairs& pairs) {
  const HeldRows then(before, layer, &pairs), now(behind, layer, nullptr);
  LayerDifference out{.layer = layer, .typeThen = then.type(), .typeNow = now.type()};
  meet(
      then.rows, now.rows, [&](std::size_t a) { out.onlyThen.push_back(then.rows[a].second.row); },
      [&](std::size_t b) { out.onlyNow.push_back(now.rows[b].second.row); },
      [&](std::size_t a, std::size_t b) { compareRow(then, a, now, b, out); });
  std::ranges::sort(out.onlyThen);
  return out;
}

Rows contextRows(const Session& session, const RowPairs* pairs) {
  Rows out;
  const Column<LedgerId>& context = session.state().context;
  for (std::size_t p = 0; p < context.size(); ++p)
    out.push_back({pairs ? pairs->nowOf(context[p]) : context[p], {context[p], p}});
  sortRows(out);
  return out;
}

void compareContexts(const Session& before, const Session& behind, const RowPairs& pairs, StateDifference& out) {
  const Rows then = contextRows(before, &pairs), now = contextRows(behind, nullptr);
  const std::vector<Exactness> exactThen = lastLayerExactness(before), exactNow = lastLayerExactness(behind);
  // A row of a file holds the same values before and after its verification.
  const auto trusted = [](Exactness one) { return one == Exactness::Loaded ? Exactness::Exact : one; };
  const auto exact = [](const std::vector<Exactness>& all, std::size_t p) {
    return p < all.size() ? all[p] : Exactness::Exact;
  };
  meet(
      then, now, [&](std::size_t a) { out.onlyThen.push_back(then[a].second.row); },
      [&](std::size_t b) { out.onlyNow.push_back(now[b].second.row); },
      [&](std::size_t a, std::size_t b) {
        const Exactness was = exact(exactThen, then[a].second.index), is = exact(exactNow, now[b].second.index);
        if (trusted(was) != trusted(is)) out.exactness.push_back({now[b].second.row, then[a].second.row, was, is});
      });
  std::ranges::sort(out.onlyThen);
}

Status comparable(const Session& then, const Session& now) {
  const auto refusal = [](std::string why) {
    return Error("not_comparable", "the states were not compared", std::move(why),
                 "compare states of the same model and the same residency");
  };
  if (modelFingerprint(then.model()) != modelFingerprint(now.model())) return refusal("they are of different models");
  if (then.state().groupOf.size() != now.state().groupOf.size()) return refusal("one of them has residency by KV head");
  return ok();
}

/// The ticks behind an entry up to another, ascending.
std::vector<Tick> ticksBehind(const Timeline& timeline, int first, int last) {
  std::vector<Tick> out;
  for (const int id : timeline.path(last, first))
    if (id != first && (out.empty() || timeline.entry(id).tick != out.back())) out.push_back(timeline.entry(id).tick);
  return out;
}

}  // namespace

bool StateDifference::alike() const {
  return onlyThen.empty() && onlyNow.empty() && exactness.empty() &&
      std::ranges::all_of(layers, [](const LayerDifference& one) {
           return one.onlyThen.empty() && one.onlyNow.empty() && one.changed.empty() && one.typeThen == one.typeNow;
         });
}

Result<StateDifference> difference(Session& then, Session& now) {
  KV_TRY(comparable(then, now));
  KV_TRY(refreshLogits(then));
  KV_TRY(refreshLogits(now));
  const RowPairs pairs(then.state(), now.state());
  StateDifference out{.then = then.state().tick, .now = now.state().tick};
  compareContexts(then, now, pairs, out);
  for (const CacheLayer layer : then.state().layers()) out.layers.push_back(compareLayer(then, now, layer, pairs));
  if (then.state().logits && now.state().logits) out.kl = klDivergence(*then.state().logits, *now.state().logits);
  return out;
}

std::vector<float> apartByIndex(const LayerDifference& found, const ResidencyView& map, bool keys) {
  std::unordered_map<std::int32_t, float> apart;
  for (const LedgerId row : found.onlyNow) apart[row.value()] = 1;
  for (const RowDifference& row : found.changed) apart[row.row.value()] = static_cast<float>(keys ? row.k : row.v);
  std::vector<float> out;
  for (const LedgerId row : map.ledger) {
    const auto one = apart.find(row.value());
    out.push_back(one == apart.end() ? 0 : one->second);
  }
  return out;
}

Result<int> beforeLastEdit(const Timeline& timeline) {
  for (int id = timeline.currentId(); id > 0; id = timeline.beforeEdit(id))
    if (!timeline.entry(timeline.entry(id).edit).words.empty()) return timeline.beforeEdit(id);
  return Error("no_edit", "there is nothing to compare with", "the session has only generated so far",
               "give a tick, or edit the context first");
}

Result<std::optional<Tick>> firstDifference(Session& session, const std::string& branch) {
  const Timeline& timeline = session.timeline();
  const int number = KV_TRY(branchNamed(session, branch));
  const int own = timeline.tip(), other = timeline.branches()[at(number)].tip;
  const std::vector<Tick> ticks = ticksBehind(timeline, timeline.parting(own, other), own);
  Past beside;
  for (std::size_t i = 0; i < ticks.size() && ticks[i] <= timeline.entry(other).tick; ++i) {
    if (!report(session.progress(), "comparing branches", static_cast<std::int64_t>(i), std::ssize(ticks)))
      return Error("cancelled", "the comparison was cancelled", "at tick " + std::to_string(ticks[i].value()),
                   "the session stays where it was");
    const Session* mine = KV_TRY(session.past().at(session, timeline.find(ticks[i]), own));
    const Session* theirs = KV_TRY(beside.at(session, timeline.find(ticks[i], number), other));
    const auto hash = [](const Session& of) { return stateHash(of.state(), of.store(), {}); };
    if (hash(*mine) != hash(*theirs)) return std::optional(ticks[i]);
  }
  return std::optional<Tick>();
}

}  // namespace kvlab
