// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/decision_model.h"

#include <QCoreApplication>
#include <algorithm>

namespace kvlab {

int decisionsIn(const FocusRound& round, bool done, bool expansions) {
  return static_cast<int>(std::ranges::count_if(
      round.decisions, [&](const FocusDecision& one) { return one.done == done && one.expand == expansions; }));
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
