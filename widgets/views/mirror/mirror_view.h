// SPDX-License-Identifier: GPL-3.0-or-later
// Mirror: cache and pos2ledger side by side, one line per position. Lines that do not match are red and show the error
// and its first tick. Tags are queried for visible lines; everything else is in the snapshot. GUI thread.
#pragma once
#include <QCheckBox>
#include <QComboBox>
#include <QTimer>
#include <QToolButton>

#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/mirror/mirror_model.h"

namespace kvlab {

class MirrorView : public InspectorView {
  Q_OBJECT
 public:
  MirrorView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  bool ready() const override { return InspectorView::ready() && !m_askTags.isActive(); }
  QString tsv() const override { return m_table->tsv(); }
  MirrorModel& model() { return *m_model; }
  DataTable& table() { return *m_table; }
  void goToNextBad();

 protected:
  void onSnapshot() override;
  void onFocus() override;
  void onTheme() override { sayState(); }

 private:
  void makeStrip();
  void fill();
  void askTags();
  const Finding* known(bool here) const;
  const Finding* elsewhere() const;
  void sayState();
  std::vector<CacheLayer> chosenLayers() const;
  static constexpr int kMostLayers = 8;  // more columns are unreadable

  MirrorModel* m_model;
  DataTable* m_table;
  QComboBox* m_which = nullptr;
  QCheckBox* m_onlyBad = nullptr;
  QLabel* m_state = nullptr;  // below: the state of the mirror, or the finding of the focused line
  QToolButton* m_next = nullptr;
  QTimer m_askTags;
  CacheLayer m_layer{-1};  // focused layer when the lines were made
  EngineAsk m_ask;         // queries tags of every layer
};

}  // namespace kvlab
