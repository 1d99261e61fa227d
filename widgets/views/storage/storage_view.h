// SPDX-License-Identifier: GPL-3.0-or-later
// Storage: how each group of layers is stored, what its bytes are for, and where the rows of the focused
// one lie; and the ways to change it. (StorageView is the snapshot's own name for a layer's storage.)
// GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/storage/slot_map.h"
#include "widgets/views/storage/storage_model.h"

class QMenu;

namespace kvlab {

class StorageTableView : public InspectorView {
  Q_OBJECT
 public:
  StorageTableView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  bool ready() const override;
  SlotMap& slotMap() { return *m_map; }
  DataTable& table() { return *m_table; }

 protected:
  void onSession() override { m_freeOf = nullptr; }
  void onSnapshot() override;
  void onFocus() override;

 private:
  void makeStrip();
  void makeBody();
  void fillLayouts(QMenu* menu);
  void fillTypes(QMenu* menu, bool keys);
  /// Runs a command for the layers that are chosen in the strip.
  void change(const QString& command, nlohmann::json args);
  void showSlots();
  void askFree();
  const StorageGroup* group() const;

  StorageModel* m_model;
  DataTable* m_table = nullptr;
  SlotMap* m_map = nullptr;
  QLabel* m_state = nullptr;
  QComboBox* m_scope = nullptr;
  QToolButton *m_layout = nullptr, *m_k = nullptr, *m_v = nullptr, *m_compact = nullptr;
  std::optional<SlotRuns> m_free;  // of the focused group, at serial m_freeFor
  std::uint64_t m_freeFor = 0;
  const StorageView* m_freeOf = nullptr;
  EngineAsk m_ask;  // for the free slots
};

}  // namespace kvlab
