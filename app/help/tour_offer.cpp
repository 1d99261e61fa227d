// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/help/tour_offer.h"

#include <QHBoxLayout>
#include <QSettings>
#include <QToolButton>

#include "widgets/base/theme.h"

namespace kvlab {

namespace {

constexpr auto kClosed = "tour/closed";

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
