// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_round_strip.h"

#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "widgets/base/theme.h"
#include "widgets/views/tree/decision_model.h"

namespace kvlab {
namespace {
constexpr int kFoot = 15, kBlock = 5;

int refused(const FocusRound& round, bool expansions) {
  return static_cast<int>(std::count_if(round.decisions.begin(), round.decisions.end(), [&](const FocusDecision& one) {
    return !one.done && one.expand == expansions;
  }));
}
}  // namespace

WlodRoundStrip::WlodRoundStrip(QWidget* parent) : ScrolledTicks(parent) {
  setFixedHeight(64);
  setAccessibleName(tr("Rounds of the focus allocator"));
  setToolTip(
      tr("Rounds of the focus allocator, newest at the right; click or arrow keys show the decisions of a round"));
}

void WlodRoundStrip::show(Rounds rounds, int chosen) {
  m_rounds = std::move(rounds);
  setShown(Tick(chosen));
  reveal();
}

QRectF WlodRoundStrip::column(int place) const { return {leftOf(place), 0, kColumn - 2.0, height() - 1.0}; }

QString WlodRoundStrip::describe(int place) const { return roundText(*m_rounds[at(place)]); }

void WlodRoundStrip::paintEvent(QPaintEvent*) {
  const auto theme = Theme::current();
  QPainter painter(this);
  painter.fillRect(rect(), theme->surface);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme->border);
  const double middle = std::round((height() - kFoot) / 2.0);
  const int most = static_cast<int>((middle - 3) / kBlock);
  for (int place = first(); place < end(); ++place) {
    const FocusRound& round = *m_rounds[at(place)];
    const QRectF box = column(place);
    if (place == shown()) {
      painter.fillRect(box, theme->selection);
      painter.fillRect(QRectF(box.left(), box.top(), box.width(), 2), theme->accent);
    }
    const double left = std::round(box.center().x()) - 8;
    for (const bool up : {true, false}) {
      const int done = doneIn(round, up), all = std::min(most, done + refused(round, up));
      for (int i = 0; i < all; ++i) {
        const QRectF block(left, up ? middle - (i + 1) * kBlock : middle + 2 + i * kBlock, 16, kBlock - 1);
        if (i < done) {
          painter.fillRect(block, up ? theme->accent : theme->ok);
          continue;
        }
        painter.setPen(theme->faint);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(block.adjusted(0.5, 0.5, -0.5, -0.5));
      }
    }
    painter.fillRect(QRectF(box.left() + 6, middle, box.width() - 12, 1), theme->faint);
    painter.setFont(theme->monoSmall);
    painter.setPen(place == shown() ? theme->text : theme->muted);
    painter.drawText(QRectF(box.left(), box.bottom() - kFoot, box.width(), kFoot), Qt::AlignCenter,
                     QString::number(round.round));
  }
  const double right = column(end()).left();
  painter.setFont(theme->small);
  painter.setPen(theme->faint);
  const QString up = tr("▲ expansions"), down = tr("▼ collapses"), hollow = tr("hollow: refused");
  const int wide = painter.fontMetrics().horizontalAdvance(hollow);
  if (right + wide + 2 * kSide > width()) return;
  const QRectF room(right, 2, width() - right - kSide, 18);
  painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, up);
  painter.drawText(room.translated(0, 20), Qt::AlignRight | Qt::AlignVCenter, hollow);
  painter.drawText(room.translated(0, 40), Qt::AlignRight | Qt::AlignVCenter, down);
}

}  // namespace kvlab
