// SPDX-License-Identifier: Apache-2.0
// A tick on its way: the data of Session::tick(), which stays while the tick is stopped between two stages.
// Owned by the session; engine thread.
#pragma once
#include <functional>
#include <memory>

#include "core/api/stage_view.h"
#include "core/session/ticker.h"

namespace kvlab {

/// Asked after each stage of a tick: true = the tick stops there. The report has what the tick has decided so far.
/// Empty: the tick runs to its end.
using StageStop = std::function<bool(Stage, const TickReport&)>;

struct OpenTick {
  /// context: makes a call's context of a trace.
  template <class Context>
  OpenTick(Context context, const Revisers& revisers, bool allAttention)
      : call(context(trace)), ticker(call, revisers, allAttention) {}
  OpenTick(const OpenTick&) = delete;
  OpenTick& operator=(const OpenTick&) = delete;

  /// Readers may look at the committed state: its rows are where it says.
  bool canStop() const { return committed || !ticker.rewritten(); }

  Trace trace;
  CallContext call;
  Ticker ticker;
  TickReport report = {};
  TickWish wish = {};             // as asked for; a second attempt begins with it
  bool compacted = false;         // this is the second attempt
  std::vector<Action> rest = {};  // pending actions that the tick does not take
  bool committed = false;
  Stage stage = Stage::Generate;           // done last
  std::vector<PlannedAction> edits = {};   // edits of the plan in the executor's order; only where the tick may stop
  std::optional<CacheState> preview = {};  // with the rows of the plan, which have no slots; only with `edits`
  std::int32_t shown = 0;                  // edits that the view shows
  bool stopped = false;                    // some time: then a command of its own makes the commit
};

/// The progress of a tick.
struct TickPlace {
  Stage stage = Stage::Generate;
  std::size_t tokens = 0;
  std::int32_t shown = 0;
  bool committed = false;
  bool operator==(const TickPlace&) const = default;
};
inline TickPlace placeOf(const OpenTick& tick) {
  return {tick.stage, tick.report.block.size(), tick.shown, tick.committed};
}

/// Inputs to make a stopped tick again: its steps come out the same.
struct Reopening {
  TickWish wish;
  std::vector<Action> rest;
  TickPlace place;
};
inline Reopening reopeningOf(const OpenTick& tick) { return {tick.wish, tick.rest, placeOf(tick)}; }

}  // namespace kvlab
