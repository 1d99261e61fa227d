// SPDX-License-Identifier: Apache-2.0
// What a session knows besides its state: what was measured of it, which another state forgets by one assignment,
// its health, and what readers wait for. Engine thread.
#pragma once
#include <memory>
#include <optional>

#include "core/analysis/exactness.h"
#include "core/analysis/quantisation.h"
#include "core/analysis/rebuild.h"
#include "core/api/lifespan_view.h"
#include "core/session/alignment.h"

namespace kvlab {

struct Measured {
  std::optional<Drift> drift;
  std::optional<Quantisation> quantisation;
  std::shared_ptr<const NewestAttention> attention;  // in every layer; null = nobody asked
  std::optional<ExactnessMap> exactness;
};

/// Whether a session can be used, and what its invariants said last.
struct Health {
  SessionState status = SessionState::Empty;
  std::string reason;  // why it is broken
  std::vector<InvariantState> invariants;
  AlignmentLog alignment;
  std::shared_ptr<const TickReport> report;  // of the last tick
  std::int64_t bytesMoved = 0;               // by the last commit
  std::int64_t checks = 0;                   // ticks that were checked
};

/// What readers have asked for; the present state does not matter to it.
struct Watching {
  std::int64_t attentionUntil = -1;  // ticks that bring the newest row's attention in every layer by themselves
  std::shared_ptr<const LifespanView> lifespans;  // the last measurement, of some earlier state
};

}  // namespace kvlab
