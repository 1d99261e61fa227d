// SPDX-License-Identifier: GPL-3.0-or-later
// Watches: expressions whose values the engine publishes with every tick. Typed below the table, removed with Del; the
// newest snapshot says which there are, whoever set them. GUI thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/watches/watch_model.h"

namespace kvlab {

class WatchesView : public InspectorView {
  Q_OBJECT
 public:
  WatchesView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return isEmpty() ? QString() : m_table->tsv(); }
  DataTable& table() { return *m_table; }

 protected:
  void onSnapshot() override;
  void onFocus() override {}

 private:
  void addTyped();
  void removeSelected();
  void breakOnChange();
  const WatchView* selected() const;
  void buttons();

  QLineEdit* m_edit = nullptr;
  QToolButton *m_add = nullptr, *m_remove = nullptr;
  WatchModel* m_model;
  DataTable* m_table = nullptr;
};

}  // namespace kvlab
