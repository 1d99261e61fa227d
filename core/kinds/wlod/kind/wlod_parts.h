// SPDX-License-Identifier: Apache-2.0
// Parts of a wLOD session besides its state: the gist network, the lens, and measured costs of passes.
#pragma once
#include "core/kinds/wlod/edit/wlod_mirror.h"
#include "core/kinds/wlod/tree/cost_meter.h"
#include "core/kinds/wlod/tree/lens.h"

namespace kvlab {

struct WlodParts {
  std::shared_ptr<const GistNet> gists;
  std::string gistContent;  // "mean", or the content hash of the network's file
  Lens lens;
  CostMeter costs;

  /// Attention that a lens network now predicts for the entries; empty without a network.
  std::vector<double> foreseen(const CacheState& state, const Model& model) const;
  /// One score per entry; empty while the lens has no input.
  std::vector<double> scores(const WlodState& state) const;
};

/// Ratios of the last change, and of the present levels.
WlodRatios ratiosOf(const WlodState& state, int layers);
/// The report that snapshots carry.
WlodView describeWlod(const WlodState& state, int layers, const WlodParts& parts);

}  // namespace kvlab
