// SPDX-License-Identifier: Apache-2.0
// A kind of session: what an edit means for its sort of cache. A kind plans, applies and rebuilds; it keeps no state
// of a session but what files and measurements of this machine gave it. Kinds are listed in kinds.inc, one folder
// each. Owned by SessionParts; engine thread.
#pragma once
#include <memory>
#include <vector>

#include "core/analysis/exactness.h"
#include "core/analysis/rebuild.h"
#include "core/edit/edit_plan.h"
#include "core/kinds/base/reviser.h"

namespace kvlab {

/// What a kind may refuse.
enum class Capability : std::uint8_t { Policies, Storage, Import, QuantisationError, KeyLifespans, HeadAttention };

struct KindSizes {
  std::int64_t capacity = 0;  // resident rows per layer, as plans count them
  std::int64_t moments = 0;   // places on the time line that the rotary table reaches, position mode aside
  std::int32_t pool = 0;      // rows of a pool, without those for history
  std::int32_t room = 0;      // and besides, for rows that an edit computes beside those that it replaces
  bool keepsMasked = false;   // rows that a layer's mask has left behind keep their slots in every layout
};

struct Rebuilt {
  RebuildOutcome outcome;
  std::optional<Commit> commit;  // none where a cancelled pass has changed nothing
};

class CacheKind {
 public:
  virtual ~CacheKind() = default;
  virtual KindSizes sizes(const Manifest& manifest, const ModelConfig& config) const = 0;
  /// Takes over files that another session's kind has read, where this one wants the same.
  virtual void share(const Manifest& /*wanted*/, const CacheKind& /*other*/) {}
  /// Reads the files that the manifest names. Errors: bad_manifest for what does not go together, and the files' own.
  virtual Status open(const SessionParts& parts) = 0;
  /// Adds what an empty cache of this kind has.
  virtual void start(const SessionParts& parts, CacheState& state) const = 0;
  /// Error (code unsupported) that begins with `what` where the kind cannot do it.
  virtual Status allows(const SessionParts& parts, Capability capability, const char* what) const = 0;
  virtual std::vector<std::unique_ptr<Reviser>> revisers() const = 0;
  /// Tokens that still fit.
  virtual std::int64_t remaining(const SessionParts& parts, const CacheState& state) const = 0;

  /// What the actions would do to the state; changes nothing.
  virtual Result<EditPlan> plan(const SessionParts& parts, const CacheState& state,
                                std::vector<Action> actions) const = 0;
  /// Carries a part of a tick out. Where this fails, the state before is whole unless call.poolsTouched, and the slots
  /// of part.earlier are given back.
  virtual Result<Applied> apply(const CacheState& observed, TickPart& part, CallContext& call) = 0;
  /// Every row anew. After an error with call.poolsTouched rows are lost.
  virtual Result<Rebuilt> rebuild(const CacheState& state, CallContext& call) = 0;
  virtual Result<Drift> drift(const CacheState& state, CallContext& call) = 0;
  virtual ExactnessMap exactness(const SessionParts& parts, const CacheState& state) const = 0;
  /// Adds to a snapshot what only this kind shows.
  virtual void describe(const CacheState&, Snapshot&) const {}
};

}  // namespace kvlab
