// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the lanes. Large cells have patterns. If tokens share a pixel, the largest difference is shown. By
// losses: lane 0 in the colours of the surprise, the others by their difference to it; wide cells have a sign or a
// number.
#include "widgets/views/lanes/lanes_canvas.h"

#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/views/lanes/lanes_model.h"

namespace kvlab {
namespace {
constexpr double kNeedle = 5;  // height of the arrow that points at a needle from below the band

constexpr int kLeastText = 8;        // pixels of a letter's height that can still be read
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

QColor laneColour(LaneCell cell, const Theme& theme) {
  switch (cell) {
    case LaneCell::Same: return Theme::mix(theme.surface, theme.accent, theme.dark ? 0.62 : 0.58);
    case LaneCell::Extra: return Theme::mix(theme.surface, theme.ok, theme.dark ? 0.85 : 0.80);
    case LaneCell::Lost: return Theme::mix(theme.surface, theme.warning, theme.dark ? 0.42 : 0.32);
    default: return theme.sunken;
  }
}

void paintLaneCell(QPainter& painter, const QRectF& box, LaneCell cell, const Theme& theme) {
  painter.fillRect(box, laneColour(cell, theme));
  if (box.width() < 5 || box.height() < 7) return;
  painter.save();
  painter.setClipRect(box);
  painter.setRenderHint(QPainter::Antialiasing);
  if (cell == LaneCell::Lost || cell == LaneCell::Gone) {
    painter.setPen(QPen(cell == LaneCell::Lost ? theme.warning : theme.missing, cell == LaneCell::Lost ? 1.4 : 1.0));
    for (double at = box.left() - box.height(); at < box.right(); at += 6)
      painter.drawLine(QPointF(at, box.bottom()), QPointF(at + box.height(), box.top()));
  }
  if (cell == LaneCell::Extra) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.surface);
    painter.drawEllipse(box.center(), 1.8, 1.8);
  }
  painter.restore();
}

void LanesCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (!m_view) return;
  const Parts p = parts();
  if (noLosses()) return paintNoLosses(painter, rect(), theme);
  paintRuler(painter, p.ruler, width(), axis(), theme);
  painter.setFont(theme.small);
  painter.drawText(QRect(0, 0, p.ruler.left() - 7, p.ruler.height()), Qt::AlignRight | Qt::AlignVCenter, tr("lane"));
  painter.save();
  painter.setClipRect(p.tokens);
  const LaneView& first = m_view->lanes.front();
  paintTokenTexts(
      painter, p.tokens, axis(), focusToken(),
      [&first](int token) { return shortTokenText(*first.snapshot, first.taken[at(token)]); }, theme);
  painter.restore();
  painter.save();
  painter.setClipRect(QRect(0, p.lanes.top(), width(), p.legend.top() - p.lanes.top()));
  for (int lane = 0; lane < lanes(); ++lane) {
    const QRect box = band(lane);
    if (p.caption) paintCaption(painter, lane, QRect(box.left(), box.top() - kCaption, box.width(), kCaption), theme);
    else paintName(painter, lane, QRect(0, box.top(), box.left() - 7, box.height()), theme);
    paintBand(painter, lane, box, theme);
    if (p.caption) paintLayers(painter, box, theme);
  }
  paintFindings(painter, p, theme);
  paintMarks(painter, p, theme);
  painter.restore();
  paintLegend(painter, p.legend, legend(theme), theme);
}

/// Numbers of lost rows and of those that only this lane has.
QString LanesCanvas::rowsText(int lane) const {
  const LaneCells& cells = m_cells[at(lane)];
  if (cells.layers.empty()) return {};
  int lost = 0, extra = 0;
  for (int line = 0; line < shownLayers(); ++line) {
    if (at(lineIn(line)) >= cells.layers.size()) continue;
    lost += cells.count(lineIn(line), LaneCell::Lost);
    extra += cells.count(lineIn(line), LaneCell::Extra);
  }
  const QString out = lost ? tr("%1 lost").arg(lost) : QString();
  if (extra) return out + (out.isEmpty() ? QString() : QStringLiteral("   ")) + tr("%1 more").arg(extra);
  return lane > 0 && out.isEmpty() ? tr("as the reference") : out;
}

/// Paints the lane's name at the left; at the right its lost rows, or its losses, and the reason why the lane left.
void LanesCanvas::paintCaption(QPainter& painter, int lane, const QRect& box, const Theme& theme) const {
  const LaneView& view = m_view->lanes[at(lane)];
  const QFontMetrics small(theme.small);
  QRect room = box;
  const auto right = [&](const QString& text, const QColor& colour) {
    const QString shown = small.elidedText(text, Qt::ElideRight, room.width() * 3 / 5);
    if (shown.isEmpty()) return;
    painter.setFont(theme.small);
    painter.setPen(colour);
    painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, shown);
    room.setRight(room.right() - small.horizontalAdvance(shown) - Theme::kLarge);
  };
  if (!m_losses.empty()) right(lossText(lane, small, room.width() * 3 / 5), theme.muted);
  else if (!view.exit) right(rowsText(lane), theme.muted);
  right(exitText(view), theme.error);
  const bool wrong = !m_findings[at(lane)].empty();
  painter.setFont(lane == m_lane ? theme.smallStrong : theme.small);
  painter.setPen(wrong ? theme.error : lane == m_lane ? theme.text : theme.faint);
  painter.drawText(QRect(0, box.top(), box.left() - 7, box.height()), Qt::AlignRight | Qt::AlignVCenter,
                   (wrong ? QStringLiteral("✕") : QString()) + QString::number(lane));
  painter.setPen(lane == m_lane ? theme.text : theme.muted);
  painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(QString::fromStdString(view.label), Qt::ElideRight, room.width()));
}

