// SPDX-License-Identifier: GPL-3.0-or-later
// The painted part of the map: a line per layer, a column per row of the context, with marks of edits, stale rows and
// the effects of the queue. Owned by MapView. GUI thread.
#pragma once
#include <memory>

#include "widgets/canvas/matrix_canvas.h"
#include "widgets/views/map/map_picture.h"

namespace kvlab {

class MapCanvas : public MatrixCanvas {
  Q_OBJECT
 public:
  MapCanvas(InspectorContext& context, QWidget* parent);

  void setPicture(std::shared_ptr<const MapPicture> picture);
  const MapPicture* picture() const { return m_picture.get(); }
  /// Sets a note at the right of the readout, e.g. that values are from another tick.
  void setNote(const QString& note);
  QString note() const override { return m_note; }
  QString readout() const override;

 protected:
  MatrixShape shape() const override;
  int lines() const override { return m_picture ? m_picture->colours.cells.layers() : 0; }
  int items() const override { return m_picture ? m_picture->colours.cells.positions() : 0; }
  SnapshotPtr of() const override { return m_picture ? m_picture->snapshot : nullptr; }
  Cells cells(const Theme& theme) const override;
  QString lineName(int line) const override;
  bool lineIsWrong(int line) const override { return findings().in(CacheLayer(line)); }
  QString cellText(CanvasCell cell) const override;
  QString hint() const override;
  void paintOver(QPainter& painter, const MatrixParts& parts, const Theme& theme) override;

 private:
  void paintStale(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintGhosts(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintLeaving(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintAdded(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;
  void paintMarks(QPainter& painter, const MatrixParts& parts, const Theme& theme) const;

  std::shared_ptr<const MapPicture> m_picture;
  QString m_note;
};

}  // namespace kvlab
