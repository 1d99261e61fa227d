// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/lanes/lanes_model.h"

#include <QCoreApplication>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/views/lanes/lane_compare.h"

namespace kvlab {
namespace {
double meanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? std::nan("") : sum / static_cast<double>(values.size());
}
double valueOf(const Summary& summary, double Summary::*value) { return summary.count ? summary.*value : std::nan(""); }

QString laneTip(LaneLine line) {
  const QString left = exitText(line.lane), label = QString::fromStdString(line->label);
  return left.isEmpty() ? label : label + QLatin1Char('\n') + left;
}

QString klTip(LaneLine line) {
  const Summary& kl = line->kl;
  if (!kl.count) return {};
  return LanesModel::tr("mean %1, median %2, 99th percentile %3, last %4 nats over %5")
      .arg(figureText(kl.mean), figureText(kl.median), figureText(kl.p99), figureText(line->now.kl),
           counted(kl.count, LanesModel::tr("tick"), LanesModel::tr("ticks")));
}

QString bytesTip(LaneLine line) {
  return LanesModel::tr("%1 of %2 allocated")
      .arg(formatBytes(line->snapshot->bytes.live), formatBytes(line->snapshot->bytes.allocated));
}

QString timeTip(LaneLine line) {
  const Summary& us = line->us;
  if (!us.count) return {};
  return LanesModel::tr("median %1, 99th percentile %2, last %3")
      .arg(formatMicroseconds(us.median), formatMicroseconds(us.p99), formatMicroseconds(us.last));
}

QString rowsText(LaneLine line) {
  qint64 rows = 0;
  for (const auto& map : line->snapshot->layers) rows += static_cast<qint64>(map->resident());
  return QString::number(rows);
}
}  // namespace

QString exitText(const LaneView& lane) {
  if (!lane.exit) return {};
  return QCoreApplication::translate("kvlab::LanesModel", "left after tick %1: %2")
      .arg(lane.exit->tick.value())
      .arg(QString::fromStdString(lane.exit->error.why));
}

LanesModel::LanesModel(QObject* parent) : ColumnModel(parent) {
  add("lane", tr("Lane"), tr("Manifest keys in which the lane differs from the reference"), QString(19, 'x'),
      [](LaneLine line) { return QStringLiteral("%1  %2").arg(line.place).arg(QString::fromStdString(line->label)); })
      .words()
      .tips(laneTip)
      .toned([](LaneLine line) { return line->exit ? Tone::Ghost : Tone::Normal; });
  addFigure(
      "kl", tr("KL"), tr("KL divergence of the next token, reference against lane, mean over ticks, in nats"),
      "0.0e-00", 11, [](LaneLine line) { return figureText(valueOf(line->kl, &Summary::mean)); }, klTip);
  addFigure("kl_p99", tr("p99"), tr("99th percentile of the KL divergence"), "0.0e-00", 2,
            [](LaneLine line) { return figureText(valueOf(line->kl, &Summary::p99)); });
  addFigure("dnll", tr("ΔNLL"), tr("Negative log-likelihood of the taken tokens above the reference, mean, in nats"),
            "-0.0e-00", 9, [](LaneLine line) { return figureText(valueOf(line->dnll, &Summary::mean)); });
  addFigure("top1", tr("Top-1"), tr("Share of ticks whose most likely next token equals the reference's"), "100.0 %", 6,
            [](LaneLine line) { return shareText(valueOf(line->top1, &Summary::mean)); });
  addFigure(
      "mass_kept", tr("Mass kept"),
      tr("Attention of the reference's newest query on rows that are resident in the lane, mean over layers and ticks"),
      "Mass kept", 10, [](LaneLine line) { return shareText(valueOf(line->massKept, &Summary::mean)); });
  addFigure(
      "attention_error", tr("Error"),
      tr("Error of attention over the resident rows, against all rows, for the newest token: the mean over layers "
         "and query heads. Run > Measure Attention Error measures all lanes"),
      "0.0e-00", 5, [](LaneLine line) { return figureText(attentionError(line.lane)); });
  addFigure("overlap", tr("Overlap"),
            tr("Present Jaccard overlap of resident tokens with the reference, mean over layers"), "100.0 %", 7,
            [](LaneLine line) { return shareText(line->now.meanOverlap()); });
  addFigure("needles", tr("Needles"), tr("Share of the needles that are resident, mean over layers"), "Needles", 3,
            [](LaneLine line) { return shareText(meanOf(line->now.needles)); });
  addFigure("rows", tr("Rows"), tr("Resident rows, all layers"), "99999", 4, rowsText);
  addFigure(
      "bytes", tr("Bytes"), tr("Bytes of resident rows"), "99.9 KiB", 8,
      [](LaneLine line) { return formatBytes(line->snapshot->bytes.live); }, bytesTip);
  addFigure(
      "time", tr("Time"), tr("Mean time of a tick: the lane's own work, and its rows' share of a common pass"),
      "99.9 ms", 5,
      [](LaneLine line) { return line->us.count ? formatMicroseconds(line->us.mean) : QStringLiteral("–"); }, timeTip);
  addFigure(
      "weights", tr("Weights"), tr("Bytes of weights read for the last commit; a common pass counts for the reference"),
      "99.9 MiB", 1,
      [](LaneLine line) { return line->now.weightBytes ? formatBytes(line->now.weightBytes) : QStringLiteral("0"); });
  withLines(kBadRole, [](LaneLine line) { return line->exit.has_value(); });
}

