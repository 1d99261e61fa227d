// SPDX-License-Identifier: Apache-2.0
// Applies a plan of a wLOD session: changes tree and gists, places rows, then computes dirty rows in one pass, in order
// of arrival. New rows get new slots, so the previous state stays intact until the caller takes the next one. On error
// all new slots are freed. Engine thread. semantics.md, section 8.
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
  LayerSlots added, freed;  // [layers] slots gained and lost against the previous state
  WlodResult result;        // result of the pass
  Invalidation invalidation;
  RecomputeChoice choice;
  std::vector<TreeNode> gists;  // gists that were made
  std::int32_t computed = 0;    // number of computed rows
  double us = 0;                // microseconds of the pass
};

class WlodTransaction {
 public:
  WlodTransaction(Transformer& transformer, CacheStore& store, FaultDoor& faults, const GistNet& net)
      : m_transformer(transformer), m_store(store), m_faults(faults), m_net(net) {}

  Result<WlodApplied> run(const Ledger& ledger, const WlodState& before, const WlodPlan& plan, Source addSource,
                          Tick now, WlodRecompute recompute, Trace& trace, const Progress& progress = {});
  /// Computes every row of a state again, in new slots.
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
