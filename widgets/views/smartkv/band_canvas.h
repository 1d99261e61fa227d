// SPDX-License-Identifier: GPL-3.0-or-later
// Layers from top to bottom, tokens of the context to the right: rows coloured by their policy's score, gaps for
// evicted rows, and below each layer its bands. If tokens share a pixel, the highest score gives the colour and the
// resident share gives the height. Owned by the view Policy. GUI thread. Device-independent pixels.
#pragma once
#include <QString>
#include <array>
#include <utility>
#include <vector>

#include "core/api/snapshot.h"
#include "widgets/canvas/matrix_canvas.h"

namespace kvlab {

/// The bands of a layer's context tokens: sinks, rows kept by score, window, or none if the row was evicted. A pure
/// function of a snapshot; any thread.
enum class Band : std::uint8_t { Gone, Kept, Sink, Budget, Window };  // Kept: the layer has no bands
QString title(Band band);

struct BandRows {
  CacheLayer layer;
  std::string policy;
  bool bounded = false;
  Bands requested;           // undefined if the policy is not bounded
  Bands there;               // resident rows in each band
  std::vector<Band> band;    // [length]
  std::vector<float> score;  // [length] NaN = unknown; empty if all are unknown
  std::vector<Contest> contests;
  std::vector<std::pair<std::int32_t, std::int32_t>>
      places;  // positions of challenger and loser, -1 = not in the context
  std::array<std::pair<std::int32_t, std::int32_t>, 5>
      extent{};      // first position of each band, and the one after its last
  float lowest = 0;  // lowest score of the budget; NaN = none

  std::int32_t rows() const { return there.capacity(); }
};

/// Without policies every layer keeps all its rows. scores: [layers][length] of the shown tick, or null.
std::vector<BandRows> bandRows(const Snapshot& shown, const std::vector<float>* scores);

class BandCanvas : public MatrixCanvas {
  Q_OBJECT
 public:
  BandCanvas(InspectorContext& context, QWidget* parent);
  /// The usual range of the colours is that of each layer.
  void show(SnapshotPtr snapshot, std::vector<BandRows> layers, ScaleChoice choice);
  const ColourScales& scales() const { return m_scales; }
  const std::vector<BandRows>& layers() const { return m_layers; }
  QString readout() const override;

 protected:
  MatrixShape shape() const override;
  int lines() const override { return static_cast<int>(m_layers.size()); }
  int items() const override { return m_snapshot ? m_snapshot->length() : 0; }
  SnapshotPtr of() const override { return m_snapshot; }
  QString lineName(int line) const override;
  bool lineIsWrong(int line) const override { return findings().in(CacheLayer(line)); }
  LineFigure lineFigure(int line) const override;
  QString figureWord() const override { return tr("rows"); }
  std::vector<LegendEntry> legend(const Theme& theme) const override;
  void axisMoved() override { m_columns.assign(m_layers.size(), {}); }
  void paintLine(QPainter& painter, const QRectF& box, int line, const Theme& theme) override;
  QRectF cellBox(const MatrixParts& parts, CanvasCell cell) const override;

 private:
  struct Column {
    float score = 0;  // NaN = unknown
    float there = 0;  // resident share, 0..1
  };
  const std::vector<Column>& columnsOf(std::size_t layer, int width);
  void paintBands(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const;
  void paintContests(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const;

  SnapshotPtr m_snapshot;
  std::vector<BandRows> m_layers;
  ColourScales m_scales;
  std::vector<std::vector<Column>> m_columns;  // [layers][pixels], empty until painted
};

}  // namespace kvlab
