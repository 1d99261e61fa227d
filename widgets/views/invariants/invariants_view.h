// SPDX-License-Identifier: GPL-3.0-or-later
// Invariants: one line each, broken ones first, with a jump to the row that violates them. GUI thread.
#pragma once
#include <nlohmann/json.hpp>

#include "core/api/snapshot.h"
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"
#include "widgets/table/data_table.h"

class QPushButton;

namespace kvlab {

/// Cheap checks come with snapshots, full checks with the verb `invariants`.
struct InvariantLine {
  InvariantState state;
  std::optional<Violation> violation = {};  // the shown tick's first violation
  bool full = false;                        // the detail is from a full check
};

/// Text about a failed check.
QString detailText(const InvariantLine& line);

/// The tick since which everything that the invariant checks has passed, or the ticks between which it broke.
QString passedText(const InvariantState& state);

class InvariantModel : public LineModel<InvariantLine> {
  Q_OBJECT
 public:
  explicit InvariantModel(QObject* parent = nullptr);
  void show(const Snapshot& snapshot);
  /// Drops the full check of an old session.
  void forget() {
    m_fullAt.reset();
    show(Snapshot());
  }
  /// Takes the reply to the verb `invariants`, checked at `tick`.
  void showFull(const nlohmann::json& answer, Tick tick);
  int failures() const;
  /// True if any invariant was ever broken.
  bool anyFailed() const;
  /// "2 of 17 invariants are broken, first at tick 12", "17 invariants hold", or "14 invariants hold, 3 not checked
  /// yet".
  QString summary() const;

 private:
  void order(std::vector<InvariantLine> lines);

  std::optional<Tick> m_fullAt;
  Tick m_tick;
};

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
