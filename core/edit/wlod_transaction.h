// SPDX-License-Identifier: Apache-2.0
// Carries out a plan of a wLOD session: tree and gists, rows and slots, then one pass over what is dirty, in order of
// arrival. New rows get slots of their own, so the state before stays whole until commit() settles the layouts, as
// Transaction does for other sessions. A failure before leaves nothing behind. Engine thread. semantics.md, section 8.
#pragma once
#include "core/api/wlod_settings.h"
#include "core/edit/trace.h"
#include "core/edit/transaction.h"
#include "core/edit/wlod_plan.h"
#include "core/edit/wlod_rows.h"
#include "core/state/ledger.h"

namespace kvlab {

struct WlodApplied {
  Ledger ledger;
  WlodState state;
  std::vector<Column<Slot>> slots;  // [cache layers][rows of the state]
  LayerSlots added, freed;          // [cache layers] slots gained and lost against the state before
  bool appended = false;            // rows only came behind the last one
  WlodResult result;                // result of the pass
  Invalidation invalidation;
  RecomputeChoice choice;
  std::vector<TreeNode> gists;  // gists that were made
  std::int32_t computed = 0;    // number of computed rows
  std::vector<bool> layer0;     // [rows] computed but for layer 0, which stayed
  double us = 0;                // microseconds of the pass
};

struct WlodMirrorRules;

class WlodTransaction {
 public:
  WlodTransaction(Transformer& transformer, CacheStore& store, const LayoutSet& layouts, FaultDoor& faults,
                  const GistNet& net)
      : m_transformer(transformer), m_store(store), m_layouts(layouts), m_faults(faults), m_net(net) {}

  Result<WlodApplied> run(const CacheState& before, const WlodPlan& plan, Source addSource, WlodRecompute recompute,
                          Trace& trace, const Progress& progress = {});
  /// Computes every row of a state again, in new slots.
  Result<WlodApplied> rebuild(const CacheState& before, Trace& trace, const Progress& progress = {});
  /// The state that follows `before`, settled. Where this fails, the slots of `applied` are given back, unless
  /// poolsTouched().
  Result<Applied> commit(const CacheState& before, WlodApplied applied, const WlodMirrorRules& rules, Trace& trace);
  /// True if the last commit() failed after rows had begun to move in place.
  bool poolsTouched() const { return m_poolsTouched; }

 private:
  struct Work;
  void spliceTree(Work& work);
  void spliceTail(Work& work);
  LedgerId newToken(Work& work, TokenId token, Source source, std::int32_t replaces);
  LedgerId nameOf(Work& work, TreeNode node);
  void spliceRows(Work& work);
  void nameRows(Work& work);
  void chooseFrom(Work& work);
  Status placeRows(Work& work);
  WlodJob jobOf(const Work& work) const;
  Status chooseRows(Work& work, const Progress& progress);
  Result<std::vector<double>> deviations(Work& work, const std::vector<std::int32_t>& rows, const Progress& progress);
  void leave(Work& work, const std::vector<std::int32_t>& rows);
  Status compute(Work& work, const Progress& progress);
  Result<WlodApplied> finish(Work& work, const Progress& progress);

  Transformer& m_transformer;
  CacheStore& m_store;
  const LayoutSet& m_layouts;
  FaultDoor& m_faults;
  const GistNet& m_net;
  bool m_poolsTouched = false;
};

}  // namespace kvlab
