// SPDX-License-Identifier: Apache-2.0
// The mirror of a wLOD session: derives context, phases, maps, brightness and attention from the rows after a
// transaction, so that readers need no knowledge of wLOD. Positions are entries of the working context. Pure; engine
// thread. semantics.md, sections 4 and 8.
#pragma once
#include "core/edit/splice.h"
#include "core/kinds/wlod/edit/wlod_transaction.h"

namespace kvlab {

struct WlodMirrorRules {
  SpliceRules splice;
  const LayoutSet& layouts;
  bool probes = true;
  std::vector<double> lens = {};  // [layers of the model] weights of attention; empty = alike
  double memory = 0;              // weight of the old value in the running mean of attention
  int kvHeads = 1;                // KV heads of the model
  std::int32_t ringWindow = 0;    // moments that rings keep; 0 = all
  bool pending = false;           // the commit is not settled yet
};

/// before: the state before the transaction; applied: its result, whose wLOD state is moved from.
CacheState mirrored(const CacheState& before, WlodApplied&& applied, const WlodMirrorRules& rules);

/// Attention of a pass by entry, in the form that readers know: a row of a summary counts for the entries under it.
/// rows: as WlodResult has it.
std::shared_ptr<NewestAttention> attentionOf(const CacheState& state, const NewestAttention& rows);

/// Carries one value per entry over to another tiling of the time line. Unchanged entries keep their value. Children
/// get the value of their gist, a gist the maximum of its entries. With `sums` children share the value equally and a
/// gist gets the sum. Moments behind the old end get `fresh`.
std::vector<double> carried(const WorkingContext& before, std::span<const double> values, const WorkingContext& after,
                            double fresh, bool sums);

}  // namespace kvlab
