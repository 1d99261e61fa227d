// SPDX-License-Identifier: GPL-3.0-or-later
// Audit: the effect of each layer's policy. One line per layer shows requested and resident rows, evicted rows with
// their tick, and fallbacks; red if a policy does not keep its budget. Also sets policies. GUI thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/table/sorted_table.h"
#include "widgets/views/audit/audit_model.h"

namespace kvlab {

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
  SortedTable* m_table = nullptr;
  QLabel *m_state = nullptr, *m_banner = nullptr, *m_total = nullptr;
  QComboBox* m_scope = nullptr;
  QToolButton* m_policy = nullptr;
};

}  // namespace kvlab
