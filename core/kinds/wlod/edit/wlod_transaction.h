// SPDX-License-Identifier: Apache-2.0
// Carries out a plan of a wLOD session: tree and gists, rows and slots, then one pass over the dirty rows, in order of
// arrival. New rows get slots of their own, so the state before stays whole until commit() settles the layouts, as
// Transaction does for other sessions. A failure before leaves nothing behind. Engine thread. semantics.md, section 8.
#pragma once
#include "core/api/wlod_settings.h"
#include "core/edit/trace.h"
#include "core/edit/transaction.h"
#include "core/kinds/wlod/edit/wlod_plan.h"
#include "core/kinds/wlod/edit/wlod_rows.h"
#include "core/state/ledger.h"

namespace kvlab {

struct WlodApplied {
  Ledger ledger;
  WlodState state;
  std::vector<Column<Slot>> slots;   // [cache layers][rows of the state], -1 = the layer does not hold the row
  std::vector<MissingRows> missing;  // [cache layers] rows of the state that were evicted
  LayerSlots added, freed;           // [cache layers] slots gained and lost against the state before
  bool appended = false;             // rows only came behind the last one
  WlodResult result;                 // result of the pass
  std::vector<std::int32_t> rows;    // rows that were computed
  bool all = false;                  // every row was computed
  Invalidation invalidation;
  RecomputeChoice choice;
  std::vector<TreeNode> gists;  // gists that were made
  std::int32_t computed = 0;    // number of computed rows
  std::vector<bool> layer0;     // [rows] computed except for layer 0, which stayed
  double us = 0;                // microseconds of the pass
  double chooseUs = 0;          // microseconds in which rows were chosen before it
};

/// The embedding of a token as the model stores it, widened.
std::vector<float> embeddingOf(const Model& model, TokenId token);

struct WlodMirrorRules;

class WlodTransaction {
 public:
  WlodTransaction(Transformer& transformer, CacheStore& store, const LayoutSet& layouts, FaultDoor& faults,
                  const GistNet& net)
      : m_transformer(transformer), m_store(store), m_layouts(layouts), m_faults(faults), m_net(net) {}

  Result<WlodApplied> run(const CacheState& before, const WlodPlan& plan, Source addSource, WlodRecompute recompute,
                          const Wanted& wanted, Trace& trace, const Progress& progress = {});
  /// Computes every row of a state again, in new slots.
  Result<WlodApplied> rebuild(const CacheState& before, Trace& trace, const Progress& progress = {});
  /// Runs a pass over the entries of the state. Writes only free slots; a summary is asked like a token.
  Result<RowsBrought> look(const CacheState& state, const QueryPass& pass);
  /// The state that follows `before`, settled, unless rules.pending: then Transaction::run() settles it.
  Result<Applied> commit(const CacheState& before, WlodApplied applied, const WlodMirrorRules& rules, Trace& trace);

 private:
  struct Work;
  Status spliceTree(Work& work);
  void spliceTail(Work& work);
  LedgerId newToken(Work& work, TokenId token, Source source, std::int32_t replaces);
  LedgerId nameOf(Work& work, TreeNode node);
  void spliceRows(Work& work);
  void nameRows(Work& work);
  void findMissing(Work& work);
  void chooseFrom(Work& work);
  Status placeRows(Work& work);
  WlodJob jobOf(const Work& work) const;
  Status chooseRows(Work& work, const Progress& progress);
  Result<std::vector<std::int32_t>> keptOf(Work& work, const std::vector<std::int32_t>& candidates,
                                           const Progress& progress);
  Result<std::vector<double>> deviations(Work& work, const std::vector<std::int32_t>& candidates,
                                         const std::vector<std::int32_t>& rows, const Progress& progress);
  void leave(Work& work, const std::vector<std::int32_t>& rows);
  void forgetScratch(Work& work);
  bool needsLeft(const Work& work, std::int32_t from) const;
  void leaveRings(const CacheState& before, WlodApplied& applied, const WlodMirrorRules& rules);
  Status compute(Work& work, const Progress& progress);
  Result<WlodApplied> finish(Work& work, const Progress& progress);

  Transformer& m_transformer;
  CacheStore& m_store;
  const LayoutSet& m_layouts;
  FaultDoor& m_faults;
  const GistNet& m_net;
};

}  // namespace kvlab
