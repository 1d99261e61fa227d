// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the lanes by losses: lane 0 in the colours of the surprise, the others by their difference to it. If
// tokens share a pixel, the largest difference is shown. Wide cells have a sign or a number.
#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/views/lanes/lanes_canvas.h"

namespace kvlab {
namespace {

constexpr int kBar = 120;            // a colour bar of the legend
constexpr double kSignScale = 9;     // pixels per token from which signs fit
constexpr double kNumberScale = 34;  // and numbers
constexpr float kSigned = 0.25f;     // place in the range from which a difference has a sign
constexpr int kWideLegend = 560;     // width from which the legend has all its words
const QString kBetween = QStringLiteral("   ");

QString number(double value) { return QString::number(value, 'g', 3); }

/// "+0.31", "−12.4", "0"; "~0" for values that two decimals do not show.
QString cellText(double value, const QString& sign) {
  const double size = std::abs(value);
  if (size < 0.005) return size > 0 ? QStringLiteral("~0") : QStringLiteral("0");
  return sign + QString::number(size, 'f', size < 9.995 ? 2 : 1);
}

/// A bar of colours with texts at both ends.
LegendEntry barEntry(const QString& before, const QString& after, const ColourTable& table, const Theme& theme) {
  const int wide = QFontMetrics(theme.small).horizontalAdvance(before) + Theme::kSmall + 1;
  return {after, wide + kBar + Theme::kSmall + 1, [before, wide, table, &theme](QPainter& painter, const QRect& box) {
            painter.setFont(theme.small);
            painter.setPen(theme.muted);
            painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, before);
            const QRect bar(box.left() + wide, box.center().y() - 4, kBar, 10);
            paintColours(painter, bar, table);
            painter.setPen(theme.border);
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(bar.adjusted(0, 0, -1, -1));
          }};
}

}  // namespace

QString differenceText(double value) {
  if (std::isnan(value)) return QStringLiteral("–");
  return (value > 0 ? QStringLiteral("+") : value < 0 ? QStringLiteral("−") : QString()) + number(std::abs(value));
}

ColourTable differenceColours(const Theme& theme) {
  ColourTable table{};
  table[0] = theme.missing.rgb();
  for (int i = 1; i < 256; ++i) {
    const double place = (i - 128) / 127.0;
    table[at(i)] = Theme::mix(theme.sunken, place < 0 ? theme.accent : theme.warning, std::abs(place)).rgb();
  }
  return table;
}

float LanesCanvas::bentPlace(int lane, float value) const {
  return std::copysign(m_apart.of(lane - 1).unit(std::abs(value)), value);
}

/// Index of a lane's value in its table; 0 = not measured.
int LanesCanvas::lossIndex(int lane, float value) const {
  if (lane == 0) return m_surprise.first().index(value);
  const float place = bentPlace(lane, value);
  return std::isnan(place) ? 0 : 128 + static_cast<int>(std::lround(place * 127));
}

void LanesCanvas::paintLosses(QPainter& painter, int lane, const QRect& box, const Theme& theme) const {
  const ColourTable table = lane == 0 ? colourTable(Quantity::Surprise, theme) : differenceColours(theme);
  painter.fillRect(box, unmeasuredBrush(theme));
  const std::span<const float> values = m_losses[at(lane)].values;
  if (axis().scale < 3)
    return paintFine(painter, box, values.size(), table, [&](std::size_t begin, std::size_t end) {
      const int index = lossIndex(lane, strongest(values.subspan(begin, end - begin)));
      return index > 0 ? index : -1;
    });
  const auto [begin, end] = axis().inSight();
  const int gap = axis().scale >= 6 ? 1 : 0;
  for (int i = begin; i < end && i < static_cast<int>(values.size()); ++i) {
    const int index = lossIndex(lane, values[at(i)]);
    QRectF cell = cellOf(box, i);
    if (index == 0 || cell.isEmpty()) continue;
    if (gap) painter.fillRect(cell, theme.surface);
    cell.setWidth(std::max(1.0, cell.width() - gap));
    painter.fillRect(cell, QColor(table[at(index)]));
    paintSign(painter, lane, cell, values[at(i)], table[at(index)], theme);
  }
}

/// The number of a wide cell; the sign of a narrower one, if its difference is large.
void LanesCanvas::paintSign(QPainter& painter, int lane, const QRectF& cell, float value, QRgb ground,
                            const Theme& theme) const {
  const bool numbers = axis().scale >= kNumberScale;
  if (axis().scale < kSignScale || cell.height() < QFontMetrics(theme.monoSmall).height()) return;
  if (!numbers && (lane == 0 || std::abs(bentPlace(lane, value)) < kSigned)) return;
  const double shown = static_cast<double>(value);
  painter.setFont(numbers ? theme.small : theme.monoSmall);
  painter.setPen(readableOn(ground));
  const QString sign = shown < 0 ? QStringLiteral("−") : lane > 0 && shown > 0 ? QStringLiteral("+") : QString();
  painter.drawText(cell, Qt::AlignCenter, numbers ? cellText(shown, sign) : sign);
}