void LanesModel::addFigure(const char* id, const QString& title, const QString& tip, const char* width, int gives,
                           QString (*text)(LaneLine), QString (*said)(LaneLine)) {
  Column& column = addNumber(id, title, tip, {width, gives}, text);
  column.toned([](LaneLine line) { return line->exit ? Tone::Ghost : Tone::Muted; });
  if (said) column.tips(said);
}

void LanesModel::show(LanesViewPtr view) {
  const bool same = view && m_view && view->lanes.size() == m_view->lanes.size();
  if (!same) beginResetModel();
  m_view = std::move(view);
  if (same) changed();
  else endResetModel();
}

namespace {

QString withExit(const LaneView& lane) {
  const QString left = exitText(lane);
  return (left.isEmpty() ? QString() : QLatin1Char(' ') + left) + QLatin1Char('\n');
}

}  // namespace

QString cellLines(const LanesView& view) {
  QString out;
  const std::vector<LaneCells> cells = laneCells(view);
  for (std::size_t lane = 0; lane < cells.size(); ++lane) {
    out += QStringLiteral("lane %1:").arg(lane);
    for (int layer = 0; layer < static_cast<int>(cells[lane].layers.size()); ++layer)
      out += QStringLiteral(" layer %1 same %2 lost %3 more %4 gone %5;")
                 .arg(layer)
                 .arg(cells[lane].count(layer, LaneCell::Same))
                 .arg(cells[lane].count(layer, LaneCell::Lost))
                 .arg(cells[lane].count(layer, LaneCell::Extra))
                 .arg(cells[lane].count(layer, LaneCell::Gone));
    out += withExit(view.lanes[lane]);
  }
  return out;
}

QString lossLines(const LanesView& view) {
  QString out;
  const std::vector<LaneLosses> all = laneLosses(view);
  for (std::size_t lane = 0; lane < all.size(); ++lane) {
    const LaneLosses& losses = all[lane];
    out += QStringLiteral("lane %1: %2 of %3 tokens measured")
               .arg(lane)
               .arg(losses.measured)
               .arg(view.lanes[lane].taken.size());
    if (losses.any())
      out += QStringLiteral("; %1 mean %2, most %3 at %4, least %5 at %6")
                 .arg(lane ? "loss above lane 0:" : "loss:", figureText(losses.mean),
                      figureText(static_cast<double>(losses.at(losses.most))))
                 .arg(losses.most)
                 .arg(figureText(static_cast<double>(losses.at(losses.least))))
                 .arg(losses.least);
    out += withExit(view.lanes[lane]);
  }
  return out;
}

}  // namespace kvlab
