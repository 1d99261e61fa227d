// SPDX-License-Identifier: Apache-2.0
#include "core/session/difference.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/metrics.h"
#include "core/session/observe.h"
#include "core/session/row_values.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

/// Rows that a layer holds, by ledger id, with their records.
struct Held {
  Held(Session& of, CacheLayer which) : session(of), layer(which), map(of.state().map(which)) {
    for (auto i = at(map.first); i < map.size(); ++i)
      if (map.has(i)) rows.emplace_back(map.ledger[i], i);
    std::ranges::sort(rows);
    std::vector<Slot> slots;
    for (const auto& [id, index] : rows) slots.push_back(map.slotOf[index]);
    records.resize(rows.size() * at(pool().stride()));
    if (!slots.empty()) pool().readRecords(slots, records.data());
  }
  const RowPool& pool() const { return session.store().pool(layer); }
  Slot slot(std::size_t place) const { return map.slotOf[rows[place].second]; }
  double phase(std::size_t place) const { return map.phase(rows[place].second).value(); }
  /// Keys and values of a row without its tag.
  std::span<const std::uint8_t> bytes(std::size_t place) const {
    const auto tag = at(kernels::rowLayout(pool().format()).tag);
    return std::span(records).subspan(place * at(pool().stride()), tag);
  }
  RowPair values(std::size_t place) const {
    RowPair out = storedRow(pool(), slot(place)).values;
    turnKeys(session, layer, rows[place].second, false, out.k);
    return out;
  }
  std::string type() const {
    const kernels::RowFormat& format = pool().format();
    return std::string(kernels::dtypeName(format.k)) + "/" + std::string(kernels::dtypeName(format.v));
  }

  Session& session;
  CacheLayer layer;
  const ResidencyView& map;
  std::vector<std::pair<LedgerId, std::size_t>> rows;  // ids ascending, and their indices in the map
  std::vector<std::uint8_t> records;                   // [rows, stride]
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

bool equalBytes(const Held& then, std::size_t a, const Held& now, std::size_t b) {
  return then.pool().format() == now.pool().format() && std::ranges::equal(then.bytes(a), now.bytes(b));
}

void compareRow(const Held& then, std::size_t a, const Held& now, std::size_t b, LayerDifference& out) {
  RowDifference row{.row = then.rows[a].first, .phaseThen = then.phase(a), .phaseNow = now.phase(b)};
  const bool turned = row.phaseThen != row.phaseNow, stored = equalBytes(then, a, now, b);
  if (turned || !stored) {
    const RowPair before = then.values(a), behind = now.values(b);
    row.k = farness(before.k, behind.k), row.v = farness(before.v, behind.v);
  }
  if (turned || row.k != 0 || row.v != 0) out.changed.push_back(row);
  else ++(then.slot(a) == now.slot(b) ? out.same : out.moved);
}

LayerDifference compareLayer(Session& before, Session& behind, CacheLayer layer) {
  const Held then(before, layer), now(behind, layer);
  LayerDifference out{.layer = layer, .typeThen = then.type(), .typeNow = now.type()};
  std::size_t a = 0, b = 0;
  while (a < then.rows.size() || b < now.rows.size()) {
    const bool first = b == now.rows.size() || (a < then.rows.size() && then.rows[a].first < now.rows[b].first);
    const bool second = !first && (a == then.rows.size() || now.rows[b].first < then.rows[a].first);
    if (first) out.onlyThen.push_back(then.rows[a++].first);
    else if (second) out.onlyNow.push_back(now.rows[b++].first);
    else compareRow(then, a++, now, b++, out);
  }
  return out;
}

/// Rows of the context with their exactness, ids ascending.
std::vector<std::pair<LedgerId, Exactness>> exactRows(const Session& session) {
  const std::vector<Exactness> exact = lastLayerExactness(session);
  std::vector<std::pair<LedgerId, Exactness>> out;
  for (std::size_t p = 0; p < session.state().context.size(); ++p)
    out.emplace_back(session.state().context[p], p < exact.size() ? exact[p] : Exactness::Exact);
  std::ranges::sort(out, {}, &std::pair<LedgerId, Exactness>::first);
  return out;
}

void compareContexts(const Session& before, const Session& behind, StateDifference& out) {
  const auto then = exactRows(before), now = exactRows(behind);
  auto a = then.begin(), b = now.begin();
  while (a != then.end() || b != now.end()) {
    if (b == now.end() || (a != then.end() && a->first < b->first)) {
      out.onlyThen.push_back((a++)->first);
    } else if (a == then.end() || b->first < a->first) {
      out.onlyNow.push_back((b++)->first);
    } else {
      if (a->second != b->second) out.exactness.push_back({a->first, a->second, b->second});
      ++a, ++b;
    }
  }
}

}  // namespace

bool StateDifference::alike() const {
  return onlyThen.empty() && onlyNow.empty() && exactness.empty() &&
      std::ranges::all_of(layers, [](const LayerDifference& one) {
           return one.onlyThen.empty() && one.onlyNow.empty() && one.changed.empty() && one.typeThen == one.typeNow;
         });
}

Result<StateDifference> difference(Session& then, Session& now) {
  KV_TRY(refreshLogits(then));
  KV_TRY(refreshLogits(now));
  StateDifference out{.then = then.state().tick, .now = now.state().tick};
  compareContexts(then, now, out);
  for (const CacheLayer layer : then.state().layers()) out.layers.push_back(compareLayer(then, now, layer));
  if (then.state().logits && now.state().logits) out.kl = klDivergence(*then.state().logits, *now.state().logits);
  return out;
}

}  // namespace kvlab
