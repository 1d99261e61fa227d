// SPDX-License-Identifier: Apache-2.0
// Data of a session besides its state: measurements, which every new state discards together; its health; and
// requests of readers. Engine thread.
#pragma once
#include <memory>
#include <optional>

#include "core/analysis/exactness.h"
#include "core/analysis/quantisation.h"
#include "core/analysis/rebuild.h"
#include "core/api/lifespan_view.h"
#include "core/session/alignment.h"

namespace kvlab {

struct ExplainedFile;
struct KnockOut;
struct StateDifference;

struct Measured {
  std::optional<Drift> drift;
  std::optional<Quantisation> quantisation;
  std::shared_ptr<const NewestAttention> attention;  // every layer's; null = never requested
  std::optional<ExactnessMap> exactness;
  std::shared_ptr<const StateDifference> difference;  // from the state that was compared last
  std::shared_ptr<const KnockOut> knockOut;           // the rows that were hidden last
};

/// State of the session, and the known results of each invariant.
struct Health {
  SessionState status = SessionState::Empty;
  std::string reason;  // the reason why it is broken
  AlignmentLog alignment;
  std::shared_ptr<const TickReport> report;  // report of the last tick
  std::int64_t bytesMoved = 0;               // by the last commit
  std::int64_t checks = 0;                   // ticks that were checked
};

/// Requests of readers. A new state does not discard them.
struct Watching {
  std::int64_t attentionUntil = -1;  // until this tick, passes return the newest row's attention for every layer
  std::shared_ptr<const LifespanView> lifespans;   // last measurement; its state may be older
  std::shared_ptr<const ExplainedFile> explained;  // cache of another program that was explained last
};

}  // namespace kvlab
