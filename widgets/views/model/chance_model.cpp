// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/model/chance_model.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/token_text.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
QString percent(double p) {
  const double value = p * 100;
  return QString::number(value, 'f', value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3) + QStringLiteral(" %");
}

QString change(double by) {
  if (std::abs(by) < 5e-5) return QStringLiteral("=");
  return (by > 0 ? QStringLiteral("▲ ") : QStringLiteral("▼ ")) + QString::number(std::abs(by) * 100, 'f', 2);
}
}  // namespace

void ChanceModel::show(std::vector<TokenChance> now, const std::vector<TokenChance>& before) {
  beginResetModel();
  m_now = std::move(now);
  m_compared = !before.empty();
  m_before.clear();
  for (const TokenChance& chance : m_now) {
    const auto was =
        std::find_if(before.begin(), before.end(), [&](const TokenChance& other) { return other.id == chance.id; });
    m_before.push_back(was == before.end() ? std::nullopt : std::optional(was->p));
  }
  endResetModel();
}

double ChanceModel::covered() const {
  double sum = 0;
  for (const TokenChance& chance : m_now) sum += static_cast<double>(chance.p);
  return sum;
}

int ChanceModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_now.size());
}

int ChanceModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QVariant ChanceModel::text(std::size_t row, int column) const {
  const TokenChance& chance = m_now[row];
  switch (column) {
    case Rank: return static_cast<int>(row) + 1;
    case Text: return visibleText(QString::fromStdString(chance.text));
    case Probability: return percent(static_cast<double>(chance.p));
    case Change:
      if (!m_compared) return QString();
      return m_before[row] ? change(static_cast<double>(chance.p - *m_before[row])) : tr("new");
    case Id: return chance.id.value();
    default: return {};
  }
}

QVariant ChanceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto row = static_cast<std::size_t>(index.row());
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return text(row, index.column());
    case kMonoRole: return true;
    case kToneRole:
      return static_cast<int>(index.column() == Text         ? Tone::Normal
                                  : index.column() == Change ? Tone::Muted
                                                             : Tone::Faint);
    case ShareRole: return static_cast<double>(m_now[row].p);
    case BeforeRole: return m_before[row] ? QVariant(static_cast<double>(*m_before[row])) : QVariant();
    case Qt::ToolTipRole:
      return tr("token %1 %2: p = %3")
          .arg(m_now[row].id.value())
          .arg(visibleText(QString::fromStdString(m_now[row].text)))
          .arg(static_cast<double>(m_now[row].p), 0, 'g', 6);
    case Qt::TextAlignmentRole:
      return index.column() == Text || index.column() == Probability ? int(Qt::AlignLeft | Qt::AlignVCenter)
                                                                     : int(Qt::AlignRight | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant ChanceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole)
    return QStringList{tr("#"), tr("Token"), tr("Probability"), tr("Change"), tr("Id")}.value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{tr("Rank"), tr("Text of the token; · is a space"),
                       tr("Of the whole vocabulary, before sampling; the mark is the tick before"),
                       tr("Against the tick before, in points of a hundred"),
                       tr("Number of the token in the vocabulary")}
        .value(section);
  if (role == Qt::TextAlignmentRole)
    return section == Text || section == Probability ? int(Qt::AlignLeft | Qt::AlignVCenter)
                                                     : int(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

}  // namespace kvlab
