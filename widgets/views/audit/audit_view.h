// SPDX-License-Identifier: GPL-3.0-or-later
// Audit: did my policy run, where, and what did it cost? One line per layer: what was requested, what is there,
// what left and when, what was done instead; red where a policy does not do what it says. And the way to set
// one. GUI thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/table/sorted_model.h"
#include "widgets/views/audit/audit_model.h"

namespace kvlab {

class ColumnOrder;

class AuditView : public InspectorView {
  Q_OBJECT
 public:
  AuditView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  DataTable& table() { return *m_table; }

 protected:
  void onSnapshot() override;
  void onFocus() override;

 private:
  void makeStrip();
  void makeTable();
  void setPolicy(const std::string& policy);
  void say();

  AuditModel* m_model;
  SortedModel* m_sorted;
  DataTable* m_table = nullptr;
  ColumnOrder* m_order = nullptr;
  QLabel *m_state = nullptr, *m_banner = nullptr, *m_total = nullptr;
  QComboBox* m_scope = nullptr;
  QToolButton* m_policy = nullptr;
};

}  // namespace kvlab
