// SPDX-License-Identifier: Apache-2.0
#include "core/edit/pending_positions.h"

#include <unordered_map>

namespace kvlab {
namespace {

class Places {
 public:
  Places(const Column<LedgerId>& before, const Column<LedgerId>& after) : m_after(after.size()) {
    std::unordered_map<std::int32_t, std::int32_t> place;
    for (std::size_t p = 0; p < after.size(); ++p) place[after[p].value()] = static_cast<std::int32_t>(p);
    for (std::size_t p = 0; p < before.size(); ++p) {
      const auto found = place.find(before[p].value());
      m_now.push_back(found == place.end() ? -1 : found->second);
    }
  }

  /// New position of the first remaining token at or behind `position`; the end if none remains.
  Position of(Position position) const {
    for (std::size_t p = at(position.value()); p < m_now.size(); ++p)
      if (m_now[p] >= 0) return Position(m_now[p]);
    return Position(static_cast<std::int32_t>(m_after));
  }

 private:
  std::vector<std::int32_t> m_now;  // [before] place in the context after, -1 = gone
  std::size_t m_after;
};

struct Follow {
  const Places& places;

  void operator()(ReplacePair& action) const {
    action.originalPos1 = places.of(action.originalPos1);
    action.originalPos2 = places.of(action.originalPos2);
  }
  void operator()(Replace& action) const {
    for (Position& position : action.positions) position = places.of(position);
  }
  void operator()(Delete& action) const { action.position = places.of(action.position); }
  void operator()(Insert& action) const { action.position = places.of(action.position); }
  void operator()(Add&) const {}
  void operator()(Evict&) const {}   // names ledger ids
  void operator()(Expand&) const {}  // nodes of the time line
  void operator()(Collapse&) const {}
};

}  // namespace

void followTokens(std::vector<Action>& actions, const Column<LedgerId>& before, const Column<LedgerId>& after) {
  if (actions.empty()) return;
  const Places places(before, after);
  for (Action& action : actions) std::visit(Follow{places}, action);
}

}  // namespace kvlab
