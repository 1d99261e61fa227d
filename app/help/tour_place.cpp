// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/help/tour_place.h"

#include <QSettings>
#include <utility>

namespace kvlab {

namespace {
constexpr auto kPlace = "tour/caption";
}

int TourPlace::left() const { return m_kept ? QSettings().value(kPlace).toInt() : 0; }

void TourPlace::begin(int first) {
  m_running = true;
  m_first = first;
  m_shown = 0;
}

bool TourPlace::passes() {
  if (!m_running) return false;
  if (++m_shown < m_first) return true;
  keep(m_shown);
  return false;
}

void TourPlace::end(bool whole) {
  if (std::exchange(m_running, false) && whole) keep(0);
}

int TourPlace::again() { return std::exchange(m_again, 0); }

void TourPlace::keep(int caption) const {
  if (m_kept) QSettings().setValue(kPlace, caption);
}

}  // namespace kvlab
