// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix of attention: a line per query head or per query, a column per row of the context. Where columns share a
// pixel the largest value shows. A column is a row, chosen and marked as in the map. GUI thread.
#pragma once
#include <QImage>

#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/attention/attention_picture.h"

namespace kvlab {

class AttentionCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  AttentionCanvas(InspectorContext& context, QWidget* parent);

  /// Null shows nothing.
  void show(AttentionPicturePtr picture);
  const AttentionPicturePtr& picture() const { return m_picture; }
  /// The focused line: that of the focused head, or the chosen query.
  int focusLine() const;
  QString readout() const override;
  QString lineText(int line) const;
  /// Place of a row of the shown context in the focused line, for a line to type in.
  QRect rowRect(Position position) const;

 signals:
  /// row: position in the measured context.
  void clicked(int line, int row, kvlab::InspectorContext::Choice choice);
  void pointed(int row);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override { return {focusLine(), focusRow()}; }
  void choose(CanvasCell cell) override;
  QString tipOf(CanvasCell cell) const override;
  void menuAbout(CanvasCell cell) override;
  Position positionOf(CanvasCell cell) const override;
  int lines() const override { return m_picture ? m_picture->lines() : 0; }
  int items() const override { return m_picture ? m_picture->length() : 0; }
  QRect axisArea() const override { return parts().cells; }
  void axisMoved() override { m_cells = QImage(); }

 private:
  struct Parts {
    QRect ruler, tokens, cells, readout;
    double tall = 0;  // height of a line
  };
  Parts parts() const;
  int focusRow() const;
  int hoveredRow() const;
  int lineTop(const Parts& parts, int line) const;
  QRectF cell(const Parts& parts, int line, int row) const;
  void paintCells(QPainter& painter, const Parts& parts, const Theme& theme);
  void paintNames(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintCrossHair(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintWrong(QPainter& painter, const Parts& parts, const Theme& theme) const;

  AttentionPicturePtr m_picture;
  int m_query = -1;  // chosen line of a matrix of queries
  QImage m_cells;    // blit in device pixels; null = outdated
  bool m_cellsDark = true;
};

}  // namespace kvlab
