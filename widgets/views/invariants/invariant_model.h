// SPDX-License-Identifier: GPL-3.0-or-later
// Invariants, one line each, broken ones first. Cheap checks come with snapshots, full checks with the verb
// `invariants`. GUI thread.
#pragma once
#include <nlohmann/json.hpp>

#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

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

}  // namespace kvlab
