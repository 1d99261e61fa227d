// SPDX-License-Identifier: Apache-2.0
#include "core/session/row_pairs.h"

#include <algorithm>
#include <span>

namespace kvlab {
namespace {

/// The number of first rows that have the same origin in both ledgers.
std::int32_t sharedRows(const Ledger& then, const Ledger& now) {
  const auto rows = static_cast<std::int32_t>(std::min(then.size(), now.size()));
  for (std::int32_t i = 0; i < rows; ++i) {
    const LedgerRow &a = then[LedgerId(i)], &b = now[LedgerId(i)];
    if (a.token != b.token || a.kind != b.kind || a.source != b.source || a.born != b.born || a.parents != b.parents)
      return i;
  }
  return rows;
}

/// [length] a symbol for each place of a context: a shared row matches itself, a later token matches equal tokens, a
/// later gist matches nothing.
std::vector<std::int64_t> symbols(const CacheState& state, std::int32_t shared, std::int64_t gists) {
  std::vector<std::int64_t> out;
  for (const LedgerId id : state.context) {
    if (id.value() < shared) out.push_back(-1 - std::int64_t{id.value()});
    else if (state.ledger[id].kind == RowKind::Token) out.push_back(state.ledger[id].token.value());
    else out.push_back(gists + id.value());
  }
  return out;
}

/// The shortest way from one list to another, each step an insertion or a deletion, in between runs of equal entries.
class ShortestEdit {
 public:
  using List = std::span<const std::int64_t>;
  ShortestEdit(List then, List now) : m_then(then), m_now(now) {}

  /// Aligned places, last one first; none if the way has more than `most` steps.
  Places aligned(int most) {
    Places out;
    int steps = find(most), x = static_cast<int>(m_then.size()), y = static_cast<int>(m_now.size());
    for (; steps >= 0; --steps) {
      const int k = x - y;
      const bool inserted = steps > 0 && comesDown(steps, k);
      const int fromX = steps == 0 ? 0 : reach(steps - 1, inserted ? k + 1 : k - 1);
      const int runX = steps == 0 || inserted ? fromX : fromX + 1;  // begin of the run of equal entries
      while (x > runX) --x, --y, out.emplace_back(x, y);
      if (inserted) --y;
      else if (steps > 0) --x;
    }
    return out;
  }

 private:
  /// Farthest place in `then` that `steps` steps reach on the diagonal then - now = k.
  int reach(int steps, int k) const { return m_reach[at(steps)][at(k + steps)]; }
  /// True if the way to the diagonal comes by an insertion.
  bool comesDown(int steps, int k) const {
    return k == -steps || (k != steps && reach(steps - 1, k - 1) < reach(steps - 1, k + 1));
  }
  /// Steps of the shortest way; -1 = more than `most`.
  int find(int most) {
    const int n = static_cast<int>(m_then.size()), m = static_cast<int>(m_now.size());
    for (int d = 0; d <= std::min(most, n + m); ++d) {
      m_reach.emplace_back(at(2 * d + 1));
      for (int k = -d; k <= d; k += 2) {
        int x = d == 0 ? 0 : comesDown(d, k) ? reach(d - 1, k + 1) : reach(d - 1, k - 1) + 1;
        while (x < n && x - k < m && m_then[at(x)] == m_now[at(x - k)]) ++x;
        m_reach[at(d)][at(k + d)] = x;
        if (x >= n && x - k >= m) return d;
      }
    }
    return -1;
  }

  List m_then, m_now;
  std::vector<std::vector<int>> m_reach;  // [steps][diagonals]
};

}  // namespace

Places alignedPlaces(const std::vector<std::int64_t>& then, const std::vector<std::int64_t>& now, int most) {
  std::size_t begin = 0, end = 0;
  const std::size_t shorter = std::min(then.size(), now.size());
  while (begin < shorter && then[begin] == now[begin]) ++begin;
  while (end < shorter - begin && then[then.size() - 1 - end] == now[now.size() - 1 - end]) ++end;
  Places out;
  for (std::size_t i = 0; i < begin; ++i) out.emplace_back(i, i);
  const auto middle = [&](const auto& list) { return std::span(list).subspan(begin, list.size() - begin - end); };
  Places between = ShortestEdit(middle(then), middle(now)).aligned(most);
  std::ranges::reverse(between);
  for (const auto& [a, b] : between) out.emplace_back(begin + a, begin + b);
  for (std::size_t i = end; i > 0; --i) out.emplace_back(then.size() - i, now.size() - i);
  return out;
}

RowPairs::RowPairs(const CacheState& then, const CacheState& now) : m_shared(sharedRows(then.ledger, now.ledger)) {
  m_later.assign(then.ledger.size() - at(m_shared), LedgerId(-1));
  if (m_later.empty() || at(m_shared) == now.ledger.size()) return;
  constexpr std::int64_t kThen = std::int64_t{1} << 32, kNow = std::int64_t{2} << 32;
  for (const auto& [a, b] : alignedPlaces(symbols(then, m_shared, kThen), symbols(now, m_shared, kNow)))
    if (then.context[a].value() >= m_shared) m_later[at(then.context[a].value() - m_shared)] = now.context[b];
}

LedgerId RowPairs::nowOf(LedgerId then) const {
  return then.value() < m_shared ? then : m_later[at(then.value() - m_shared)];
}

}  // namespace kvlab
