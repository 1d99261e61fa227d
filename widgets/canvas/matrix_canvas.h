// SPDX-License-Identifier: GPL-3.0-or-later
// Base class of painted matrices: lines from top to bottom (layers, heads, queries), items along the axis (rows of a
// context, dimensions of a head). It places ruler, texts of the items, names of the lines, cells, overview, legend and
// readout, finds the cell under the pointer, and marks the focused, the hovered, the selected and the wrong cells. A
// subclass defines by hooks the lines, the content of the cells and their readout. Owned by a view. GUI thread.
// Device-independent pixels.
#pragma once
#include <QImage>

#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/canvas/max_pyramid.h"

class QScrollBar;

namespace kvlab {

/// The requirements of a matrix.
struct MatrixShape {
  int lines = 0;
  int gutter = 34, right = 10;  // beside the cells: the names of the lines, and an edge
  int tokens = 0;               // height of the texts above the cells; 0 = none
  int leastRoom = 0;            // height that the other parts need beside the texts
  int tallest = 64;             // largest height of a line
  int lowest = 0;               // least height of a line; lines that do not fit then scroll
  int group = 0, gap = 0;       // lines that stand together, and the gap before the next ones
  int legend = 0;               // height
  bool overview = false, readout = true;
  bool frameLine = false;  // the focused line has a frame
};

/// The places of the parts of a painted matrix. A value; any thread. Device-independent pixels.
struct MatrixParts {
  QRect ruler, tokens, cells, overview, legend, readout;
  double tall = 0;  // height of a line
  int lines = 0, group = 0, gap = 0, scrolled = 0;
  /// Height of the lines, also of those out of sight.
  int allTall() const { return top(lines) + scrolled - cells.top(); }
  /// The part of a box within the cells, while lines are out of sight.
  QRectF seen(const QRectF& box) const { return scrolls() ? box & QRectF(cells) : box; }
  bool scrolls() const { return allTall() > cells.height(); }
  int top(int line) const;
  QRectF line(int line) const;
  /// -1 = above or below all lines.
  int lineAt(double y) const;
};

/// `scrolled`: pixels of the lines that are above the cells.
MatrixParts matrixParts(const MatrixShape& shape, QSize size, int scrolled);

class MatrixCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  MatrixCanvas(InspectorContext& context, QWidget* parent);

  /// Place of a row of the shown context in the focused line, for a line to type in.
  QRect rowRect(Position position) const;
  /// Middle of a cell.
  QPointF middleOf(CanvasCell cell) const { return cellBox(parts(), cell).center(); }
  /// Scrolls and pans until the focused cell is visible.
  void reveal();
  /// The cells as tab-separated values: a line per row of the context, a column per line of the matrix.
  QString tsv(const std::function<QString(int line)>& title, const std::function<float(CanvasCell)>& value) const;

 protected:
  /// The cells that are painted as one image.
  struct Cells {
    const MaxPyramid* values = nullptr;
    ColourTable colours;
  };

  /// A figure at the right of a line.
  struct LineFigure {
    QString text;
    bool wrong = false;
  };

  virtual MatrixShape shape() const = 0;
  virtual Cells cells(const Theme&) const { return {}; }
  virtual int focusLine() const { return context().focus().layer.value(); }
  virtual QString lineName(int line) const = 0;
  /// The name of the line stands out.
  virtual bool lineIsChosen(int line) const { return line == focusLine(); }
  virtual QString lineWord() const { return tr("layer"); }
  virtual bool lineIsWrong(int) const { return false; }
  virtual LineFigure lineFigure(int) const { return {}; }
  virtual QString figureWord() const { return {}; }
  virtual QString itemText(int item) const;
  /// A text within a cell that is large enough.
  virtual QString cellText(CanvasCell) const { return {}; }
  virtual std::vector<LegendEntry> legend(const Theme&) const { return {}; }
  /// The text of the readout while no cell is read out, and a remark at its right.
  virtual QString hint() const { return {}; }
  virtual QString note() const { return {}; }
  virtual void paintLine(QPainter&, const QRectF&, int /*line*/, const Theme&) {}
  /// Marks of the view, above the cells and below the cross-hair.
  virtual void paintOver(QPainter&, const MatrixParts&, const Theme&) {}
  virtual QRectF cellBox(const MatrixParts& parts, CanvasCell cell) const;

  MatrixParts parts() const;
  /// The cell under the pointer, else the focused one.
  CanvasCell pointed() const;
  bool points() const { return inside(hovered()); }
  /// Call when the cells have changed.
  void changed();

  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override { return {focusLine(), focusItem()}; }
  QRect axisArea() const override { return parts().cells; }
  QRect overviewArea() const override { return parts().overview; }
  void axisMoved() override { m_image = QImage(); }
  bool scrollLines(int pixels) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  bool inside(CanvasCell cell) const;
  void arrange();
  void paintCells(QPainter& painter, const MatrixParts& parts, const Theme& theme);
  void paintFigureCells(QPainter& painter, const MatrixParts& parts, const Cells& from, const Theme& theme) const;
  QImage cellImage(const MatrixParts& parts, const Cells& from, double dpr, const Theme& theme) const;
  void paintSelected(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintNames(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintTexts(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintWrong(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintCrossHair(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  std::vector<std::uint8_t> overall(const Cells& from, int columns) const;
  void paintOverview(QPainter& painter, const MatrixParts& parts, const Theme& theme);

  QScrollBar* m_bar;          // scrolls the lines
  QImage m_image, m_overall;  // images of the cells, in device pixels; null = outdated
  bool m_dark = true;         // the theme of the images
  mutable int m_legend = -1;  // height; -1 = outdated
};

}  // namespace kvlab
