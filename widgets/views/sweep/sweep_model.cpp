// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/sweep/sweep_model.h"

#include <QCoreApplication>
#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/base/theme.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {

QString figure(const std::optional<double>& value) { return value ? formatNumber(*value) : QStringLiteral("–"); }
QString share(const std::optional<double>& value) {
  return value ? QString::number(*value * 100, 'f', 1) + QStringLiteral(" %") : QStringLiteral("–");
}

constexpr const char* kMeasureOf[] = {
    "",          "",           "", "", "recall", "kl_mean", "kl_answer", "top1", "attention_kept", "needle_survival",
    "rows_kept", "bytes_live", ""};

}  // namespace

bool partOf(const SweepRow& row, const SweepPoint& point) {
  return row.prompts == point.prompts && row.ask == point.ask && row.series() == point.series &&
      row.budget == point.budget;
}

QString budgetText(const std::optional<SweepBudget>& budget) {
  if (!budget) return QStringLiteral("–");
  return budget->ratio ? formatNumber(budget->value)
                       : QCoreApplication::translate("kvlab::SweepModel", "%1 tokens").arg(budget->value, 0, 'f', 0);
}

void SweepModel::show(std::vector<SweepRow> rows, std::vector<std::string> series) {
  const bool grew = series == m_series && rows.size() > m_rows.size() &&
      std::equal(m_rows.begin(), m_rows.end(), rows.begin(),
                 [](const SweepRow& a, const SweepRow& b) { return a.id == b.id; });
  if (grew) beginInsertRows({}, rowCount(), static_cast<int>(rows.size()) - 1);
  else beginResetModel();
  m_rows = std::move(rows);
  m_series = std::move(series);
  if (grew) endInsertRows();
  else endResetModel();
}

int SweepModel::rowOf(const SweepPoint& point) const {
  const auto found =
      std::find_if(m_rows.begin(), m_rows.end(), [&](const SweepRow& row) { return partOf(row, point); });
  return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

void SweepModel::followTheme() {
  if (!m_rows.empty()) emit dataChanged(index(0, Series), index(rowCount() - 1, Series));
}

int SweepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}
int SweepModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QString SweepModel::text(const SweepRow& row, int column) const {
  switch (column) {
    case Series: return QString::fromStdString(row.series());
    case Budget: return budgetText(row.budget);
    case Seed: return QString::number(row.seed);
    case Prompts: return QString::fromStdString(row.prompts + ", " + row.ask);
    case Problem: return row.error ? QString::fromStdString(row.error->code) : QString();
    case Bytes:
      return row.measure("bytes_live") ? formatBytes(static_cast<qint64>(*row.measure("bytes_live") + 0.5))
                                       : QStringLiteral("–");
    case Kl:
    case Answer:
    case Rows: return figure(row.measure(kMeasureOf[column]));
    default: return share(row.measure(kMeasureOf[column]));
  }
}

QString SweepModel::tip(const SweepRow& row, int column) const {
  if (row.error) return QString::fromStdString(row.error->text());
  if (column == Series) return tr("cell %1, %2").arg(row.index).arg(QString::fromStdString(row.id));
  if (column == Recall && row.measure("recall"))
    return tr("%1 of %2 questions; 95 %: %3 to %4 (Wilson)")
        .arg(figure(row.measure("right")), figure(row.measure("questions")), share(row.measure("recall_low")),
             share(row.measure("recall_high")));
  if (column == Kl && row.measure("kl_mean"))
    return tr("median %1, 99th percentile %2 nats")
        .arg(figure(row.measure("kl_median")), figure(row.measure("kl_p99")));
  return {};
}

QVariant SweepModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const SweepRow& row = m_rows[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  const bool left = column == Series || column == Prompts || column == Problem;
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return text(row, column);
    case Qt::ToolTipRole: {
      const QString said = tip(row, column);
      return said.isEmpty() ? QVariant() : QVariant(said);
    }
    case Qt::TextAlignmentRole: return int((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kMonoRole: return column != Series && column != Prompts;
    case kBadRole: return row.error.has_value();
    case kToneRole:
      return static_cast<int>(column == Problem                                          ? Tone::Error
                                  : column == Series || column == Recall || column == Kl ? Tone::Normal
                                                                                         : Tone::Muted);
    case kSwatchRole: {
      const auto found = std::find(m_series.begin(), m_series.end(), row.series());
      if (column != Series || found == m_series.end()) return {};
      return m_colourOf(static_cast<int>(found - m_series.begin()), Theme::current()->dark);
    }
    default: return {};
  }
}

QVariant SweepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static constexpr const char* kTitles[] = {QT_TR_NOOP("Series"),     QT_TR_NOOP("Budget"), QT_TR_NOOP("Seed"),
                                            QT_TR_NOOP("Prompts"),    QT_TR_NOOP("Recall"), QT_TR_NOOP("KL"),
                                            QT_TR_NOOP("KL, answer"), QT_TR_NOOP("Top 1"),  QT_TR_NOOP("Attention"),
                                            QT_TR_NOOP("Needles"),    QT_TR_NOOP("Rows"),   QT_TR_NOOP("Bytes"),
                                            QT_TR_NOOP("Problem")};
  if (role == Qt::DisplayRole) return tr(kTitles[section]);
  if (role == Qt::TextAlignmentRole)
    return int((section == Series || section == Prompts || section == Problem ? Qt::AlignLeft : Qt::AlignRight) |
               Qt::AlignVCenter);
  if (role == Qt::ToolTipRole && *kMeasureOf[section]) {
    const SweepMeasure& measure = sweepMeasures()[static_cast<std::size_t>(sweepMeasure(kMeasureOf[section]))];
    return QStringLiteral("%1 (%2)").arg(
        QString::fromUtf8(measure.title.data(), static_cast<qsizetype>(measure.title.size())),
        QString::fromUtf8(measure.unit.data(), static_cast<qsizetype>(measure.unit.size())));
  }
  return {};
}

}  // namespace kvlab
