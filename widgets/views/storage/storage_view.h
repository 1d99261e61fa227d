// SPDX-License-Identifier: GPL-3.0-or-later
// Storage: layout and formats of each group of layers, bytes by kind, and the slots of the focused group; changes
// layouts and formats. (StorageView is the snapshot's report on a layer.) GUI thread.
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
  SlotMap& slotMap() { return *m_map; }
  DataTable& table() { return *m_table; }

 protected:
  void onSession() override {
    m_freeOf = nullptr;
    m_advice.clear();
  }
  void onSnapshot() override;
  void onFocus() override;

 private:
  void makeStrip();
  void makeBody();
  void fillLayouts(QMenu* menu);
  void fillTypes(QMenu* menu, bool keys);
  /// Marks the entry of a menu that all layers to change have now; `what` is a layer's layout or type.
  void markPresent(QMenu* menu, std::string StorageView::*what) const;
  /// Runs a command for the layers chosen in the strip.
  void change(const QString& command, nlohmann::json args);
  void showSlots();
  void askFree();
  void tellState();
  const StorageGroup* group() const;

  StorageModel* m_model;
  DataTable* m_table = nullptr;
  SlotMap* m_map = nullptr;
  QLabel* m_state = nullptr;
  QComboBox* m_scope = nullptr;
  QToolButton *m_layout = nullptr, *m_k = nullptr, *m_v = nullptr, *m_compact = nullptr;
  QCheckBox* m_whole = nullptr;
  std::optional<SlotRuns> m_free;  // free slots of the focused group at serial m_freeFor
  std::uint64_t m_freeFor = 0;
  const StorageView* m_freeOf = nullptr;
  QString m_advice;  // of the engine; empty: no other layout would pay
  EngineAsk m_ask;   // queries free slots and advice
};

}  // namespace kvlab
