// SPDX-License-Identifier: GPL-3.0-or-later
// Attention by head: the rows that each query head of the newest token attends to in the focused layer, or those of the
// last queries of one head. Measured on request; each query is a pass. GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/canvas/quantity_box.h"
#include "widgets/views/attention/attention_canvas.h"

namespace kvlab {

class AttentionView : public InspectorView {
  Q_OBJECT
 public:
  AttentionView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  AttentionCanvas& canvas() { return *m_canvas; }

 protected:
  void onSession() override;
  void onSnapshot() override;
  void onFocus() override;
  void onHover() override { m_canvas->update(); }

 private:
  void makeStrip();
  void makeHeads();
  void measure(bool byHand);
  void measureIfWanted();
  void take(const Result<nlohmann::json>& reply);
  void showState();
  void showHeads();
  void showColours();
  void chooseHead(int head);
  void choose(CanvasCell cell, InspectorContext::Choice choice);
  int heads() const;
  CacheLayer layer() const;
  bool wantsQueries() const;
  bool current() const;
  QString why() const;
  QString staleText() const;
  QString summary() const;

  AttentionCanvas* m_canvas = nullptr;
  LegendBar* m_legend = nullptr;
  ScaleMenu* m_scale = nullptr;
  QLabel *m_state = nullptr, *m_stale = nullptr, *m_countLabel = nullptr;
  QComboBox *m_mode = nullptr, *m_head = nullptr, *m_count = nullptr;
  QCheckBox* m_follow = nullptr;
  QToolButton* m_measure = nullptr;
  std::optional<Error> m_refused;  // error of the last measurement
  QString m_progress;
  EngineAsk m_ask;
};

}  // namespace kvlab