/// "mean +0.031 nats   most +2.13 at 512 ‹cellar›   least −0.4 at 88 ‹the›", or as much of it as fits.
QString LanesCanvas::lossText(int lane, const QFontMetrics& metrics, int room) const {
  const LaneLosses& losses = m_losses[at(lane)];
  const LaneView& first = m_view->lanes.front();
  if (!losses.any()) return tr("not measured");
  if (lane > 0 && losses.flat()) return tr("as the reference");
  const auto figure = [lane](double value) { return lane ? differenceText(value) : number(value); };
  const auto extreme = [&](const QString& words, int token) {
    const QString text =
        metrics.elidedText(shortTokenText(*first.snapshot, first.taken[at(token)]), Qt::ElideRight, 90);
    return kBetween + words.arg(figure(static_cast<double>(losses.at(token))), QString::number(token), text);
  };
  const QString mean = tr("mean %1 nats").arg(figure(losses.mean));
  const QString most = extreme(tr("most %1 at %2 ‹%3›"), losses.most);
  const QString least = lane ? extreme(tr("least %1 at %2 ‹%3›"), losses.least) : QString();
  for (const QString& text : {mean + most + least, mean + most})
    if (metrics.horizontalAdvance(text) <= room) return text;
  return mean;
}

QString LanesCanvas::lossReadout(int token) const {
  QString out;
  const double base = static_cast<double>(m_losses.front().at(token));
  for (int lane = 0; lane < lanes(); ++lane) {
    const auto value = static_cast<double>(m_losses[at(lane)].at(token));
    const Column<float>& own = m_view->lanes[at(lane)].losses;
    const double loss = at(token) < own.size() ? static_cast<double>(own[at(token)]) : std::nan("");
    out += kBetween + tr("lane %1 ").arg(lane);
    if (std::isnan(loss)) out += tr("not measured");
    else
      out += lane == 0 || std::isnan(base) ? tr("%1 nats").arg(number(loss))
                                           : tr("%1 (%2)").arg(number(loss), differenceText(value));
  }
  return out;
}

std::vector<LegendEntry> LanesCanvas::lossLegend(const Theme& theme) const {
  std::vector<LegendEntry> out;
  if (m_losses.front().any())
    out.push_back(barEntry(tr("lane 0: 0"), tr("%1 nats").arg(number(static_cast<double>(m_surprise.first().high))),
                           colourTable(Quantity::Surprise, theme), theme));
  if (std::any_of(m_losses.begin() + 1, m_losses.end(), [](const LaneLosses& lane) { return lane.any(); })) {
    const bool own = m_apart.lines.size() > 1;
    const double end = static_cast<double>(m_apart.first().high);
    const QString least = own ? tr("least") : differenceText(-end), most = own ? tr("most") : differenceText(end);
    const bool wide = width() >= kWideLegend;
    out.push_back(barEntry(wide ? tr("less surprised than lane 0: %1").arg(least) : tr("less %1").arg(least),
                           wide ? tr("%1 nats: more surprised").arg(most) : tr("%1 nats: more").arg(most),
                           differenceColours(theme), theme));
  }
  out.push_back({legendWords({m_apart}), 0, [](QPainter&, const QRect&) {}});
  out.push_back({tr("not measured"), 15, [&theme](QPainter& painter, const QRect& box) {
                   painter.fillRect(QRect(box.left(), box.center().y() - 4, 10, 10), unmeasuredBrush(theme));
                 }});
  return out;
}

/// Paints a hint on how to measure losses if nothing was measured.
void LanesCanvas::paintNoLosses(QPainter& painter, const QRect& room, const Theme& theme) const {
  const QRect column = room.adjusted(Theme::kHuge, 0, -Theme::kHuge, 0);
  const int middle = column.top() + column.height() * 2 / 5;
  painter.setFont(theme.strong);
  painter.setPen(theme.muted);
  painter.drawText(QRect(column.left(), column.top(), column.width(), middle - column.top()),
                   Qt::AlignHCenter | Qt::AlignBottom | Qt::TextWordWrap, tr("No token has a loss yet"));
  painter.setFont(theme.ui);
  painter.setPen(theme.faint);
  painter.drawText(QRect(column.left(), middle + Theme::kMedium, column.width(), column.bottom() - middle),
                   Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, noLossesHow());
}

QString LanesCanvas::noLossesHow() {
  return tr(
      "Step the lanes, or score a text: lab.current().score(\"…\") in the console, lanes.score(\"…\") in a script. "
      "Prompts are not measured");
}

}  // namespace kvlab
