// SPDX-License-Identifier: Apache-2.0
// Carries out a plan of a wLOD session: tree and gists, rows and slots, then one pass over what is dirty, in order
// of arrival. New rows get slots of their own, so the state before stays whole until the caller takes the one after.
// A failure leaves nothing behind. Engine thread. semantics.md, section 8.
#pragma once
#include "core/api/wlod_settings.h"
#include "core/edit/trace.h"
#include "core/edit/wlod_plan.h"
#include "core/edit/wlod_rows.h"
#include "core/state/ledger.h"

namespace kvlab {

struct WlodApplied {
  Ledger ledger;
  WlodState state;
  LayerSlots added, freed;  // [layers] slots gained and lost against the state before
  WlodResult result;        // of the pass
  Invalidation invalidation;
  RecomputeChoice choice;
  std::vector<TreeNode> gists;  // embeddings made anew
  std::int32_t computed = 0;    // rows
  double us = 0;                // of the pass
};

class WlodTransaction {
 public:
  WlodTransaction(Transformer& transformer, CacheStore& store, FaultDoor& faults, const GistNet& net)
      : m_transformer(transformer), m_store(store), m_faults(faults), m_net(net) {}

  Result<WlodApplied> run(const Ledger& ledger, const WlodState& before, const WlodPlan& plan, Source addSource,
                          Tick now, WlodRecompute recompute, Trace& trace, const Progress& progress = {});
  /// Every row of a state computed anew, in slots of its own.
  Result<WlodApplied> rebuild(const Ledger& ledger, const WlodState& before, Trace& trace,
                              const Progress& progress = {});

 private:
  struct Work;
  void spliceTree(Work& work);
  void spliceTail(Work& work);
  LedgerId newToken(Work& work, TokenId token, Source source, std::int32_t replaces);
  LedgerId nameOf(Work& work, TreeNode node);
  void spliceRows(Work& work);
  void nameRows(Work& work);
  Status placeRows(Work& work);
  Status chooseRows(Work& work, const Progress& progress);
  Result<std::vector<double>> deviations(Work& work, const std::vector<std::int32_t>& rows, const Progress& progress);
  void leave(Work& work, const std::vector<std::int32_t>& rows);
  Status compute(Work& work, const Progress& progress);
  Result<WlodApplied> finish(Work& work, const Progress& progress);

  Transformer& m_transformer;
  CacheStore& m_store;
  FaultDoor& m_faults;
  const GistNet& m_net;
};

}  // namespace kvlab
