// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/lanes/lanes_model.h"

#include <QCoreApplication>
#include <QStringList>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
QString none() { return QStringLiteral("–"); }

double meanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? std::nan("") : sum / static_cast<double>(values.size());
}
double valueOf(const Summary& summary, double Summary::*value) { return summary.count ? summary.*value : std::nan(""); }
}  // namespace

QString exitText(const LaneView& lane) {
  if (!lane.exit) return {};
  return QCoreApplication::translate("kvlab::LanesModel", "left after tick %1: %2")
      .arg(lane.exit->tick.value())
      .arg(QString::fromStdString(lane.exit->error.why));
}

void LanesModel::show(LanesViewPtr view) {
  const bool same = view && m_view && view->lanes.size() == m_view->lanes.size();
  if (!same) beginResetModel();
  m_view = std::move(view);
  if (!same) endResetModel();
  else emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

int LanesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !m_view ? 0 : static_cast<int>(m_view->lanes.size());
}
int LanesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QString LanesModel::text(const LaneView& lane, int row, int column) const {
  switch (column) {
    case Lane: return QStringLiteral("%1  %2").arg(row).arg(QString::fromStdString(lane.label));
    case Kl: return figureText(valueOf(lane.kl, &Summary::mean));
    case KlP99: return figureText(valueOf(lane.kl, &Summary::p99));
    case Dnll: return figureText(valueOf(lane.dnll, &Summary::mean));
    case Top1: return shareText(valueOf(lane.top1, &Summary::mean));
    case Mass: return shareText(valueOf(lane.massKept, &Summary::mean));
    case Overlap: return shareText(lane.now.meanOverlap());
    case Needles: return shareText(meanOf(lane.now.needles));
    case Rows: {
      qint64 rows = 0;
      for (const auto& map : lane.snapshot->layers) rows += static_cast<qint64>(map->resident());
      return QString::number(rows);
    }
    case Bytes: return formatBytes(lane.snapshot->bytes.live);
    case Time: return lane.us.count ? formatMicroseconds(lane.us.mean) : none();
    default: return lane.now.weightBytes ? formatBytes(lane.now.weightBytes) : QStringLiteral("0");
  }
}

QString LanesModel::tip(const LaneView& lane, int column) const {
  const QString left = exitText(lane);
  if (column == Lane)
    return QString::fromStdString(lane.label) + (left.isEmpty() ? QString() : QLatin1Char('\n') + left);
  if (column == Kl && lane.kl.count)
    return tr("mean %1, median %2, 99th percentile %3, last %4 nats over %5")
        .arg(figureText(lane.kl.mean), figureText(lane.kl.median), figureText(lane.kl.p99), figureText(lane.now.kl),
             counted(lane.kl.count, tr("tick"), tr("ticks")));
  if (column == Bytes)
    return tr("%1 of %2 allocated")
        .arg(formatBytes(lane.snapshot->bytes.live), formatBytes(lane.snapshot->bytes.allocated));
  if (column == Time && lane.us.count)
    return tr("median %1, 99th percentile %2, last %3")
        .arg(formatMicroseconds(lane.us.median), formatMicroseconds(lane.us.p99), formatMicroseconds(lane.us.last));
  return {};
}

QVariant LanesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !m_view) return {};
  const LaneView& lane = m_view->lanes[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return text(lane, index.row(), index.column());
    case Qt::ToolTipRole: {
      const QString said = tip(lane, index.column());
      return said.isEmpty() ? QVariant() : QVariant(said);
    }
    case Qt::TextAlignmentRole:
      return int((index.column() == Lane ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kMonoRole: return index.column() != Lane;
    case kBadRole: return lane.exit.has_value();
    case kToneRole:
      return static_cast<int>(lane.exit ? Tone::Ghost : index.column() == Lane ? Tone::Normal : Tone::Muted);
    default: return {};
  }
}

QVariant LanesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole)
    return QStringList{tr("Lane"),    tr("KL"),      tr("p99"),  tr("ΔNLL"),  tr("Top-1"), tr("Mass kept"),
                       tr("Overlap"), tr("Needles"), tr("Rows"), tr("Bytes"), tr("Time"),  tr("Weights")}
        .value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{
        tr("What the lane differs in from the reference"),
        tr("KL of the next token, reference against lane, mean over ticks, nats"),
        tr("99th percentile of the KL"),
        tr("What the taken tokens cost beyond the reference, mean, nats"),
        tr("Ticks whose likeliest next token is the reference's"),
        tr("Share of the reference's attention mass of the newest query on rows that the lane has, mean over layers "
           "and ticks"),
        tr("Jaccard overlap of the resident tokens with the reference's, mean over layers, now"),
        tr("Given tokens that are resident, mean over layers"),
        tr("Resident rows, all layers"),
        tr("Bytes of resident rows"),
        tr("Of a tick: own work and its rows' share of a pass made together, mean"),
        tr("Bytes of weights read for the last commit; those of a pass made together count for the reference")}
        .value(section);
  if (role == Qt::TextAlignmentRole) return int((section == Lane ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  return {};
}

}  // namespace kvlab
