// SPDX-License-Identifier: GPL-3.0-or-later
// The cells are painted as one image, in vector pictures as shapes; everything else is drawn for the visible range
// only.
#include "widgets/canvas/matrix_canvas.h"

#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/figure_cells.h"
#include "widgets/figure/figure.h"

namespace kvlab {
namespace {
constexpr int kRuler = 22, kOverview = 12;

constexpr int kNameTall = 13, kTextTall = 15;
constexpr double kLinesApart = 6, kRowsApart = 7;  // pixels per line, and per item, from which they stand apart
constexpr int kHatching = 6;

QSize imageSize(const QRect& area, double dpr) {
  return {static_cast<int>(std::lround(area.width() * dpr)), static_cast<int>(std::lround(area.height() * dpr))};
}
}  // namespace

int MatrixParts::top(int line) const {
  const int gaps = group > 0 ? std::min(line, lines - 1) / group * gap : 0;
  return cells.top() + static_cast<int>(std::lround(tall * line)) + gaps - scrolled;
}

QRectF MatrixParts::line(int line) const {
  const int from = top(line), gapBelow = group > 0 && line + 1 < lines && (line + 1) % group == 0 ? gap : 0;
  return QRectF(cells.left(), from, cells.width(), top(line + 1) - from - gapBelow);
}

int MatrixParts::lineAt(double y) const {
  if (y < cells.top() || y > cells.bottom()) return -1;
  for (int i = 0; i < lines; ++i)
    if (y < top(i + 1)) return i;
  return -1;
}

MatrixParts matrixParts(const MatrixShape& s, QSize size, int scrolled) {
  MatrixParts p;
  p.lines = s.lines, p.group = s.group, p.gap = s.gap, p.scrolled = scrolled;
  const int wide = std::max(1, size.width() - s.gutter - s.right), foot = s.readout ? kReadout : 0;
  const int tokens = size.height() < kRuler + s.tokens + s.leastRoom + s.legend + foot ? 0 : s.tokens;
  p.ruler = QRect(s.gutter, 0, wide, kRuler);
  p.tokens = QRect(s.gutter, kRuler, wide, tokens);
  p.readout = QRect(0, size.height() - foot, size.width(), foot);
  p.legend = QRect(Theme::kMedium, p.readout.top() - s.legend, size.width() - 2 * Theme::kMedium, s.legend);
  int below = p.legend.top() - Theme::kMedium;
  if (s.overview) {
    p.overview = QRect(s.gutter, below - kOverview, wide, kOverview);
    below = p.overview.top() - Theme::kMedium;
  }
  const int top = kRuler + tokens + Theme::kSmall, groups = s.group > 0 ? std::max(0, s.lines / s.group - 1) : 0;
  const int room = std::max(1, below - top - groups * s.gap);
  p.tall = std::clamp(static_cast<double>(room) / std::max(1, s.lines), double(s.lowest), double(s.tallest));
  if (p.tall > 3) p.tall = std::floor(p.tall);
  const int all = static_cast<int>(std::lround(p.tall * s.lines)) + groups * s.gap;
  p.cells = QRect(s.gutter, top, wide, s.lowest > 0 ? std::min(all, room) : all);
  return p;
}

MatrixCanvas::MatrixCanvas(InspectorContext& context, QWidget* parent)
    : AxisCanvas(context, parent), m_bar(new QScrollBar(Qt::Vertical, this)) {
  setMinimumSize(160, 90);
  m_bar->hide();
  connect(m_bar, &QScrollBar::valueChanged, this, [this] {
    m_image = QImage();
    update();
  });
  connect(&context, &InspectorContext::focusChanged, this, [this] { setAccessibleDescription(readout()); });
}

void MatrixCanvas::changed() {
  m_overall = QImage();
  m_legend = -1;
  if (!inside(hovered())) forgetHover();
  arrange();
  setAccessibleDescription(readout());
}

void MatrixCanvas::resizeEvent(QResizeEvent*) {
  m_legend = -1;
  arrange();
}

/// Lines that do not fit get a scroll bar, which takes room of the axis.
void MatrixCanvas::arrange() {
  const MatrixParts p = parts();
  const int wide = m_bar->sizeHint().width(), hidden = p.allTall() - p.cells.height();
  m_bar->setGeometry(width() - wide, 0, wide, height());
  m_bar->setVisible(hidden > 0);
  m_bar->setRange(0, std::max(0, hidden));
  m_bar->setPageStep(p.cells.height());
  m_bar->setSingleStep(static_cast<int>(p.tall));
  place();
}

bool MatrixCanvas::scrollLines(int pixels) {
  m_bar->setValue(m_bar->value() + pixels);
  return m_bar->maximum() > 0;
}

void MatrixCanvas::reveal() {
  const int line = focusLine();
  const MatrixParts p = parts();
  if (line >= 0 && line < lines() && m_bar->maximum() > 0) {
    const QRectF box = p.line(line);
    if (box.top() < p.cells.top()) scrollLines(static_cast<int>(box.top()) - p.cells.top());
    else if (box.bottom() > p.cells.bottom() + 1) scrollLines(static_cast<int>(box.bottom()) - p.cells.bottom() - 1);
  }
  revealFocus();
}

MatrixParts MatrixCanvas::parts() const {
  MatrixShape s = shape();
  s.lines = lines();
  if (m_legend < 0) {
    const auto entries = legend(*Theme::current());
    m_legend = entries.empty() ? 0 : legendHeight(entries, width() - 2 * Theme::kMedium) + Theme::kTight;
  }
  s.legend = m_legend;
  if (axis().scale < kTokenScale) s.tokens = 0;
  return matrixParts(s, {width() - (m_bar->isHidden() ? 0 : m_bar->width()), height()}, m_bar->value());
}

bool MatrixCanvas::inside(CanvasCell cell) const {
  return cell.line >= 0 && cell.line < lines() && cell.item >= 0 && cell.item < items();
}

QRectF MatrixCanvas::cellBox(const MatrixParts& p, CanvasCell cell) const {
  const QRectF line = p.line(cell.line);
  return {line.left() + std::ceil(axis().pixel(cell.item) - 1e-6), line.top(), std::max(1.0, axis().scale),
          line.height()};
}

/// Ruler and texts above the cells are items without a line.
CanvasCell MatrixCanvas::cellAt(QPoint point) const {
  const MatrixParts p = parts();
  const bool beside = point.x() < p.cells.left() || point.x() > p.cells.right() || point.y() > p.cells.bottom();
  const int item = beside ? -1 : axis().at(point.x() - p.cells.left());
  return {item < 0 ? -1 : p.lineAt(point.y()), item};
}

CanvasCell MatrixCanvas::pointed() const { return points() ? hovered() : focusCell(); }

QString MatrixCanvas::itemText(int item) const {
  const SnapshotPtr own = of();
  return own && item < own->length() ? shortTokenText(*own, own->context[at(item)]) : QString();
}

QRect MatrixCanvas::rowRect(Position position) const {
  const SnapshotPtr shown = context().snapshot();
  if (!shown || lines() == 0 || position.value() < 0 || position.value() >= shown->length()) return {};
  const int item = itemOf(position, shown->context[at(position)]);
  const MatrixParts p = parts();
  const CanvasCell cell{std::clamp(focusLine(), 0, lines() - 1), item};
  return item < 0 ? QRect() : cellBox(p, cell).toAlignedRect().intersected(p.cells);
}

QString MatrixCanvas::tsv(const std::function<QString(int line)>& title,
                          const std::function<float(CanvasCell)>& value) const {
  const SnapshotPtr own = of();
  if (!own) return {};
  QStringList head{"position", "ledger", "token"};
  for (int line = 0; line < lines(); ++line) head << title(line);
  QString out = tsvLine(head);
  for (int row = 0; row < std::min(items(), own->length()); ++row) {
    const LedgerId id = own->context[at(row)];
    QStringList texts{QString::number(row), QString::number(id.value()), tokenText(*own, id)};
    for (int line = 0; line < lines(); ++line) {
      const float one = value({line, row});
      texts << (std::isnan(one) ? QString() : QString::number(static_cast<double>(one)));
    }
    out += tsvLine(texts);
  }
  return out;
}

void MatrixCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (lines() == 0) return;
  m_legend = -1;  // it may name the focus
  const MatrixParts p = parts();
  if (m_dark != theme.dark) m_image = m_overall = QImage();
  m_dark = theme.dark;
  paintCells(painter, p, theme);
  paintRuler(painter, p.ruler, width(), axis(), theme);
  paintNames(painter, p, theme);
  painter.save();
  const int edge = of() ? 0 : 2;
  painter.setClipRect(QRect(p.cells.left() - edge, 0, p.cells.width() + 2 * edge, height()));
  paintTokenTexts(
      painter, p.tokens, axis(), focusCell().item, [this](int item) { return itemText(item); }, theme);
  paintTexts(painter, p, theme);
  paintSelected(painter, p, theme);
  paintOver(painter, p, theme);
  paintWrong(painter, p, theme);
  paintCrossHair(painter, p, theme);
  painter.restore();
  if (!p.overview.isEmpty()) paintOverview(painter, p, theme);
  paintLegend(painter, p.legend, legend(theme), theme);
  if (p.readout.height() > 0) paintReadout(painter, p.readout, readout(), hint(), theme, note(), !findings().empty());
}

