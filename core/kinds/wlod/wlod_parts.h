// SPDX-License-Identifier: Apache-2.0
// What a wLOD session has besides its state: the gist network, the lens, and what passes cost on this machine.
#pragma once
#include "core/edit/wlod_mirror.h"
#include "core/wlod/cost_meter.h"
#include "core/wlod/lens.h"

namespace kvlab {

struct WlodParts {
  std::shared_ptr<const GistNet> gists;
  Lens lens;
  CostMeter costs;

  /// By entry; empty where the lens has nothing to go by yet.
  std::vector<double> scores(const WlodState& state) const;
};

/// Shares of the last change, and of levels now.
WlodRatios ratiosOf(const WlodState& state, int layers);
/// What readers see.
WlodView describeWlod(const WlodState& state, int layers, const WlodParts& parts);

}  // namespace kvlab
