// SPDX-License-Identifier: GPL-3.0-or-later
// The painted part of the rings view: the ring of the focused layer large, those of all other groups of
// layers small beside it, its figures with the legend, and a line that reads out the slot under the
// pointer. Owned by RingsView. GUI thread. Device-independent pixels.
#pragma once
#include <QWidget>
#include <vector>

#include "widgets/base/inspector_context.h"
#include "widgets/base/theme.h"
#include "widgets/views/rings/ring_picture.h"
#include "widgets/views/rings/ring_shape.h"

class QPainter;

namespace kvlab {

class RingCanvas : public QWidget {
  Q_OBJECT
 public:
  /// One group of layers: its ring, or how else it is stored.
  struct Entry {
    StorageGroup group;
    std::optional<RingPicture> ring;
  };

  RingCanvas(InspectorContext& context, QWidget* parent);
  void setEntries(std::vector<Entry> entries);
  const std::vector<Entry>& entries() const { return m_entries; }
  /// The group of the focused layer; -1 if there is none.
  int selected() const;
  /// Its ring; null where it has none.
  const RingPicture* ring() const;
  /// Circle of the large ring.
  RingShape shape() const;
  /// Text of the readout line.
  QString readout() const;
  /// The middle of a small ring.
  QPointF smallRing(int entry) const;

 signals:
  void clicked(kvlab::Layer layer, kvlab::Position position);
  void groupChosen(kvlab::Layer layer);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  struct Parts {
    QRect rings, large, figures, readout;
    int across = 1, columns = 1;  // small rings and figures in a line
    int first = 0, count = 0;     // small rings that have room
    int figureCount = 1000;       // figures that have room
    bool named = false;           // small rings are only named
  };
  Parts parts() const;
  RingShape shapeIn(const QRect& area) const;
  QRect smallBox(const Parts& parts, int entry) const;
  int smallAt(QPoint point) const;
  int rowAt(QPoint point) const;
  void chooseGroup(int entry);
  void focusRow(int row);

  void paintSmall(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintLarge(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintAbsent(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintFigures(QPainter& painter, const Parts& parts, const Theme& theme) const;

  InspectorContext& m_context;
  std::vector<Entry> m_entries;
  int m_hoverSlot = -1;
};

}  // namespace kvlab
