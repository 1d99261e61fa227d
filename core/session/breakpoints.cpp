// SPDX-License-Identifier: Apache-2.0
#include "core/session/breakpoints.h"

#include <algorithm>

#include "core/api/log.h"

namespace kvlab {

int Breakpoints::add(Expression condition, BreakpointView wish) {
  wish.id = m_next++;
  wish.condition = condition.text();
  m_points.push_back({std::move(condition), std::move(wish)});
  m_views.reset();
  return m_points.back().view.id;
}

bool Breakpoints::change(const BreakpointView& wish) {
  const auto found = std::ranges::find(m_points, wish.id, [](const Point& one) { return one.view.id; });
  if (found == m_points.end()) return false;
  found->view = wish;
  found->view.condition = found->condition.text();
  m_views.reset();
  return true;
}

bool Breakpoints::remove(int id) {
  m_views.reset();
  return std::erase_if(m_points, [id](const Point& one) { return one.view.id == id; }) > 0;
}

void Breakpoints::clear() {
  m_points.clear();
  m_views.reset();
}

void Breakpoints::restore(std::vector<Point> points) {
  m_points = std::move(points);
  for (const Point& one : m_points) m_next = std::max(m_next, one.view.id + 1);
  m_views.reset();
}

void Breakpoints::startOver() {
  for (Point& one : m_points) one.view.hits = 0, one.view.last.reset();
  m_views.reset();
}

const BreakpointView* Breakpoints::find(int id) const {
  const auto found = std::ranges::find(m_points, id, [](const Point& one) { return one.view.id; });
  return found == m_points.end() ? nullptr : &found->view;
}

std::shared_ptr<const std::vector<BreakpointView>> Breakpoints::views() const {
  if (m_views || m_points.empty()) return m_views;
  std::vector<BreakpointView> all;
  for (const Point& one : m_points) all.push_back(one.view);
  return m_views = std::make_shared<const std::vector<BreakpointView>>(std::move(all));
}

bool Breakpoints::any() const {
  return std::ranges::any_of(m_points, [](const Point& one) { return one.view.enabled; });
}

bool Breakpoints::needs(Need need) const {
  return std::ranges::any_of(m_points,
                             [need](const Point& one) { return one.view.enabled && one.condition.needs(need); });
}

/// Counts a condition that holds, and logs it if it should.
bool Breakpoints::stopsAt(Point& point, const Sight& at) {
  const bool asked = point.view.enabled && point.condition.needs(Need::Stage) == at.stage.has_value();
  if (!asked || !point.condition.holds(at)) return false;
  m_views.reset();
  ++point.view.hits;
  point.view.last = at.now.state->tick;
  if (point.view.ignore > 0) {
    --point.view.ignore;
    return false;
  }
  if (point.view.logs) logInfo("tick " + std::to_string(at.now.state->tick.value()) + ": " + point.view.condition);
  return !point.view.logs;
}

/// All that hold are counted, whichever of them stops.
std::string Breakpoints::hit(const Sight& at) {
  auto stops = m_points.end();
  for (auto point = m_points.begin(); point != m_points.end(); ++point)
    if (stopsAt(*point, at) && stops == m_points.end()) stops = point;
  if (stops == m_points.end()) return {};
  std::string text = stops->view.condition;
  if (stops->view.once) m_points.erase(stops);
  return text;
}

}  // namespace kvlab
