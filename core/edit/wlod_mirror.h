// SPDX-License-Identifier: Apache-2.0
// The mirror of a wLOD session: context, phases, maps, brightness and attention of the state after a transaction, all
// written from its rows, so that readers need not know of wLOD. Positions are entries of the working context. Pure;
// engine thread. semantics.md, sections 4 and 8.
#pragma once
#include "core/edit/splice.h"
#include "core/edit/wlod_transaction.h"

namespace kvlab {

struct WlodMirrorRules {
  SpliceRules splice;
  const LayoutSet& layouts;
  bool probes = true;
  std::vector<double> lens = {};  // [layers of the model] weights of attention; empty = alike
  double memory = 0;              // share that attention so far keeps in the running mean
};

/// before: the state that the transaction started from; applied: what came of it, whose wLOD state moves over.
CacheState mirrored(const CacheState& before, WlodApplied&& applied, const WlodMirrorRules& rules);

/// Values by entry for another tiling of the time line: an entry that was there keeps its own; a child has its gist's
/// and a gist the highest of what it covers, or if `sums` its part of it and the sum; `fresh` for later moments.
std::vector<double> carried(const WorkingContext& before, std::span<const double> values, const WorkingContext& after,
                            double fresh, bool sums);

}  // namespace kvlab
