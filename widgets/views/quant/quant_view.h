// SPDX-License-Identifier: GPL-3.0-or-later
// Quantisation: errors of quantised rows, by layer in a table and by row of the focused layer in a canvas. Measured on
// request, with a pass over the whole context. GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/sorted_table.h"
#include "widgets/views/quant/quant_canvas.h"
#include "widgets/views/quant/quant_model.h"

namespace kvlab {

class QuantCard;

class QuantView : public InspectorView {
  Q_OBJECT
 public:
  QuantView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  QuantCanvas& canvas() { return *m_canvas; }
  DataTable& table() { return *m_table; }

 protected:
  void onSession() override;
  void onSnapshot() override;
  void onFocus() override;
  void onHover() override { showRow(); }

 private:
  void makeStrip();
  void makeBody();
  void makeActions();
  void measure(bool byHand);
  /// Arguments of a measurement: the types to try.
  nlohmann::json types() const;
  void measureIfWanted();
  void take(const Result<nlohmann::json>& reply);
  void showMeasure();
  void showState();
  void showRows();
  void focusRow(CacheLayer layer, int row);
  void focusWorst();
  void showRow();
  CacheLayer layer() const;
  QuantFigure figure() const;
  QString why() const;
  QString staleText() const;

  QuantModel* m_model;
  SortedTable* m_table = nullptr;
  QuantCanvas* m_canvas = nullptr;
  QuantCard* m_card = nullptr;
  QLabel *m_state = nullptr, *m_stale = nullptr;
  QComboBox *m_figure = nullptr, *m_tryK = nullptr, *m_tryV = nullptr;
  QCheckBox* m_follow = nullptr;
  QToolButton* m_measure = nullptr;
  QuantMeasurePtr m_measured;
  std::optional<Error> m_refused;  // error of the last measurement
  QString m_progress;
  EngineAsk m_ask;
};

}  // namespace kvlab
