// SPDX-License-Identifier: GPL-3.0-or-later
// Invariants, one line each, failures first. Fed by snapshots (the cheap set) and by the verb
// `invariants` (the full set). GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <nlohmann/json.hpp>

#include "core/api/snapshot.h"

namespace kvlab {

struct InvariantLine {
  InvariantState state;
  std::optional<Violation> violation = {};  // the first one the shown tick reports
  bool full = false;                        // the detail comes from a full check
};

class InvariantModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Lamp, Title, LastPass, FirstFailure, Detail, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  void show(const Snapshot& snapshot);
  /// Another session comes: no full check is known of it.
  void forget() {
    m_fullAt.reset();
    show(Snapshot());
  }
  /// The answer of the verb `invariants`, checked at `tick`.
  void showFull(const nlohmann::json& answer, Tick tick);
  const std::vector<InvariantLine>& lines() const { return m_lines; }
  int failures() const;
  /// Whether any has ever been broken.
  bool anyFailed() const;
  /// "2 of 17 invariants are broken, first at tick 12" or "17 invariants hold".
  QString summary() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QVariant text(const InvariantLine& line, int column) const;
  void replace(std::vector<InvariantLine> lines);
  std::vector<InvariantLine> m_lines;
  std::optional<Tick> m_fullAt;
  Tick m_tick;
};

}  // namespace kvlab
