// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/focus_trail.h"

#include <QScopedValueRollback>

namespace kvlab {
namespace {

/// The same place, whatever the tick that a running session has come to.
bool samePlace(const Focus& a, const Focus& b) {
  return a.layer == b.layer && a.head == b.head && a.ledger == b.ledger && a.position == b.position;
}

}  // namespace

FocusTrail::FocusTrail(InspectorContext& context, QObject* parent) : QObject(parent), m_context(context) {
  connect(&context, &InspectorContext::focusChanged, this, &FocusTrail::note);
  connect(&context, &InspectorContext::sessionChanged, this, [this] {
    m_places.clear();
    m_here = 0;
    emit changed();
  });
}

void FocusTrail::note() {
  if (m_going) return;
  Focus place = m_context.focus();
  if (m_context.snapshot()) place.tick = m_context.snapshot()->tick;
  const bool soon = m_since.isValid() && m_since.elapsed() < kMoment;
  m_since.start();
  if (!m_places.empty()) {
    Focus& here = m_places[m_here];
    // A running session moves the tick of the place, a person the place.
    if (samePlace(here, place) && (m_context.following() || here.tick == place.tick)) {
      here.tick = place.tick;
      return;
    }
    m_places.resize(m_here + 1);
    if (soon && m_here > 0) m_places.pop_back();
  }
  m_places.push_back(place);
  if (m_places.size() > kLongest) m_places.erase(m_places.begin());
  m_here = m_places.size() - 1;
  emit changed();
}

/// A tick whose state is gone stays as it is; the row is focused all the same.
void FocusTrail::go(std::size_t place) {
  if (place >= m_places.size()) return;
  m_here = place;
  const QScopedValueRollback going(m_going, true);
  const Focus wanted = m_places[m_here];
  if (m_context.snapshot() && m_context.snapshot()->tick != wanted.tick) m_context.showTick(wanted.tick);
  Focus next = m_context.focus();
  next.layer = wanted.layer;
  next.head = wanted.head;
  m_context.setFocus(next);
  m_context.focusLedger(wanted.ledger);
  emit changed();
}

}  // namespace kvlab
