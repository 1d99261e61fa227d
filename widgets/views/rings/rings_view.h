// SPDX-License-Identifier: GPL-3.0-or-later
// Rings: the slots of each ring layout as a circle, with the oldest row, the write pointer and the wrap; below it the
// same over the ticks of the session. GUI thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/canvas/quantity_box.h"
#include "widgets/canvas/tile_cache.h"
#include "widgets/views/rings/ring_canvas.h"
#include "widgets/views/rings/wrap_strip.h"

namespace kvlab {

class RingsView : public InspectorView {
  Q_OBJECT
 public:
  RingsView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  RingCanvas& canvas() { return *m_canvas; }
  WrapStrip& ticks() { return *m_ticks; }

 protected:
  void onSnapshot() override;
  void onFocus() override { sayState(); }

 private:
  void makeStrip();
  void toWrap(bool after);
  void sayState();
  void takeValues();

  RingCanvas* m_canvas;
  WrapStrip* m_ticks;
  QCheckBox* m_asMap = nullptr;
  LegendBar* m_legend = nullptr;
  QLabel* m_state = nullptr;
  QToolButton *m_before = nullptr, *m_after = nullptr, *m_use = nullptr;
  TileCache m_tiles;
};

}  // namespace kvlab
