// SPDX-License-Identifier: GPL-3.0-or-later
// The base of the painted parts of views. A canvas has cells: lines above each other, items from left to right, most
// often over an axis with zoom and pan. The base answers the pointer, the wheel and the keyboard in one way for all
// canvases: a click chooses a cell, a double click or 0 shows the whole axis, the wheel zooms about the pointer and
// pans with Shift, dragging pans, plus and minus zoom about the focus, arrows move the focus. A canvas says by hooks
// where its cells are and what they mean. Owned by a view. GUI thread. Device-independent pixels.
#pragma once
#include <QWidget>

#include "widgets/base/inspector_context.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/axis_map.h"

namespace kvlab {

/// A place on a canvas; -1 where it has no line or no item, as the ruler above the lines.
struct CanvasCell {
  int line = -1, item = -1;
  bool there() const { return line >= 0 || item >= 0; }
  bool operator==(const CanvasCell&) const = default;
};

/// Where a key moves the focus; `far` for pages and ends.
struct CellStep {
  int lines = 0, items = 0;
  bool far = false;
};

class AxisCanvas : public QWidget {
  Q_OBJECT
 public:
  AxisCanvas(InspectorContext& context, QWidget* parent);

  const AxisMap& axis() const { return m_axis; }
  void fit();
  /// About the focused cell if it is in sight, else about the middle.
  void zoomBy(double factor);
  void showRange(double begin, double end);
  /// Pans so that the focused cell is in sight.
  void revealFocus();
  /// What the canvas says of the cell under the pointer, else of the focused one.
  virtual QString readout() const = 0;

 signals:
  void readoutChanged();

 protected:
  /// On a surface that is filled already.
  virtual void paintContent(QPainter& painter, const Theme& theme) = 0;
  virtual CanvasCell cellAt(QPoint point) const = 0;
  virtual CanvasCell focusCell() const = 0;
  /// The person chose a cell, by a click or a key.
  virtual void choose(CanvasCell cell) = 0;
  /// The row that all views mark while the pointer is on a cell.
  virtual Position positionOf(CanvasCell cell) const { return Position(cell.line < 0 ? -1 : cell.item); }
  virtual int lines() const { return 1; }
  virtual int items() const = 0;
  /// Where the axis lies; empty if the canvas has none, so that nothing zooms.
  virtual QRect axisArea() const { return {}; }
  /// Where a bar shows the whole axis; a press there moves what is in sight.
  virtual QRect overviewArea() const { return {}; }
  /// Another part of the axis is in sight.
  virtual void axisMoved() {}
  /// The middle of the focused cell on the axis, -1 if there is none.
  virtual double focusMiddle() const;
  virtual int page() const;
  virtual CanvasCell stepped(const CellStep& by) const;
  /// A double click or Return; false if that means nothing here.
  virtual bool activate(CanvasCell) { return false; }
  /// The menu opens over a cell.
  virtual void menuAbout(CanvasCell) {}
  /// Scrolls the lines by so many pixels; false if they do not scroll.
  virtual bool scrollLines(int) { return false; }
  /// A tool tip of its own for a cell; empty for the canvas's.
  virtual QString tipOf(CanvasCell) const { return {}; }

  InspectorContext& context() const { return m_context; }
  CanvasCell hovered() const { return m_hovered; }
  /// The cells under the pointer have changed.
  void forgetHover() { m_hovered = {}; }
  /// Shows the axis from this item on, as far as it goes.
  void panTo(double first);
  void setMaxScale(double pixelsPerItem) { m_axis.maxScale = pixelsPerItem; }
  /// Takes over new numbers of items and pixels.
  void place();

  void paintEvent(QPaintEvent* event) final;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) final;
  void mousePressEvent(QMouseEvent* event) final;
  void mouseMoveEvent(QMouseEvent* event) final;
  void mouseReleaseEvent(QMouseEvent* event) final;
  void mouseDoubleClickEvent(QMouseEvent* event) final;
  void keyPressEvent(QKeyEvent* event) final;
  void leaveEvent(QEvent* event) final;
  bool event(QEvent* event) final;

 private:
  enum class Held { Nothing, Pressed, Pulled, Overview };
  bool hasAxis() const { return !axisArea().isEmpty(); }
  void moved();
  void hover(CanvasCell cell);
  void pull(QPoint to);
  void overviewTo(int x);

  InspectorContext& m_context;
  AxisMap m_axis;
  CanvasCell m_hovered;
  Held m_held = Held::Nothing;
  QPoint m_from;       // where the pointer was pressed
  double m_first = 0;  // of the axis then
  int m_scrolled = 0;  // pixels that the lines have scrolled since
};

}  // namespace kvlab
