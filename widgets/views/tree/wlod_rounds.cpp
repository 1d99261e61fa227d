// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_rounds.h"

#include <QCoreApplication>
#include <QLabel>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/panes.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
constexpr int kFoot = 15, kBlock = 5;

/// Number of expansions, or of collapses, that were done, or that were refused.
int decisionsIn(const FocusRound& round, bool done, bool expansions) {
  return static_cast<int>(std::ranges::count_if(
      round.decisions, [&](const FocusDecision& one) { return one.done == done && one.expand == expansions; }));
}
}  // namespace

WlodRounds::WlodRounds(QWidget* parent)
    : QWidget(parent),
      m_strip(new WlodRoundStrip(this)),
      m_said(new QLabel(this)),
      m_model(new DecisionModel(this)),
      m_table(
          new DataTable(this, m_model, tr("Decisions of the round"),
                        tr("Candidates of the round in order of decision; select one to mark its node in the tree"))) {
  auto* column = tightColumn(this);
  m_said->setWordWrap(true);
  m_said->setTextFormat(Qt::PlainText);
  m_said->setFont(Theme::current()->small);
  m_said->setContentsMargins(Theme::kMedium, 3, Theme::kMedium, 3);
  m_said->setAccessibleName(tr("What the round did"));
  m_table->setMinimumHeight(70);
  column->addWidget(m_strip);
  column->addWidget(m_said);
  column->addWidget(m_table, 1);
  connect(m_strip, &TickPicker::picked, this, [this](Tick place) {
    m_chosen = m_strip->rounds()[at(place.value())]->round;
    showRound();
    emit roundPicked();
  });
  connect(m_table, &DataTable::chosen, this,
          [this](const QModelIndex& index) { emit decisionChosen(m_model->decision(index.row())); });
}

void WlodRounds::show(const WlodRoundStrip::Rounds& rounds) {
  const auto has =
      std::any_of(rounds.begin(), rounds.end(), [&](const auto& one) { return m_chosen && one->round == *m_chosen; });
  if (!has) m_chosen.reset();
  m_strip->show(rounds, -1);
  showRound();
}

bool WlodRounds::choose(std::optional<std::int32_t> round) {
  const auto& all = m_strip->rounds();
  if (round && std::none_of(all.begin(), all.end(), [&](const auto& one) { return one->round == *round; }))
    return false;
  m_chosen = round;
  showRound();
  return true;
}

QString WlodRounds::said() const { return m_said->text(); }

void WlodRounds::showRound() {
  const auto& all = m_strip->rounds();
  int place = static_cast<int>(all.size()) - 1;
  for (std::size_t i = 0; m_chosen && i < all.size(); ++i)
    if (all[i]->round == *m_chosen) place = static_cast<int>(i);
  m_strip->show(all, place);
  m_model->show(place < 0 ? nullptr : all[at(place)]);
  m_table->clearSelection();
  m_table->setVisible(place >= 0);
  QString text = place < 0 ? tr("No round yet: every so many tokens, and by “Refocus”, the allocator decides what to "
                                "expand and what to collapse.")
                           : roundText(*all[at(place)]);
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  if (place >= 0 && place + 1 < static_cast<int>(all.size()))
    text += tr(". ⚠ An older round: the picture shows the newest state");
  m_said->setText(text);
  follow();
}

void WlodRounds::follow() {
  const auto& all = m_strip->rounds();
  const bool older = m_model->round() && !all.empty() && m_model->round() != all.back();
  tint(m_said, older ? Theme::current()->warning : Theme::current()->muted);
}

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
      const int done = decisionsIn(round, true, up), all = std::min(most, done + decisionsIn(round, false, up));
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

QString roundText(const FocusRound& round) {
  const auto tr = [](const char* text) { return QCoreApplication::translate("kvlab::DecisionModel", text); };
  QString text = tr("round %1, tick %2: %3 → %4 of %5 entries; %6 done, %7 refused")
                     .arg(round.round)
                     .arg(round.tick.value())
                     .arg(round.before)
                     .arg(round.after)
                     .arg(round.budget)
                     .arg(decisionsIn(round, true, true) + decisionsIn(round, true, false))
                     .arg(decisionsIn(round, false, true) + decisionsIn(round, false, false));
  if (round.unlisted > 0) text += tr(", %1 more behind the limit of edits").arg(round.unlisted);
  return text;
}

namespace {
QString scoreText(double score) {
  return (score > 0 ? QStringLiteral("+") : QString()) + QString::number(score, 'f', 3);
}
QString outcomeText(const FocusDecision& one) {
  return (one.done ? QStringLiteral("✓ ") : QStringLiteral("✗ ")) + QString::fromStdString(one.code).replace('_', ' ');
}
QString stepText(const FocusDecision& one) {
  return (one.expand ? DecisionModel::tr("expand %1") : DecisionModel::tr("collapse to %1"))
      .arg(QString::fromStdString(one.node.text()));
}
}  // namespace

QString decisionText(const FocusDecision& one) {
  return stepText(one) + QStringLiteral("   ") + DecisionModel::tr("score %1").arg(scoreText(one.score)) +
      QStringLiteral("   ") + outcomeText(one) + QStringLiteral(": ") + QString::fromStdString(one.reason);
}

DecisionModel::DecisionModel(QObject* parent) : ColumnModel(parent) {
  using One = const FocusDecision&;
  add("node", tr("Node"), tr("Candidate: ▲ a gist to expand, ▼ a block to collapse into this gist"), QString(22, 'x'),
      [](One one) {
        return (one.expand ? QStringLiteral("▲ ") : QStringLiteral("▼ ")) + QString::fromStdString(one.node.text());
      })
      .with(Qt::AccessibleTextRole, stepText)
      .tips([](One one) {
        return (one.expand ? tr("expand node %1") : tr("collapse to node %1")).arg(one.node.id().value());
      });
  addNumber("score", tr("Score"),
            tr("Score from the lens: above 0 means more detail; for a collapse the highest score of the 32 entries"),
            {"-0.000", 2}, [](One one) { return scoreText(one.score); })
      .in(Tone::Muted);
  add("outcome", tr("Outcome"), tr("Decision"), QString(13, 'x'), outcomeText).words().toned([](One one) {
    return one.done ? Tone::Ok : Tone::Warning;
  });
  add("reason", tr("Reason"), tr("Reason, with the numbers"), {QString(10, 'x'), 1},
      [](One one) { return QString::fromStdString(one.reason); })
      .words()
      .in(Tone::Muted);
}

void DecisionModel::show(std::shared_ptr<const FocusRound> round) {
  if (round == m_round) return;
  beginResetModel();
  m_round = std::move(round);
  endResetModel();
}

}  // namespace kvlab
