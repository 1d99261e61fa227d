// SPDX-License-Identifier: GPL-3.0-or-later
// The painted part of the map: a line per layer, a column per row of the context, with marks of edits, stale rows and
// the effects of the queue. Owned by MapView. GUI thread.
#pragma once
#include <memory>
#include <vector>

#include "core/api/snapshot.h"
#include "core/api/tile.h"
#include "widgets/base/finding_marks.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/matrix_canvas.h"
#include "widgets/canvas/matrix_colours.h"
#include "widgets/canvas/plan_ghosts.h"

namespace kvlab {

/// Positions [begin, end) whose rows differ from a rebuild for the same reason.
struct StaleRun {
  std::int32_t begin = 0, end = 0;
  Exactness why = Exactness::Exact;
};

/// The data that the map paints: colour indices of one tile, and marks of edited positions. Made on any thread from
/// immutable values, read on the GUI thread. Shapes: [layers][positions].
struct MapPicture {
  std::shared_ptr<const Tile> tile;
  MatrixColours colours;
  std::vector<std::int32_t> edited;   // positions of replaced or inserted tokens, ascending
  std::vector<std::int32_t> pending;  // positions that the queue changes, ascending
  PlanGhosts ghosts;                  // planned effects of the queue
  std::vector<StaleRun> stale;        // ascending, without exact rows
  FindingMarks findings;
  SnapshotPtr snapshot;

  Quantity quantity() const { return tile->request.quantity; }
  float value(int layer, int position) const { return tile->values[at(layer) * at(tile->positions) + at(position)]; }
};

/// Makes the picture with one pass over the tile and one over the context.
std::shared_ptr<const MapPicture> makeMapPicture(SnapshotPtr snapshot, std::shared_ptr<const Tile> tile,
                                                 const ScaleChoice& choice = {});
/// A tile computed from the snapshot alone, for ticks whose tiles were dropped: residency, age and staleness; null for
/// other quantities.
std::shared_ptr<const Tile> tileFromSnapshot(const Snapshot& snapshot, Quantity quantity);
/// Runs of rows that differ from a rebuild.
std::vector<StaleRun> staleRuns(const Snapshot& snapshot);

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
