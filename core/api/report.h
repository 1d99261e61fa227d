// SPDX-License-Identifier: Apache-2.0
// Report of a tick: its steps as nested events with time and bytes, the actions it applied, and the invariants it
// broke; and the findings that no later check has cleared. Values; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/action.h"
#include "core/api/error.h"
#include "core/api/ids.h"

namespace kvlab {

/// A step of the tick, an action inside `apply`, or an operation inside an action.
struct Event {
  std::string name;  // "generate", "apply", "replace_pair", "compute_rows", "commit", ...
  int depth = 0;     // 0 = step of the tick, 1 = action, 2 = operation, 3 and deeper = op of the back end
  std::optional<Layer> layer = {};
  double startUs = 0;      // since the tick began
  double us = 0;           // duration, microseconds
  std::int64_t bytes = 0;  // moved, read and written
  std::string detail = {};
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
  std::vector<Event> events = {};
  std::vector<Violation> violations = {};
};

nlohmann::json toJson(const Event& event);
nlohmann::json toJson(const DamageSince& since);
nlohmann::json toJson(const Violation& violation);
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