/// Paints number and name of a lane in one line, for lanes without a caption.
void LanesCanvas::paintName(QPainter& painter, int lane, const QRect& box, const Theme& theme) const {
  const LaneView& view = m_view->lanes[at(lane)];
  QFont font = lane == m_lane ? theme.smallStrong : theme.small;
  font.setPixelSize(std::clamp(box.height(), kLeastText, QFontInfo(font).pixelSize()));  // lanes may be lower than text
  painter.setFont(font);
  const bool wrong = !m_findings[at(lane)].empty();
  painter.setPen(wrong ? theme.error : lane == m_lane ? theme.text : view.exit ? theme.error : theme.muted);
  const QFontMetrics metrics = painter.fontMetrics();
  const QString text = QStringLiteral("%1%2  %3")
                           .arg(wrong ? QStringLiteral("✕ ") : QString())
                           .arg(lane)
                           .arg(QString::fromStdString(view.label));
  painter.drawText(QRect(box.left() + Theme::kMedium, box.center().y() - metrics.height() / 2,
                         box.width() - Theme::kMedium, metrics.height()),
                   Qt::AlignLeft | Qt::AlignVCenter,
                   metrics.elidedText(text, Qt::ElideRight, box.width() - Theme::kMedium));
}

/// Paints layer numbers next to their lines; if lines are too low, only that of the focused layer.
void LanesCanvas::paintLayers(QPainter& painter, const QRect& band, const Theme& theme) const {
  if (shownLayers() < 2) return;
  painter.setFont(theme.monoSmall);
  const int tall = painter.fontMetrics().height() - 3, focus = context().focus().layer.value();
  for (int line = 0; line < shownLayers(); ++line) {
    const QRectF box = lineOf(band, line);
    const int layer = lineIn(line) / m_per, head = lineIn(line) % m_per;
    if ((layer != focus || head > 0) && box.height() < tall) continue;
    painter.setPen(layer == focus ? theme.text : theme.faint);
    painter.drawText(QRectF(0, box.center().y() - 8, band.left() - 7, 16), Qt::AlignRight | Qt::AlignVCenter,
                     m_per > 1 && box.height() >= tall ? QStringLiteral("%1.%2").arg(layer).arg(head)
                                                       : layerText(*m_view->lanes.front().snapshot, CacheLayer(layer)));
  }
}

void LanesCanvas::paintBand(QPainter& painter, int lane, const QRect& box, const Theme& theme) const {
  if (!m_losses.empty()) return paintLosses(painter, lane, box, theme);
  const LaneCells& cells = m_cells[at(lane)];
  const int lines = shownLayers();
  painter.fillRect(box, theme.surface);
  const double gap = lines > 1 && box.height() / lines >= 6 ? 1 : 0;
  for (int line = 0; line < lines; ++line) {
    const auto layer = at(lineIn(line));
    if (layer >= cells.layers.size() || !cells.layers[layer]) continue;
    const QRectF place = lineOf(box, line);
    if (place.height() < 1) continue;  // more layers than pixels: skip layers without a pixel
    paintLine(painter, *cells.layers[layer], place.adjusted(0, 0, 0, -gap), theme);
  }
}

void LanesCanvas::paintLine(QPainter& painter, const std::vector<LaneCell>& cells, const QRectF& line,
                            const Theme& theme) const {
  if (axis().scale < 3) {
    std::array<QRgb, kLaneCells> colours;
    for (int i = 0; i < kLaneCells; ++i) colours[at(i)] = laneColour(static_cast<LaneCell>(i), theme).rgb();
    return paintFine(painter, line, cells.size(), colours, [&](std::size_t begin, std::size_t end) {
      return static_cast<int>(std::ranges::max(std::span(cells).subspan(begin, end - begin)));
    });
  }
  const auto [begin, end] = axis().inSight();
  const double gap = axis().scale >= 6 ? 1 : 0;
  for (int i = begin; i < end && i < static_cast<int>(cells.size()); ++i) {
    QRectF cell = cellOf(line, i);
    if (cell.isEmpty()) continue;
    cell.setWidth(std::max(1.0, cell.width() - gap));
    paintLaneCell(painter, cell, cells[at(i)], theme);
  }
}

QRectF LanesCanvas::cellOf(const QRectF& box, int token) const {
  const double left = std::max(box.left(), box.left() + std::round(axis().pixel(token)));
  const double right = std::min(box.right(), box.left() + std::round(axis().pixel(token + 1)));
  return {left, box.top(), right - left, box.height()};
}

