// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/decision_model.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "widgets/table/data_table.h"

namespace kvlab {

int doneIn(const FocusRound& round, bool expansions) {
  return static_cast<int>(std::count_if(round.decisions.begin(), round.decisions.end(), [&](const FocusDecision& one) {
    return one.done && one.expand == expansions;
  }));
}

int refusedIn(const FocusRound& round) {
  return static_cast<int>(std::count_if(round.decisions.begin(), round.decisions.end(),
                                        [](const FocusDecision& one) { return !one.done; }));
}

QString roundText(const FocusRound& round) {
  const auto tr = [](const char* text) { return QCoreApplication::translate("kvlab::DecisionModel", text); };
  QString text = tr("round %1, tick %2: %3 → %4 of %5 entries; %6 done, %7 refused")
                     .arg(round.round)
                     .arg(round.tick.value())
                     .arg(round.before)
                     .arg(round.after)
                     .arg(round.budget)
                     .arg(doneIn(round, true) + doneIn(round, false))
                     .arg(refusedIn(round));
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
}  // namespace

QString decisionText(const FocusDecision& one) {
  const auto tr = [](const char* text) { return QCoreApplication::translate("kvlab::DecisionModel", text); };
  return (one.expand ? tr("expand %1") : tr("collapse to %1")).arg(QString::fromStdString(one.node.text())) +
      QStringLiteral("   ") + tr("score %1").arg(scoreText(one.score)) + QStringLiteral("   ") + outcomeText(one) +
      QStringLiteral(": ") + QString::fromStdString(one.reason);
}

void DecisionModel::show(std::shared_ptr<const FocusRound> round) {
  if (round == m_round) return;
  beginResetModel();
  m_round = std::move(round);
  endResetModel();
}

int DecisionModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !m_round ? 0 : static_cast<int>(m_round->decisions.size());
}
int DecisionModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QString DecisionModel::text(const FocusDecision& decision, int column) const {
  switch (column) {
    case Node:
      return (decision.expand ? QStringLiteral("▲ ") : QStringLiteral("▼ ")) +
          QString::fromStdString(decision.node.text());
    case Score: return scoreText(decision.score);
    case Outcome: return outcomeText(decision);
    default: return QString::fromStdString(decision.reason);
  }
}

QVariant DecisionModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !m_round) return {};
  const FocusDecision& one = decision(index.row());
  switch (role) {
    case Qt::DisplayRole: return text(one, index.column());
    case Qt::AccessibleTextRole:
      return index.column() == Node
          ? (one.expand ? tr("expand %1") : tr("collapse to %1")).arg(QString::fromStdString(one.node.text()))
          : text(one, index.column());
    case Qt::ToolTipRole:
      return index.column() == Node
          ? QVariant((one.expand ? tr("expand node %1") : tr("collapse to node %1")).arg(one.node.id().value()))
          : QVariant();
    case Qt::TextAlignmentRole:
      return int((index.column() == Score ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case kMonoRole: return index.column() == Node || index.column() == Score;
    case kToneRole:
      return static_cast<int>(index.column() == Outcome    ? (one.done ? Tone::Ok : Tone::Warning)
                                  : index.column() == Node ? Tone::Normal
                                                           : Tone::Muted);
    default: return {};
  }
}

QVariant DecisionModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole) return QStringList{tr("Node"), tr("Score"), tr("Outcome"), tr("Reason")}.value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{tr("The candidate: ▲ a gist to expand, ▼ a block to collapse to this gist"),
                       tr("What the lens gave it: above 0 wants detail; for a collapse the highest of the 32 entries"),
                       tr("What became of it"), tr("Why, with the figures")}
        .value(section);
  if (role == Qt::TextAlignmentRole) return int((section == Score ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

}  // namespace kvlab
