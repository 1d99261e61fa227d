// SPDX-License-Identifier: GPL-3.0-or-later
// K and V of one row as heat strips: a line per KV head, a cell per dimension; below each line the difference to what
// the row is compared with. Where dimensions share a pixel the largest magnitude shows. GUI thread.
#pragma once
#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/views/row/row_picture.h"

namespace kvlab {

class RowCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  RowCanvas(InspectorContext& context, QWidget* parent);

  /// Null shows nothing.
  void show(RowPicturePtr picture);
  const RowPicturePtr& picture() const { return m_picture; }
  /// The chosen KV head and dimension.
  void choosePlace(int head, int dimension);
  int head() const { return m_head; }
  int dimension() const { return m_dimension; }
  QString readout() const override;
  QString headText(bool keys, int head) const;

 signals:
  void chosen(int head, int dimension);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override { return {lineOf(m_keys, m_head), m_dimension}; }
  void choose(CanvasCell cell) override;
  Position positionOf(CanvasCell) const override { return Position(-1); }
  int lines() const override { return m_picture ? 2 * m_picture->heads : 0; }
  int items() const override { return m_picture ? m_picture->dim : 0; }
  QRect axisArea() const override { return parts().cells; }

 private:
  struct Parts {
    QRect ruler, cells, legend, readout;
    double tall = 0;  // height of a head's lines together
    int gap = 0;      // between K and V
  };
  Parts parts() const;
  bool keysOf(int line) const { return line < m_picture->heads; }
  int headOf(int line) const { return line % m_picture->heads; }
  int lineOf(bool keys, int head) const { return m_picture ? head + (keys ? 0 : m_picture->heads) : -1; }
  /// The line of a head: values above, difference below.
  QRectF lineBox(const Parts& parts, int line) const;
  void paintLine(QPainter& painter, const Parts& parts, int line, const Theme& theme) const;
  void paintCells(QPainter& painter, const QRectF& box, const RowTensor& tensor, int head, bool apart,
                  const Theme& theme) const;
  void paintName(QPainter& painter, const Parts& parts, int line, const Theme& theme) const;
  void paintChosen(QPainter& painter, const Parts& parts, const Theme& theme) const;
  std::vector<LegendEntry> legend(const Theme& theme) const;

  RowPicturePtr m_picture;
  bool m_keys = true;
  int m_head = 0, m_dimension = 0;
};

}  // namespace kvlab
