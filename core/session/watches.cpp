// SPDX-License-Identifier: Apache-2.0
#include "core/session/watches.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/session/observe.h"

namespace kvlab {
namespace {

decltype(WatchView::value) shownValue(const WatchValue& value) {
  if (const double* number = std::get_if<double>(&value)) {
    if (std::isfinite(*number)) return *number;
    return {};
  }
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  return std::get<std::string>(value);
}

}  // namespace

int Watches::add(Expression expression) {
  m_watches.push_back({m_next, std::move(expression)});
  forget();
  return m_next++;
}

bool Watches::remove(int id) {
  forget();
  return std::erase_if(m_watches, [id](const Watch& one) { return one.id == id; }) > 0;
}

void Watches::clear() {
  forget();
  m_watches.clear();
}

void Watches::restore(std::vector<std::pair<int, Expression>> watches) {
  clear();
  for (auto& [id, expression] : watches) {
    m_watches.push_back({id, std::move(expression)});
    m_next = std::max(m_next, id + 1);
  }
}

std::vector<WatchView> Watches::list() const {
  std::vector<WatchView> out;
  for (const Watch& one : m_watches) out.push_back({one.id, one.expression.text()});
  return out;
}

void Watches::ask(Session& session) {
  const int entry = session.timeline().currentId();
  if (m_asking || entry == m_asked) return;
  m_asking = true;
  try {
    m_views = asked(session);
    m_asked = entry;
  } catch (const std::bad_alloc&) {  // the next state asks again
  }
  m_asking = false;
}

std::shared_ptr<const std::vector<WatchView>> Watches::asked(Session& session) const {
  std::vector<WatchView> views = list();
  if (views.empty()) return nullptr;
  // A measurement that several watches ask for is made once.
  const Sight now = sightNow(session, [this](Need need) {
    return std::ranges::any_of(m_watches, [need](const Watch& one) { return one.expression.needs(need); });
  });
  for (std::size_t i = 0; i < views.size(); ++i) views[i].value = shownValue(m_watches[i].expression.value(now));
  return std::make_shared<const std::vector<WatchView>>(std::move(views));
}

}  // namespace kvlab
