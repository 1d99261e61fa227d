// SPDX-License-Identifier: GPL-3.0-or-later
// Invariants: one line each, broken ones first, with a jump to the row that violates them. GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/invariants/invariant_model.h"

class QPushButton;

namespace kvlab {

class InvariantsView : public InspectorView {
  Q_OBJECT
 public:
  InvariantsView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return m_model->rowCount() ? m_table->tsv() : QString(); }
  /// Runs the full check.
  void checkAll();
  void take(const CommandReply& command);
  /// Goes to the first violation: its tick, and the row that it names.
  void jump(int row);

 protected:
  void onSession() override { m_model->forget(); }
  void onSnapshot() override;
  void onTheme() override;

 private:
  void makeStrip();
  void refresh();
  void showDetail();
  void focusViolation(const Violation& violation);

  InvariantModel* m_model;
  DataTable* m_table = nullptr;
  QLabel *m_lamp = nullptr, *m_summary = nullptr, *m_detail = nullptr;
  QPushButton *m_check = nullptr, *m_jump = nullptr;
  EngineAsk m_ask;  // for the full check
};

}  // namespace kvlab
