// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/help/tour.h"

#include <QHBoxLayout>
#include <QSettings>
#include <QToolButton>
#include <utility>

#include "widgets/base/theme.h"

namespace kvlab {

namespace {

constexpr auto kPlace = "tour/caption", kClosed = "tour/closed";

QToolButton* offerButton(const QString& text, const QString& name, const QString& tip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setText(text);
  button->setAutoRaise(true);
  button->setAccessibleName(name);
  button->setToolTip(tip);
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

}  // namespace

int TourPlace::left() const { return m_kept ? QSettings().value(kPlace).toInt() : 0; }

void TourPlace::begin(int first, int captions) {
  m_running = true;
  m_captions = captions;
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

bool TourOffer::wanted() { return !QSettings().value(kClosed).toBool(); }

TourOffer::TourOffer(bool left, QWidget* parent) : QWidget(parent) {
  setObjectName("tourOffer");
  const QString what = left ? tr("Go on with the tour") : tr("New here? Take the tour: ten minutes");
  auto* take = offerButton(what, what, tr("Help > Tour and Help > Resume Tour do the same"), this);
  auto* close = offerButton(tr("Hide"), tr("Hide the offer of the tour"),
                            tr("Do not offer the tour again; Help > Tour stays"), this);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, Theme::kSmall, 0);
  row->setSpacing(Theme::kSmall);
  row->addWidget(take);
  row->addWidget(close);
  connect(take, &QToolButton::clicked, this, [this] {
    hide();
    emit taken();
  });
  connect(close, &QToolButton::clicked, this, [this] {
    QSettings().setValue(kClosed, true);
    hide();
  });
}

}  // namespace kvlab
