// SPDX-License-Identifier: GPL-3.0-or-later
// Token strip: the text of the context, coloured by the shared quantity like the map. Shows each token's maximum over
// all layers, or the focused layer's value. GUI thread.
#pragma once
#include <QCheckBox>
#include <QComboBox>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/matrix_colours.h"
#include "widgets/canvas/quantity_box.h"
#include "widgets/canvas/tile_cache.h"
#include "widgets/views/strip/token_text.h"

namespace kvlab {

class StripView : public InspectorView {
  Q_OBJECT
 public:
  StripView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  void copySelection() override;
  QString tsv() const override;
  TokenText& text() { return *m_text; }

 protected:
  void onSnapshot() override;
  void onFocus() override;
  void onHover() override;

 private:
  void makeStrip();
  void take();
  void colour(std::vector<Chip>& chips, const Tile& tile, const MaxPyramid& cells) const;
  QString readout() const;
  void sayReadout();
  QRect placeOf(Position row) const;

  TileCache m_tiles;
  TokenText* m_text;
  LegendBar* m_legend = nullptr;
  GhostLegend* m_planned = nullptr;
  QComboBox* m_layers = nullptr;
  QCheckBox* m_ghosts = nullptr;
  QCheckBox* m_transcript = nullptr;
  QLabel* m_readout = nullptr;
  CacheLayer m_layer{-1};  // focused layer when the chips were made
};

}  // namespace kvlab