void MatrixCanvas::paintCells(QPainter& painter, const MatrixParts& p, const Theme& theme) {
  const Cells from = cells(theme);
  if (!from.values) {
    painter.save();
    painter.setClipRect(p.cells);
    for (int line = 0; line < lines(); ++line)
      if (const QRectF box = p.line(line); box.bottom() > p.cells.top() && box.top() <= p.cells.bottom())
        paintLine(painter, box, line, theme);
    return painter.restore();
  }
  if (paintsFigure(painter)) return paintFigureCells(painter, p, from, theme);
  const double dpr = painter.deviceTransform().m11();
  if (m_image.size() != imageSize(p.cells, dpr)) m_image = cellImage(p, from, dpr, theme);
  painter.drawImage(p.cells.topLeft(), m_image);
}

void MatrixCanvas::paintFigureCells(QPainter& painter, const MatrixParts& p, const Cells& from,
                                    const Theme& theme) const {
  CellPlaces places{QRectF(p.cells), axis().first, axis().scale};
  for (int line = 0; line <= lines(); ++line) places.tops.push_back(p.top(line));
  if (p.tall >= kLinesApart) places.between = 1;
  if (axis().scale >= kRowsApart) places.beside = 1;
  if (cellsInSight(*from.values, places) <= kMostCellShapes)
    return paintCellShapes(painter, *from.values, places, from.colours, theme);
  painter.drawImage(p.cells.topLeft(), cellImage(p, from, figureScale(p.cells.size()), theme));
}