void LanesCanvas::paintFine(QPainter& painter, const QRectF& box, std::size_t tokens, std::span<const QRgb> colours,
                            const std::function<int(std::size_t begin, std::size_t end)>& indexOf) const {
  const auto indexAt = [&](int x) {
    const auto begin = static_cast<std::size_t>(std::max(0.0, std::floor(axis().item(x))));
    const double end = std::max(std::ceil(axis().item(x + 1)), static_cast<double>(begin) + 1);
    return begin < tokens ? indexOf(begin, std::min(tokens, static_cast<std::size_t>(end))) : -1;
  };
  const int width = static_cast<int>(box.width());
  int index = indexAt(0);
  for (int x = 0; x < width;) {
    int run = x + 1, next = index;
    while (run < width && (next = indexAt(run)) == index) ++run;
    const QRectF columns(box.left() + x, box.top(), run - x, box.height());
    if (index >= 0) painter.fillRect(columns, QColor(colours[at(index)]));
    x = run, index = next;
  }
}

/// Findings of the layers that are shown.
void LanesCanvas::paintFindings(QPainter& painter, const Parts& p, const Theme& theme) const {
  for (int lane = 0; lane < lanes(); ++lane)
    for (const FindingMark& one : m_findings[at(lane)].all()) {
      const int token = one.row.value() < 0 ? -1 : placeOf(m_view->lanes[at(lane)], one.row);
      if (token < 0 || axis().pixel(token + 1) <= 0 || axis().pixel(token) >= axis().extent) continue;
      for (int line = 0; line < shownLayers(); ++line) {
        const int own = static_cast<int>(m_view->lanes[at(lane)].snapshot->layers.size()) * lineIn(line) /
            std::max(1, layers() * m_per);
        if (!m_byLoss && !one.concerns(CacheLayer(own))) continue;
        const QRectF box = lineOf(band(lane), line);
        paintFinding(painter,
                     QRectF(p.lanes.left() + std::round(axis().pixel(token)), box.top(),
                            std::max(2.0, std::round(axis().scale)), box.height()),
                     theme);
      }
    }
}

/// Marks needles, the focused token and the token under the pointer in all lanes.
void LanesCanvas::paintMarks(QPainter& painter, const Parts& p, const Theme& theme) const {
  const double wide = std::max(2.0, std::round(axis().scale));
  const auto column = [&](int token) { return QRectF(p.lanes.left() + std::round(axis().pixel(token)), 0, wide, 0); };
  const auto seen = [&](int token) {
    return token >= 0 && axis().pixel(token + 1) > 0 && axis().pixel(token) < axis().extent;
  };
  for (const std::int32_t needle : m_view->needles)
    for (int lane = 0; seen(needle) && lane < lanes(); ++lane)
      paintArrow(painter, {column(needle).center().x(), band(lane).bottom() + 1.5}, kNeedle, theme.text);
  const int focus = focusToken(), under = tokenOf(context().hovered());
  for (int lane = 0; lane < lanes(); ++lane) {
    const QRect box = band(lane);
    const auto frame = [&](int token, const QColor& colour, int thick) {
      if (!seen(token)) return;
      const int layer = context().focus().layer.value();
      QRectF cell(column(token).left() - 0.5, box.top() - 0.5, wide, box.height());
      paintOutline(painter, cell, colour, m_layer ? thick : 1, theme);
      if (m_layer || thick < 2 || layer < 0 || (layer + 1) * m_per > shownLayers()) return;
      const QRectF line = lineOf(box, layer * m_per), last = lineOf(box, (layer + 1) * m_per - 1);
      cell.setTop(line.top() - 0.5), cell.setBottom(last.bottom() - 0.5);
      if (cell.height() >= 3) paintOutline(painter, cell, colour, thick, theme);
    };
    if (under != focus) frame(under, theme.hover, 1);
    frame(focus, theme.focus, lane == m_lane ? 2 : 1);
  }
}

std::vector<LegendEntry> LanesCanvas::legend(const Theme& theme) const {
  constexpr int kRoom = 15;
  std::vector<LegendEntry> out;
  if (!m_losses.empty()) out = lossLegend(theme);
  const auto add = [&](LaneCell cell, const QString& words) {
    out.push_back({words, kRoom, [cell, &theme](QPainter& painter, const QRect& box) {
                     paintLaneCell(painter, QRectF(box.left(), box.center().y() - 4, 10, 10), cell, theme);
                   }});
  };
  if (m_losses.empty()) {
    add(LaneCell::Same, tr("resident"));
    add(LaneCell::Lost, tr("lost: lane 0 has it"));
    add(LaneCell::Extra, tr("more: lane 0 has lost it"));
    add(LaneCell::Gone, tr("gone in both"));
  }
  if (m_view && !m_view->needles.empty())
    out.push_back({tr("needle"), kRoom, [&theme](QPainter& painter, const QRect& box) {
                     paintArrow(painter, QPointF(box.left() + 5, box.center().y() - 2), kNeedle, theme.text);
                   }});
  if (anyFinding()) out.push_back(findingLegend(theme));
  return out;
}

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
