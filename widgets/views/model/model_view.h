// SPDX-License-Identifier: GPL-3.0-or-later
// Model: the most likely next tokens compared with the previous tick, and the facts of the model. GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/model/chance_model.h"

class QFormLayout;
class QScrollArea;
class QSpinBox;
class QSplitter;

namespace kvlab {

class ModelView : public InspectorView {
  Q_OBJECT
 public:
  ModelView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;

 protected:
  void onSnapshot() override;
  void onFocus() override {}
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void makeStrip();
  void makeFacts();
  void askMore();
  /// Appends the token of a line to the context.
  void take(const QModelIndex& line);
  void showFacts();
  void makeFactRows();
  void layOut();
  void showChances(std::vector<TokenChance> now);
  /// Probabilities of the tick before the shown one.
  std::vector<TokenChance> before() const;
  QList<std::pair<QString, QString>> facts() const;

  ChanceModel* m_model;
  DataTable* m_table = nullptr;
  QLabel *m_stale = nullptr, *m_summary = nullptr;
  QSpinBox* m_count = nullptr;
  QWidget* m_facts = nullptr;
  QScrollArea* m_factsArea = nullptr;
  QSplitter* m_split = nullptr;
  QFormLayout* m_form = nullptr;
  QList<std::pair<QString, QString>> m_shownFacts;
  EngineAsk m_ask;  // queries more tokens than the snapshot has
};

}  // namespace kvlab
