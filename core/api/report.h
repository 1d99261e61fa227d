// SPDX-License-Identifier: Apache-2.0
// Report of a tick: its steps as nested events with time and bytes, the actions it applied, and the invariants it
// broke; and the findings that no later check has cleared. Values; any thread.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/action.h"
#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/storage_view.h"

namespace kvlab {

/// A ring behind a commit.
struct RingCommit {
  CacheLayer layer;  // the first of `layers` whose rings are the same
  std::int32_t layers = 1;
  std::int64_t length = 0;  // rows that the map counts, with or without a slot
  std::int64_t offset = 0;  // rows ever written
  std::int32_t shift = 0;   // slots by which the oldest of the rows that stayed has moved towards slot 0
  RingRun write;            // slots of the rows that the commit made and kept, around the end
  std::int32_t pointer = 0, filled = 0;
};
/// A window that a pass copied for its last queries.
struct RingRead {
  CacheLayer layer;  // the first of `layers`
  std::int32_t layers = 1;
  std::int32_t pointer = 0;   // of the ring before the pass
  std::vector<RingRun> runs;  // slots, in the order of the copy
  std::int64_t rows() const;
};

/// What an event says of rings; most say nothing.
struct RingEvent {
  std::vector<RingCommit> commits = {};  // of `commit`
  std::vector<RingRead> reads = {};      // of `compute_rows`
};

/// A step of the tick, an action inside `apply`, or an operation inside an action.
struct Event {
  std::string name;  // "generate", "apply", "replace_pair", "compute_rows", "commit", ...
  int depth = 0;     // 0 = step of the tick, 1 = action, 2 = operation, 3 and deeper = op of the back end
  std::optional<Layer> layer = {};
  double startUs = 0;      // since the tick began
  double us = 0;           // duration, microseconds
  std::int64_t bytes = 0;  // moved, read and written
  std::string detail = {};
  std::shared_ptr<const RingEvent> rings = {};
};

/// Between which ticks damage came: a check passed the place after one of them, and a check found it wrong after
/// `found`.
struct DamageSince {
  std::optional<Tick> verified = {};  // the last check that passed the place; none: no check has since it is there
  std::optional<Tick> computed = {};  // the tick in which the row came, if no check has passed it
  Tick found;
  std::optional<Tick> reached = {};  // a later tick, from which the session came back in between
};
/// "between tick 12 (verified) and tick 41 (found)"
std::string intervalText(const DamageSince& since);

struct Violation {
  std::string invariant;  // id of the invariant
  std::string detail;
  std::optional<CacheLayer> layer = {};
  std::optional<Index> index = {};
  std::optional<LedgerId> ledger = {};
  std::optional<DamageSince> since = {};  // as soon as a session knows
};

/// "layer 0 and 3 more: length 61, offset 61, shift 0, write 1 at 12, pointer 13, filled 24"
std::string ringText(const RingCommit& ring);
/// "layer 2: reads 18 at 30 and 6 at 0"
std::string ringText(const RingRead& read);

/// Conversions of a tick's rows, K or V of one layer, to a type with scales.
struct Conversions {
  std::int64_t values = 0;     // that were converted
  std::int64_t nonFinite = 0;  // of these not a number or infinite
  std::int64_t clipped = 0;    // finite ones that the type cannot hold
  std::int64_t atMax = 0;      // codes at the limit of the type
  std::int64_t scales = 0;     // finite ones, one for each head and row
  std::int64_t floored = 0;    // at the smallest scale there is
  double scaleMin = 0, scaleMean = 0, scaleMax = 0;

  /// Of both together.
  void add(const Conversions& from);
};
struct LayerConversions {
  CacheLayer layer;
  Conversions k, v;
};

/// Those of K and V of the layers, together.
Conversions together(const std::vector<LayerConversions>& layers);
/// "12 of 4096 values at the limit, 0 not finite, scales 0.001 to 0.02, mean 0.004"
std::string conversionsText(const Conversions& all);

/// What became of a pair of neighbours that culling looked at.
enum class CullOutcome : std::uint8_t {
  Culled,       // one token takes its place
  NoNearToken,  // no token of the vocabulary is near enough, so it stays
  Pinned,       // one of its tokens is
  Listed,       // an action of the user touches it
  NotResident,  // the last layer lacks one of its tokens
  Overlaps,     // it shares a token with a dimmer pair that was chosen
  Enough,       // the next pair behind as many as the rule takes
};
inline constexpr std::string_view kCullOutcomes[] = {"culled",       "no_near_token", "pinned", "listed",
                                                     "not_resident", "overlaps",      "enough"};
constexpr std::string_view name(CullOutcome outcome) { return kCullOutcomes[static_cast<std::size_t>(outcome)]; }

/// A pair that culling chose, or one that was as dim and was passed over.
struct CulledPairNote {
  Position first;        // of its two positions in the context before the tick
  LedgerId ledger[2];    // its tokens
  float brightness = 0;  // of the brighter one, by which pairs are chosen
  CullOutcome outcome = CullOutcome::Culled;
  std::optional<TokenId> token = {};  // that took its place

  std::string text() const;  // "positions 48 and 49, brightness 3.2: pinned"
};

struct TickReport {
  bool ok = true;
  std::optional<Error> error = {};
  Tick tick;
  std::optional<TokenId> token = {};  // the generated or forced token; the last one of a block
  std::vector<TokenId> block = {};    // all tokens of the tick
  std::string text = {};              // text of all of them
  std::vector<Action> actions = {};
  std::vector<CulledPairNote> culling = {};  // by brightness; empty: culling was not asked, or the context is short
  std::vector<Evict> left = {};              // rows that windows have left behind, by layer
  std::vector<LayerConversions> conversions = {};  // of layers whose types have scales
  std::vector<Event> events = {};
  std::vector<Violation> violations = {};
};

nlohmann::json toJson(const RingCommit& ring);
nlohmann::json toJson(const RingRead& read);
nlohmann::json toJson(const Event& event);
nlohmann::json toJson(const DamageSince& since);
nlohmann::json toJson(const Violation& violation);
nlohmann::json toJson(const Conversions& conversions);
nlohmann::json toJson(const LayerConversions& one);
nlohmann::json toJson(const CulledPairNote& note);
nlohmann::json toJson(const TickReport& report);

/// A violation that a check has named and no later check has cleared.
struct Finding {
  Violation violation;  // as the newest check has named it, with the ticks between which it came
  std::string blame;    // the events between these ticks: "fault (tick 1) wrote the row in between"

  const DamageSince& since() const { return *violation.since; }
};

/// The known agreement of the cache and its mirror.
struct Alignment {
  std::vector<Finding> findings;
  Tick checked{-1};       // after which every map and tag was checked; -1 = never
  Tick full{-1};          // after which everything was
  std::string unchecked;  // the command since then; empty: the present state is the checked one
};

}  // namespace kvlab
