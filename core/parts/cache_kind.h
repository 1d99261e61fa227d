// SPDX-License-Identifier: Apache-2.0
// A kind of session: how edits change its sort of cache. A kind plans, applies and rebuilds. It keeps no session state;
// it only keeps files that it has read and costs that it has measured on this machine. parts/kinds.h has their
// list. Owned by SessionParts; engine thread.
#pragma once
#include <memory>
#include <vector>

#include "core/analysis/exactness.h"
#include "core/analysis/rebuild.h"
#include "core/edit/edit_plan.h"
#include "core/parts/reviser.h"

namespace kvlab {

/// Features that a kind may refuse.
enum class Capability : std::uint8_t { Policies, Storage, Import, QuantisationError, KeyLifespans, HeadAttention };

struct KindSizes {
  std::int64_t capacity = 0;  // resident rows per layer, as the planner counts them
  std::int64_t moments = 0;   // time line positions that the rotary table reaches, without position mode cache
  std::int32_t pool = 0;      // rows of a pool, without rows for history
  std::int32_t room = 0;      // further rows, for rows that an edit computes next to the rows that they replace
  bool keepsMasked = false;   // rows that a layer's mask has left behind keep their slots in every layout
};

class KindFile;

struct Rebuilt {
  RebuildOutcome outcome;
  std::optional<Commit> commit;  // empty if a cancelled pass has changed nothing
};

class CacheKind {
 public:
  virtual ~CacheKind() = default;
  virtual KindSizes sizes(const Manifest& manifest, const ModelConfig& config) const = 0;
  /// Takes over files that another session's kind has read, if this kind needs the same files.
  virtual void share(const Manifest& /*wanted*/, const CacheKind& /*other*/) {}
  /// Reads the files that the manifest names. Errors: bad_manifest for incompatible keys, and the errors of the files.
  virtual Status open(const SessionParts& parts) = 0;
  /// Adds the content of an empty cache of this kind.
  virtual void start(const SessionParts& parts, CacheState& state) const = 0;
  /// Error (code unsupported) whose `what` is given by the caller, if the kind does not support the capability.
  virtual Status allows(const SessionParts& parts, Capability capability, const char* what) const = 0;
  virtual std::vector<std::unique_ptr<Reviser>> revisers() const = 0;
  /// Tokens that still fit.
  virtual std::int64_t remaining(const SessionParts& parts, const CacheState& state) const = 0;

  /// Plans the actions; changes nothing.
  virtual Result<EditPlan> plan(const SessionParts& parts, const CacheState& state,
                                std::vector<Action> actions) const = 0;
  /// Applies a part of a tick. After an error of this function or another one that changes something, the session
  /// brings back the previous state.
  virtual Result<Applied> apply(const CacheState& observed, TickPart& part, CallContext& call) = 0;
  /// Ends a tick whose last part waits: evicts rows from layers and settles.
  virtual Result<Applied> evict(Applied applied, std::vector<Action> evictions, const TransactionRules& rules,
                                CallContext& call);
  /// Runs rows of the context once more over the present rows; writes only free slots.
  virtual Result<RowsBrought> look(const CacheState& state, const QueryPass& pass, const TransactionRules& rules,
                                   CallContext& call);
  /// Computes every row again.
  virtual Result<Rebuilt> rebuild(const CacheState& state, CallContext& call) = 0;
  /// One row as a rebuild computes and stores it; the state stays. Errors: out_of_range, if a rebuild has no such row.
  virtual Result<RowPair> rebuiltRow(const CacheState& state, CacheLayer layer, LedgerId id, CallContext& call) = 0;
  virtual Result<Drift> drift(const CacheState& state, CallContext& call) = 0;
  virtual ExactnessMap exactness(const SessionParts& parts, const CacheState& state) const = 0;
  /// The additional content of native cache files of such a session; null = nothing.
  virtual std::shared_ptr<const KindFile> file(const CacheState&) const { return nullptr; }
  /// A note to the user about the parts that the session was opened with; empty = none. open() comes before.
  virtual std::string notice() const { return {}; }
  /// Adds the data that only this kind has to a snapshot.
  virtual void describe(const CacheState&, Snapshot&) const {}
  /// The labels of the last layer alone, [length]; empty where exactness() has no layers.
  virtual std::vector<Exactness> lastExactness(const SessionParts& parts, const CacheState& state) const {
    ExactnessMap map = exactness(parts, state);
    return map.layers.empty() ? std::vector<Exactness>() : std::move(map.layers.back());
  }

  // Three forms of look().
  /// A copy of the state with logits and attention of its last row over the present rows, as rules.wanted requests.
  Result<CacheState> query(const CacheState& state, const TransactionRules& rules, CallContext& call);
  /// Attention of the last `queries` tokens (0 = all), and moments of queries from a position on.
  Result<Observation> observe(const CacheState& state, std::int32_t queries, std::int32_t momentsFrom,
                              const TransactionRules& rules, CallContext& call);
  /// Attention of the row at a context position, by head: receivedPerHead in the last of the model's first `layers`
  /// layers. Null for a row that is no query.
  Result<std::shared_ptr<const NewestAttention>> attended(const CacheState& state, Position query, int layers,
                                                          const TransactionRules& rules, CallContext& call);
};

}  // namespace kvlab
