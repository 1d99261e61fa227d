// SPDX-License-Identifier: GPL-3.0-or-later
// Ledger: every token the session has seen, filtered by text and state. GUI thread.
#pragma once
#include <QComboBox>
#include <QLineEdit>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/tile_cache.h"
#include "widgets/table/data_table.h"
#include "widgets/views/ledger/ledger_model.h"

namespace kvlab {

class LedgerTableView : public InspectorView {
  Q_OBJECT
 public:
  LedgerTableView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return m_table->tsv(); }
  LedgerModel& model() { return *m_model; }
  DataTable& table() { return *m_table; }

 protected:
  void onSnapshot() override;
  void onFocus() override { m_table->showRow(m_model->rowOf(context().focus().ledger)); }

 private:
  void makeStrip();
  void filter();
  void sayCount();

  TileCache m_tiles;
  LedgerModel* m_model;
  DataTable* m_table;
  QLineEdit* m_text = nullptr;
  QComboBox* m_states = nullptr;
  QLabel* m_count = nullptr;
};

}  // namespace kvlab