/// If lines and items are large enough, gaps separate them.
QImage MatrixCanvas::cellImage(const MatrixParts& p, const Cells& from, double dpr, const Theme& theme) const {
  const auto pixels = [dpr](int length) { return static_cast<int>(std::lround(length * dpr)); };
  QImage image(imageSize(p.cells, dpr), QImage::Format_RGB32);
  if (image.isNull()) return image;
  std::vector<int> tops;
  for (int line = 0; line <= lines(); ++line) tops.push_back(pixels(p.top(line) - p.cells.top()));
  from.values->blit(image, axis().first, axis().scale * dpr, tops,
                    {from.colours, theme.surface.rgb(), pixels(kHatching)});
  image.setDevicePixelRatio(dpr);
  QPainter gaps(&image);
  for (int line = 1; p.tall >= kLinesApart && line < lines(); ++line)
    gaps.fillRect(QRectF(0, p.top(line) - p.cells.top(), p.cells.width(), 1), theme.surface);
  const auto [begin, end] = axis().inSight();
  for (int item = begin; axis().scale >= kRowsApart && item < end; ++item)
    gaps.fillRect(QRectF(std::ceil(axis().pixel(item) * dpr - 1e-6) / dpr, 0, 1, p.cells.height()), theme.surface);
  return image;
}

