// SPDX-License-Identifier: GPL-3.0-or-later
// The view Policy: the bands of each layer over the context with row scores, what each layer keeps and at which score,
// the choice about the focused row, the competition of this tick, and actual lifespans against those predicted by
// gates. Works for every policy with scores; only gates predict lifespans. GUI thread.
#pragma once
#include "core/api/lifespan_view.h"
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/canvas/tile_cache.h"
#include "widgets/table/column_model.h"
#include "widgets/views/smartkv/band_canvas.h"
#include "widgets/views/smartkv/choice_part.h"
#include "widgets/views/smartkv/lifespan_plot.h"

class QStackedWidget;

namespace kvlab {

struct ContestLine {
  CacheLayer layer;
  Contest contest;
  float margin = 0;  // score difference of the challenger to its lowest opponent; NaN = unknown
  bool won() const { return contest.challenger != contest.loser; }
};

/// The competition of one tick, one line per row that left a window: the challenger, the row that was evicted instead,
/// and the score difference.
class ContestModel : public LineModel<ContestLine> {
  Q_OBJECT
 public:
  explicit ContestModel(QObject* parent = nullptr);
  void show(SnapshotPtr snapshot, const std::vector<BandRows>& layers);
  int rowOf(CacheLayer layer) const;  // first line of a layer, -1 = none
  int won() const;

 private:
  SnapshotPtr m_snapshot;
};

class SmartKvView : public InspectorView {
  Q_OBJECT
 public:
  SmartKvView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  BandCanvas& canvas() { return *m_canvas; }
  DataTable& contests() { return *m_contests; }
  LifespanPlot& plot() { return *m_plot; }
  ChoicePart& choice() { return *m_choice; }

 protected:
  void onSession() override {
    m_measured.reset();
    m_choice->forget();
  }
  void onSnapshot() override;
  void onFocus() override;
  void onHover() override { m_readout->setText(m_canvas->readout()); }
  void onTheme() override;

 private:
  void makeStrip();
  void makeContests(QWidget* into);
  void makeLifespans(QWidget* into);
  void take();
  void say();
  QString contestsSaid() const;
  void askLifespans();
  void showLifespans();
  bool gated() const;
  QString whyNoLifespans() const;
  Layer layerMeasured() const;
  const std::vector<HeadLifespans>* headsOfLayer() const;
  void stepTick(int by);

  TileCache m_tiles;
  ContestModel* m_model;
  ScaleMenu* m_scale = nullptr;
  BandCanvas* m_canvas = nullptr;
  ChoicePart* m_choice = nullptr;
  DataTable* m_contests = nullptr;
  LifespanPlot* m_plot = nullptr;
  QWidget* m_lifespanPart = nullptr;  // with its heading
  EmptyNotice* m_noPlot = nullptr;
  QStackedWidget* m_lifespans = nullptr;
  QLabel *m_state = nullptr, *m_said = nullptr, *m_fit = nullptr, *m_readout = nullptr;
  QComboBox* m_head = nullptr;
  QToolButton *m_measure = nullptr, *m_before = nullptr, *m_after = nullptr;
  std::optional<LifespanView> m_measured;
  EngineAsk m_ask;  // queries lifespans
};

}  // namespace kvlab
