// SPDX-License-Identifier: GPL-3.0-or-later
// Base class of the painted parts of views. A canvas has cells: lines from top to bottom, items from left to right,
// usually along an axis with zoom and pan. The base class handles pointer, wheel and keyboard for all canvases: a click
// chooses a cell, a double click or 0 shows the whole axis, the wheel zooms at the pointer and with Shift pans,
// dragging pans, or with Shift marks a range where the canvas has a use for one, plus and minus zoom at the focus,
// arrow keys move the focus. Subclasses implement hooks for the place and the meaning of cells. Owned by a view. GUI
// thread. Device-independent pixels.
#pragma once
#include <QTimer>
#include <QWidget>

#include "widgets/base/finding_marks.h"
#include "widgets/base/inspector_context.h"
#include "widgets/base/theme.h"
#include "widgets/base/view_options.h"
#include "widgets/canvas/axis_map.h"

namespace kvlab {

/// A cell of a canvas; -1 if it has no line or no item, such as the ruler above the lines.
struct CanvasCell {
  int line = -1, item = -1;
  bool there() const { return line >= 0 || item >= 0; }
  bool operator==(const CanvasCell&) const = default;
};

/// Direction in which a key moves the focus; `far` for page and end keys.
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
  /// Zooms at the focused cell if it is visible, else at the middle.
  void zoomBy(double factor);
  void showRange(double begin, double end);
  /// Pans until the focused cell is visible.
  void revealFocus();
  /// Description of the cell under the pointer, else of the focused cell.
  virtual QString readout() const = 0;
  /// The visible range as the options `from` and `to` of a view; `to` is "all" while the whole axis is shown. `item`: a
  /// word for an item of the axis.
  std::vector<ViewOption> rangeOptions(const std::string& item);
  /// The person zooms or pans: ranged() follows once for all turns of the wheel that follow each other.
  void sayRange();
  /// Sets the findings of checks up to now, for canvases that show a measurement of an older state.
  void setFindings(FindingMarks found);

 signals:
  void readoutChanged();
  /// The person has zoomed or panned, by wheel, keys or pointer, and rests.
  void ranged();
  void chosen(kvlab::CanvasCell cell, kvlab::InspectorContext::Choice choice);
  /// The menu is about to open over a cell.
  void menuOver(kvlab::CanvasCell cell);

 protected:
  /// Paints onto a filled surface.
  virtual void paintContent(QPainter& painter, const Theme& theme) = 0;
  virtual CanvasCell cellAt(QPoint point) const = 0;
  virtual CanvasCell focusCell() const = 0;
  /// The user chose a cell, by click or key; choice() says how.
  virtual void choose(CanvasCell cell);
  InspectorContext::Choice choice() const { return m_choice; }
  /// The state whose rows are the items; null where items are something else.
  virtual SnapshotPtr of() const { return nullptr; }
  /// The cache layer of a line; its findings mark the line's cells.
  virtual CacheLayer layerOf(int line) const { return CacheLayer(line); }
  /// The row that all views mark while the pointer is on a cell, if it is in the shown context.
  virtual Position positionOf(CanvasCell cell) const;
  virtual int lines() const { return 1; }
  virtual int items() const = 0;
  /// Area of the axis; empty if the canvas has none, which disables zoom.
  virtual QRect axisArea() const { return {}; }
  /// Area of the overview bar; a press there moves the visible range.
  virtual QRect overviewArea() const { return {}; }
  /// The visible range of the axis changed.
  virtual void axisMoved() {}
  /// Middle of the focused cell on the axis, -1 if there is none.
  virtual double focusMiddle() const;
  virtual int page() const;
  virtual CanvasCell stepped(const CellStep& by) const;
  /// Handles a double click or Return; false if it has no effect.
  virtual bool activate(CanvasCell) { return false; }
  /// The menu is about to open over a cell.
  virtual void menuAbout(CanvasCell cell);
  /// Dragging with Shift goes from one pixel of the canvas to another; `over`: it ended there. False if the canvas
  /// marks no ranges, and pans.
  virtual bool markRange(int /*from*/, int /*to*/, bool /*over*/) { return false; }
  /// Scrolls the lines by a number of pixels; false if lines do not scroll.
  virtual bool scrollLines(int) { return false; }
  /// Tool tip of a cell: findings of checks on its row, else on its layer; empty = the canvas's tool tip.
  virtual QString tipOf(CanvasCell cell) const;

  InspectorContext& context() const { return m_context; }
  const FindingMarks& findings() const { return m_findings; }
  CanvasCell hovered() const { return m_hovered; }
  /// The place of a row of the shown context among the items, of the focused row, and of the row under the pointer; -1
  /// = none.
  int itemOf(Position position, LedgerId row) const;
  int focusItem() const { return itemOf(context().focus().position, context().focus().ledger); }
  int hoveredItem() const;
  /// Call when the cells under the pointer have changed.
  void forgetHover() { m_hovered = {}; }
  /// Pans to this first item, as far as possible.
  void panTo(double first);
  void setMaxScale(double pixelsPerItem) { m_axis.maxScale = pixelsPerItem; }
  /// Updates the axis for new numbers of items and pixels.
  void place();

  void paintEvent(QPaintEvent* event) final;
  void resizeEvent(QResizeEvent*) override { place(); }
  void wheelEvent(QWheelEvent* event) final;
  void mousePressEvent(QMouseEvent* event) final;
  void mouseMoveEvent(QMouseEvent* event) final;
  void mouseReleaseEvent(QMouseEvent* event) final;
  void mouseDoubleClickEvent(QMouseEvent* event) final;
  void keyPressEvent(QKeyEvent* event) final;
  void leaveEvent(QEvent*) final { hover({}); }
  bool event(QEvent* event) final;

 private:
  enum class Held { Nothing, Pressed, Pulled, Marked, Overview };
  bool hasAxis() const { return !axisArea().isEmpty(); }
  void moved();
  void hover(CanvasCell cell);
  void pull(QPoint to);
  void overviewTo(int x);

  InspectorContext& m_context;
  FindingMarks m_findings;
  AxisMap m_axis;
  CanvasCell m_hovered;
  InspectorContext::Choice m_choice = InspectorContext::Choice::Only;
  Held m_held = Held::Nothing;
  QPoint m_from;         // pointer position of the press
  double m_first = 0;    // first visible item at the press
  int m_scrolled = 0;    // pixels scrolled since the press
  bool m_shift = false;  // was held at the press
  QTimer m_rest;         // until ranged()
};

}  // namespace kvlab