/// Selected rows that lie side by side share a frame, and a bar below the ruler.
void MatrixCanvas::paintSelected(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  const SnapshotPtr own = of();
  if (!own || context().selection().empty()) return;
  const auto [begin, seen] = axis().inSight();
  const int end = std::min(seen, own->length());
  const auto marked = [&](int row) { return row < end && context().selected(own->context[at(row)]); };
  for (int row = begin; row < end; ++row) {
    if (!marked(row)) continue;
    const double left = cellBox(p, {0, row}).left();
    while (marked(row + 1)) ++row;
    const double wide = std::max(3.0, cellBox(p, {0, row}).right() - left);
    paintOutline(painter, QRectF(left, p.cells.top(), wide, p.cells.height()), theme.accent, 1, theme);
    painter.fillRect(QRectF(left, p.ruler.bottom() - 2, wide, 3), theme.accent);
  }
}

/// As many names as fit; the chosen lines and the wrong ones always have theirs.
void MatrixCanvas::paintNames(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  const int focus = focusLine(), room = p.cells.left() - 7;
  int every = 1;
  while (p.tall * every < kNameTall) every *= 2;
  painter.save();
  const QRect beside(0, p.cells.top(), width(), p.cells.height());
  painter.setClipRect(p.scrolls() ? beside : beside.adjusted(0, -kNameTall, 0, kNameTall));
  painter.setFont(theme.monoSmall);
  for (int line = 0; line < lines(); ++line) {
    const bool wrong = lineIsWrong(line), chosen = lineIsChosen(line);
    const bool near = std::abs(p.top(line) - p.top(focus)) < kNameTall;
    if (!wrong && !chosen && (line % every || near)) continue;
    const QRectF box = p.line(line);
    const double tall = std::max<double>(kNameTall, box.height());
    painter.setPen(wrong ? theme.error : chosen ? theme.text : theme.faint);
    painter.drawText(QRectF(0, box.center().y() - tall / 2, room, tall), Qt::AlignRight | Qt::AlignVCenter,
                     (wrong ? QStringLiteral("✕") : QString()) + lineName(line));
    const LineFigure figure = lineFigure(line);
    painter.setPen(figure.wrong ? theme.error : theme.muted);
    painter.drawText(QRectF(box.right() + 6, box.center().y() - tall / 2, width() - box.right(), tall),
                     Qt::AlignLeft | Qt::AlignVCenter, figure.text);
  }
  painter.restore();
  painter.setFont(theme.small);
  painter.setPen(theme.faint);
  if (const QString word = figureWord(); !word.isEmpty()) {
    const QRect box(p.ruler.right() + 1, 0, width() - p.ruler.right() - 1, p.ruler.height() - 1);
    painter.fillRect(box, theme.raised);
    painter.drawText(box.adjusted(6, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, word);
  }
  painter.drawText(QRect(0, 0, room, p.ruler.height()), Qt::AlignRight | Qt::AlignVCenter, lineWord());
}

void MatrixCanvas::paintTexts(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  if (axis().scale < kWideScale || p.tall < kTextTall) return;
  const Cells from = cells(theme);
  if (!from.values) return;
  painter.setFont(theme.monoSmall);
  const QFontMetrics metrics = painter.fontMetrics();
  const auto [begin, end] = axis().inSight();
  for (int line = 0; line < lines(); ++line)
    for (int item = begin; item < end; ++item) {
      const std::uint8_t index = from.values->at(line, item);
      if (index < kFirstColour) continue;
      painter.setPen(readableOn(from.colours[index]));
      const QRectF box = cellBox(p, {line, item});
      painter.drawText(box, Qt::AlignCenter,
                       metrics.elidedText(cellText({line, item}), Qt::ElideRight, static_cast<int>(box.width()) - 4));
    }
}

/// A finding without a layer marks the row in all lines, one without a row the whole line. Lines of the same layer
/// share a mark.
void MatrixCanvas::paintWrong(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  if (!of()) return;
  const auto [begin, end] = axis().inSight();
  for (const FindingMark& one : findings().all()) {
    const bool whole = one.row.value() < 0;
    const int item = whole ? -1 : itemOf(Position(one.position), one.row);
    if ((!one.layer && whole) || (!whole && (item < begin || item >= end))) continue;
    const auto marked = [&](int line) { return one.concerns(layerOf(line)); };
    for (int first = 0; first < lines(); ++first) {
      if (!marked(first)) continue;
      int last = first;
      while (last + 1 < lines() && marked(last + 1)) ++last;
      const QRectF top = cellBox(p, {first, item}), bottom = cellBox(p, {last, item});
      QRectF box(top.topLeft(), bottom.bottomRight());
      if (whole) box.setLeft(p.cells.left() + 3), box.setRight(p.cells.right() - 2);
      if (!p.seen(box).isEmpty()) paintFinding(painter, p.seen(box), theme);
      first = last;
    }
  }
}

void MatrixCanvas::paintCrossHair(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  const auto frame = [&](const QRectF& whole, const QColor& colour, int wide) {
    const QRectF box = p.seen(whole);
    if (p.scrolls() && box.isEmpty()) return;
    paintOutline(painter,
                 QRectF(std::round(box.left()), box.top(), std::max(3.0, std::round(box.width())), box.height()),
                 colour, wide, theme);
  };
  const auto column = [&](int item) {
    const QRectF cell = cellBox(p, {0, item});
    return QRectF(cell.left(), p.cells.top(), cell.width(), p.cells.height());
  };
  const bool rows = of() != nullptr;
  if (const int item = hoveredItem(); item >= 0) {
    if (rows) painter.fillRect(column(item), Theme::faded(theme.hover, 30));
    if (hovered().line >= 0 && hovered().line < lines()) frame(cellBox(p, {hovered().line, item}), theme.hover, 1);
  }
  const CanvasCell focus = focusCell();
  const bool line = focus.line >= 0 && focus.line < lines();
  if (line && shape().frameLine) frame(p.line(focus.line), Theme::faded(theme.focus, 150), 1);
  if (focus.item < 0) return;
  if (rows) frame(column(focus.item), Theme::faded(theme.focus, 150), 1);
  if (line) frame(cellBox(p, focus), theme.focus, 2);
  if (rows) paintArrow(painter, QPointF(column(focus.item).center().x(), p.ruler.bottom() + 0.5), -6, theme.focus);
}

/// The largest index of all lines in each of so many columns.
std::vector<std::uint8_t> MatrixCanvas::overall(const Cells& from, int columns) const {
  std::vector<std::uint8_t> best(at(columns)), line(best.size());
  for (int l = 0; l < lines(); ++l) {
    from.values->line(l, 0, columns / std::max(1.0, axis().count), line);
    for (std::size_t x = 0; x < best.size(); ++x) best[x] = std::max(best[x], line[x]);
  }
  return best;
}

void MatrixCanvas::paintOverview(QPainter& painter, const MatrixParts& p, const Theme& theme) {
  const Cells from = cells(theme);
  const int pixels = static_cast<int>(std::lround(p.overview.width() * painter.deviceTransform().m11()));
  const double perItem = p.overview.width() / std::max(1.0, axis().count);
  if (from.values && paintsFigure(painter)) {
    MaxPyramid one;
    one.assign(1, pixels, overall(from, pixels));
    const QRectF area(p.overview);
    paintCellShapes(painter, one, {area, 0, area.width() / pixels, {area.top(), area.bottom()}}, from.colours, theme);
  } else {
    if (from.values && m_overall.width() != pixels) {
      m_overall = QImage(pixels, 1, QImage::Format_RGB32);
      const std::vector<std::uint8_t> best = overall(from, pixels);
      for (std::size_t x = 0; x < best.size(); ++x) m_overall.setPixel(static_cast<int>(x), 0, from.colours[best[x]]);
    }
    painter.drawImage(p.overview, m_overall);
  }
  const double left = p.overview.left() + axis().first * perItem, wide = std::max(6.0, axis().visible() * perItem);
  const QColor shade = Theme::faded(theme.surface, 170);
  painter.fillRect(QRectF(p.overview.left(), p.overview.top(), left - p.overview.left(), p.overview.height()), shade);
  painter.fillRect(QRectF(left + wide, p.overview.top(), p.overview.right() + 1 - left - wide, p.overview.height()),
                   shade);
  for (const FindingMark& one : findings().all())
    if (const int item = itemOf(Position(one.position), one.row); item >= 0)
      painter.fillRect(QRectF(p.overview.left() + item * perItem - 1, p.overview.top() - 3, 3, p.overview.height() + 6),
                       theme.error);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(theme.focus);
  painter.drawRect(QRectF(std::round(left), p.overview.top() - 1, std::round(wide) - 1, p.overview.height() + 1));
}

}  // namespace kvlab
