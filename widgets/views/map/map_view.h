// SPDX-License-Identifier: GPL-3.0-or-later
// Map: layers by positions, coloured by the shared quantity. Requests the quantity's tile and converts large tiles to
// colour indices on a pool thread (late results are dropped). MapCanvas paints. GUI thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/canvas/quantity_box.h"
#include "widgets/canvas/tile_cache.h"
#include "widgets/views/map/map_canvas.h"

namespace kvlab {

class MapView : public InspectorView {
  Q_OBJECT
 public:
  MapView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  bool ready() const override { return InspectorView::ready() && m_done == m_job; }
  QString tsv() const override;
  MapCanvas& canvas() { return *m_canvas; }

 protected:
  void onSnapshot() override;
  void onFocus() override { m_canvas->revealFocus(); }

 private:
  void makeStrip();
  void makeActions();
  void take();
  void showPicture(std::shared_ptr<const MapPicture> picture);

  TileCache m_tiles;
  MapCanvas* m_canvas;
  LegendBar* m_legend = nullptr;
  ScaleMenu* m_scale = nullptr;
  GhostLegend* m_ghosts = nullptr;
  QToolButton* m_received = nullptr;
  quint64 m_job = 0, m_done = 0;  // number of the newest requested and shown picture
};

}  // namespace kvlab
