// SPDX-License-Identifier: Apache-2.0
// Applies a plan: reserves slots, splices maps and mirror, computes the new rows, settles the layout. The returned
// state replaces the previous one in a single assignment. On error the previous state is unchanged. Its rows are
// unchanged too, unless an in-place layout had begun to move rows or keys rotated at write had been shifted.
// semantics.md, section 3. Engine thread.
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
  Wanted wanted;            // for the pass of the newest row; gates score all new rows
  bool keepLogits = false;  // rows leave after the pass that made the logits: the logits stay fresh
  bool probes = true;       // measure the error of shifted keys
  bool guards = false;
  bool toFront = false;   // most new rows have left, see LayoutSet::settle()
  bool pending = false;   // more parts of the tick follow: rows stay where they were computed
  std::int32_t more = 0;  // tokens of the same tick that follow and need room
  SpliceRules splice;
};

/// A state that is not committed yet.
struct Applied : Commit {
  std::int32_t rows = 0;               // number of new rows
  bool appended = true;                // no other change
  std::vector<Action> evictions = {};  // that policies have decided and nobody has carried out
};

class Transaction {
 public:
  /// transformer may be null: then new rows keep the content of their slots (benchmarks of splicing).
  Transaction(Transformer* transformer, CacheStore& store, const LayoutSet& layouts, FaultDoor& faults)
      : m_transformer(transformer), m_store(store), m_layouts(layouts), m_faults(faults) {}

  /// earlier: results of earlier runs of the same tick with rules.pending; `before` is their state, and their rows
  /// settle with this run. After an error the earlier results are of no use, too, and the slots of
  /// both stay taken: a session frees what no state names, and brings rows back from the log.
  Result<Applied> run(const CacheState& before, const EditPlan& plan, const TransactionRules& rules, Trace& trace,
                      const Progress& progress = {}, const Applied* earlier = nullptr);

  /// Runs a pass over the rows of the state. Writes only free slots.
  Result<RowsBrought> look(const CacheState& state, const QueryPass& pass, const TransactionRules& rules);

 private:
  struct Work;
  Status compute(Work& work, const Progress& progress);
  Status computeInserted(Work& work, const Progress& progress);
  Status reserveRecomputed(Work& work);
  Status chooseRecomputed(Work& work);
  Status turnKeys(Work& work);
  Status computeJob(Work& work, RowsJob job, const Progress& progress);
  static void keepSurprise(Work& work, const std::vector<RowTarget>& rows, const std::vector<float>& surprise);

  Transformer* m_transformer;
  CacheStore& m_store;
  const LayoutSet& m_layouts;
  FaultDoor& m_faults;
};

}  // namespace kvlab
