// SPDX-License-Identifier: Apache-2.0
// Parts of a wLOD session besides its state: the gist network, the lens, and measured costs of passes; and the reviser
// that runs the focus allocator. Engine thread.
#pragma once
#include "core/api/wlod_settings.h"
#include "core/kinds/wlod/edit/wlod_mirror.h"
#include "core/kinds/wlod/tree/invalidation.h"
#include "core/kinds/wlod/tree/lens.h"
#include "core/parts/reviser.h"

namespace kvlab {

struct WlodParts {
  std::shared_ptr<const GistNet> gists;
  std::string gistContent;  // "mean", or the content hash of the network's file
  Lens lens;
  CostMeter costs;

  /// Attention that a lens network now predicts for the entries; empty without a network.
  std::vector<double> foreseen(const CacheState& state, const Model& model) const;
  /// Scores that a rule from outside gives the entries. Error: bad_lens.
  Result<std::vector<double>> asked(const CacheState& state, const Model& model) const;
  /// One score per entry; empty while the lens has no input.
  std::vector<double> scores(const WlodState& state) const;
};

/// Ratios of the last change, and of the present levels.
WlodRatios ratiosOf(const WlodState& state, int layers);
/// The report that snapshots carry.
WlodView describeWlod(const WlodState& state, int layers, const WlodParts& parts);

// The focus allocator of a wLOD session. Before a tick it adds expansions and collapses: in a round that is due, or to
// make room for new tokens. Engine thread. semantics.md, section 8.

/// Number of tokens that a list of actions adds.
std::int32_t addsIn(const std::vector<Action>& actions);

class FocusReviser : public Reviser {
 public:
  /// The session's kind owns both and outlives this object.
  FocusReviser(const WlodParts& parts, const WlodSettings& settings) : m_parts(parts), m_settings(settings) {}
  Status before(CacheState& observed, TickPart& part, CallContext& call) const override;
  bool wantsTick(const CacheState& state, CallContext& call) const override;

 private:
  const WlodParts& m_parts;
  const WlodSettings& m_settings;
};

}  // namespace kvlab
