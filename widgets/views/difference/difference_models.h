// SPDX-License-Identifier: GPL-3.0-or-later
// A difference of two states as the engine answers it (values and a pure function; any thread), and as two tables: a
// line per layer, and a line per row of one layer. Models: owned by their view, GUI thread.
#pragma once
#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

/// One row of a layer that is not alike in both states.
struct DifferentRow {
  enum class What : std::uint8_t { OnlyThen, OnlyNow, Differs, ExactnessOnly };
  What what = What::Differs;
  LedgerId row;       // OnlyThen: its id in the other state
  QString text = {};  // OnlyThen, where the shown ledger has another token under the id
  double phaseThen = 0, phaseNow = 0;
  double k = 0, v = 0;     // |now - then| / max(|now|, |then|)
  double typed = -1;       // of a cache of another program: what its type alone explains, the larger of K and V
  QString exactness = {};  // "exact to context-edited"; empty = the same
  int position = -1;       // in the shown context; -1 = none
  bool marked = false;     // the chosen cause accounts for it
};

struct DifferentLayer {
  CacheLayer layer;
  QString typeThen, typeNow;
  int onlyThen = 0, onlyNow = 0, changed = 0, moved = 0, same = 0;
  double worstK = 0, worstV = 0;
  std::vector<DifferentRow> rows = {};  // rows that left, rows that came, then the others, each by ledger id
  bool marked = false;                  // the chosen cause accounts for rows of it
};

/// Rows that a cause of an explanation accounts for, or that none does.
struct DifferenceReach {
  std::vector<CacheLayer> layers = {};  // ascending
  int kvHead = 0;                       // the first
  std::vector<LedgerId> rows = {};      // in the order of the text
  QString text = {};                    // "tokens 40 to 63 in layers 1 to 3"; empty = no rows

  bool has(CacheLayer layer) const;
};

/// A line of the explanation of a cache that another program wrote.
struct DifferenceCause {
  enum class What : std::uint8_t { Cause, Left, Type, Rival };
  What what = What::Cause;
  QString text;
  double left = 0;    // relative L2; Cause: what would be left without it, Rival: what it leaves
  double wrong = -1;  // share of rows above their bound; -1 = unknown
  DifferenceReach reach = {};
};

struct DifferenceFound {
  Tick then, now;
  bool alike = true;
  std::optional<double> kl = {};
  QString edit = {};                        // that lies between both, where the engine has named it
  int tokensThen = 0, tokensNow = 0;        // in the context of one state only
  std::vector<DifferentLayer> layers = {};  // [cache layers]
  QString verdict = {};                     // of the explanation; empty = the other state is one of kvlab
  std::vector<DifferenceCause> causes = {};
};

/// Reads the reply to `difference` and its siblings. Error: bad_reply.
Result<DifferenceFound> differenceFound(const nlohmann::json& reply);

class DifferenceCauses : public LineModel<DifferenceCause> {
  Q_OBJECT
 public:
  explicit DifferenceCauses(QObject* parent);
  void show(std::vector<DifferenceCause> causes) { replace(std::move(causes)); }
};

class DifferentLayers : public LineModel<DifferentLayer> {
  Q_OBJECT
 public:
  explicit DifferentLayers(QObject* parent);
  /// of: the snapshot that names the layers.
  void show(std::vector<DifferentLayer> layers, SnapshotPtr of);
  void mark(const DifferenceReach& reach);

 private:
  void addCount(const char* id, const QString& title, const QString& tip, int gives, int DifferentLayer::*count);
  void addWorst(const char* id, const QString& title, const QString& tip, double DifferentLayer::*worst);

  SnapshotPtr m_of;
};

class DifferentRows : public LineModel<DifferentRow> {
  Q_OBJECT
 public:
  explicit DifferentRows(QObject* parent);
  /// of: the snapshot that has the tokens of the rows.
  void show(std::vector<DifferentRow> rows, SnapshotPtr of);
  /// rows: ascending.
  void mark(const std::vector<LedgerId>& rows);
  /// Line of a row that both states, or the shown one, have; -1 = none.
  int lineOf(LedgerId row) const;

 private:
  void addApart(const char* id, const QString& title, const QString& tip, double DifferentRow::*apart);
  QString tokenOf(const DifferentRow& row) const;

  SnapshotPtr m_of;
};

}  // namespace kvlab
