// SPDX-License-Identifier: Apache-2.0
#include "core/session/breakpoints.h"

#include <algorithm>

namespace kvlab {

bool Breakpoints::needs(Need need) const {
  return std::any_of(m_points.begin(), m_points.end(),
                     [need](const Point& point) { return point.condition.needs(need); });
}

/// All that hold are counted, whichever of them stops.
std::string Breakpoints::hit(const Sight& at) {
  auto stops = m_points.end();
  for (auto point = m_points.begin(); point != m_points.end(); ++point) {
    if (point->condition.needs(Need::Stage) != at.stage.has_value() || !point->condition.holds(at)) continue;
    if (point->ignore > 0) --point->ignore;
    else if (stops == m_points.end()) stops = point;
  }
  if (stops == m_points.end()) return {};
  std::string text = stops->condition.text();
  if (stops->once) m_points.erase(stops);
  return text;
}

}  // namespace kvlab
