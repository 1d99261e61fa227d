// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in matrix_paint.cpp.
#include "widgets/canvas/matrix_canvas.h"

#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {
constexpr int kRuler = 22, kOverview = 12;
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

}  // namespace kvlab
