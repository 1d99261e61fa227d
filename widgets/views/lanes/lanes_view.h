// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes: sessions in lockstep, with their maps and their figures against the reference; opens and closes lanes.
// (LanesView is the snapshot's report.) GUI thread.
#pragma once
#include <QComboBox>

#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/lanes/lanes_canvas.h"
#include "widgets/views/lanes/lanes_model.h"

namespace kvlab {

class LanesTableView : public InspectorView {
  Q_OBJECT
 public:
  LanesTableView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return m_model->rowCount() ? m_table->tsv() : QString(); }
  LanesCanvas& canvas() { return *m_canvas; }
  DataTable& table() { return *m_table; }

 protected:
  void onSnapshot() override;
  void onFocus() override;
  void onHover() override { sayReadout(); }
  void onTheme() override;

 private:
  void makeStrip();
  void makeBody();
  void showLayer();
  std::optional<nlohmann::json> changes();
  void open();
  void addPolicy(const std::string& policy);
  void sayReadout();
  static QString layersTip(bool losses);
  bool losses() const { return m_colour->currentIndex() == 1; }
  LanesViewPtr lanes() const { return shown() ? shown()->lanes : nullptr; }

  LanesModel* m_model;
  ScaleMenu* m_scale = nullptr;
  LanesCanvas* m_canvas = nullptr;
  DataTable* m_table = nullptr;
  QComboBox *m_layers = nullptr, *m_colour = nullptr;
  QLabel *m_state = nullptr, *m_readout = nullptr;
  QLineEdit* m_changes = nullptr;
  QToolButton *m_policy = nullptr, *m_add = nullptr, *m_open = nullptr, *m_close = nullptr;
};

}  // namespace kvlab
