// SPDX-License-Identifier: GPL-3.0-or-later
// Invariants, one line each, failures first. Fed by snapshots (the cheap set) and by the verb
// `invariants` (the full set). GUI thread.
#pragma once
#include <nlohmann/json.hpp>

#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct InvariantLine {
  InvariantState state;
  std::optional<Violation> violation = {};  // the first one the shown tick reports
  bool full = false;                        // the detail comes from a full check
};

/// What a failed check says of the line.
QString detailText(const InvariantLine& line);

class InvariantModel : public LineModel<InvariantLine> {
  Q_OBJECT
 public:
  explicit InvariantModel(QObject* parent = nullptr);
  void show(const Snapshot& snapshot);
  /// Another session comes: no full check is known of it.
  void forget() {
    m_fullAt.reset();
    show(Snapshot());
  }
  /// The answer of the verb `invariants`, checked at `tick`.
  void showFull(const nlohmann::json& answer, Tick tick);
  int failures() const;
  /// Whether any has ever been broken.
  bool anyFailed() const;
  /// "2 of 17 invariants are broken, first at tick 12" or "17 invariants hold".
  QString summary() const;

 private:
  void order(std::vector<InvariantLine> lines);

  std::optional<Tick> m_fullAt;
  Tick m_tick;
};

}  // namespace kvlab
