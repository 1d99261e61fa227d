// SPDX-License-Identifier: Apache-2.0
// Carries out a plan: reserve slots, splice maps and mirror, compute the new rows, settle the
// layout. The state it returns replaces the one before in a single assignment; on any error the
// state before is untouched and, unless an in-place layout had begun to move rows, so is every row it
// names; neither are they with keys rotated at write once these have been shifted. semantics.md,
// section 3. Engine thread.
#pragma once
#include "core/edit/compute_rows.h"
#include "core/edit/edit_plan.h"
#include "core/edit/splice.h"
#include "core/edit/trace.h"
#include "core/layout/layout_set.h"
#include "core/state/commit.h"

namespace kvlab {

struct TransactionRules {
  Executor executor = Executor::Batch;
  AfterEdit afterEdit = AfterEdit::Keep;
  double selectiveRatio = 0.15;
  NewRows newRows = NewRows::Forward;
  Wanted wanted;            // of the pass that computes the newest row; gates score all new rows
  bool keepLogits = false;  // rows leave after the pass that made the logits: they stay true
  bool probes = true;       // what turning keys costs them is measured
  bool guards = false;
  bool toFront = false;   // most new rows have left, see LayoutSet::settle()
  bool pending = false;   // rows stay where they were computed: more of the same tick follow
  std::int32_t more = 0;  // tokens that follow in the same tick, for which there has to be room, too
  SpliceRules splice;
};

/// What waits for its commit.
struct Applied : Commit {
  std::int32_t rows = 0;  // new ones
  bool appended = true;   // and nothing else happened
};

class Transaction {
 public:
  /// transformer may be null: then new rows keep whatever their slots hold (benches of the knife).
  Transaction(Transformer* transformer, CacheStore& store, const LayoutSet& layouts, FaultDoor& faults)
      : m_transformer(transformer), m_store(store), m_layouts(layouts), m_faults(faults) {}

  /// earlier: runs of the same tick with rules.pending, whose rows settle with this one's; `before` is
  /// the state that they left. Where this fails, so do they.
  Result<Applied> run(const CacheState& before, const EditPlan& plan, const TransactionRules& rules, Trace& trace,
                      const Progress& progress = {}, const Applied* earlier = nullptr);
  /// True if the last run() failed after rows had begun to move or to turn in place.
  bool poolsTouched() const { return m_poolsTouched; }

  /// The state with the logits and attention of its last row over its present rows: the read-only
  /// query pass; of rules.wanted it brings what is said of the newest row. Writes nothing that the state names.
  Result<CacheState> query(const CacheState& state, const TransactionRules& rules, Trace& trace);
  /// What the last `queries` rows (0 = all) look at, and the moments of their queries from a position on:
  /// a read-only pass, like query().
  Result<Observation> observe(const CacheState& state, std::int32_t queries, std::int32_t momentsFrom,
                              const TransactionRules& rules, Trace& trace, const Progress& progress);

 private:
  struct Work;
  Status compute(Work& work, const Progress& progress);
  Status computeInserted(Work& work, const Progress& progress);
  Status reserveRecomputed(Work& work);
  Status chooseRecomputed(Work& work);
  Status turnKeys(Work& work);
  Status computeJob(Work& work, RowsJob job, const Progress& progress);

  Transformer* m_transformer;
  CacheStore& m_store;
  const LayoutSet& m_layouts;
  FaultDoor& m_faults;
  bool m_poolsTouched = false;
};

}  // namespace kvlab
