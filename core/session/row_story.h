// SPDX-License-Identifier: Apache-2.0
// History of one row in one cache layer, commit by commit, and the command that made a row differ from a rebuild; and
// the attention that the row received. Dropped ticks are executed again (look_back.h). Engine thread.
#pragma once
#include <string>
#include <vector>

#include "core/session/session.h"

namespace kvlab {

enum class RowEvent : std::uint8_t {
  Loaded,       // there when the session opened, or brought by a cache file
  Computed,     // by a forward pass, for the first time or anew
  Rebuilt,      // computed anew by a rebuild
  Turned,       // another phase; its stored key was turned, or it is turned when it is read
  Copied,       // the same values in another slot
  Converted,    // the pools were made anew: another type, layout or size
  Damaged,      // by the fault drill
  Left,         // evicted, left through the window, or gone from the context
  BecameStale,  // differs from a rebuild from here on
  BecameExact
};
std::string_view name(RowEvent event);

struct RowChapter {
  int entry = 0;  // entry of the timeline
  RowEvent event = RowEvent::Computed;
  bool wrote = false;  // the stored bytes are new, or stand in another slot
  Slot slot{-1};       // behind the event, as executed again where its tick was dropped; -1 = none
  double phase = 0;    // behind the event
  Exactness exactness = Exactness::Exact;
  std::string detail = {};
};

/// All that happened up to the present state, oldest first. The last chapter with `wrote` tells where the row lies.
/// Errors: those of LookBack.
Result<std::vector<RowChapter>> rowStory(Session& session, CacheLayer layer, LedgerId row);

/// The reason why a row differs from the row that a rebuild would compute.
struct RowCause {
  Exactness exactness = Exactness::Exact;  // exactness of the row that was asked for
  /// The rows that hand it down: the first was asked for, and each has seen the next one. Only the last one was made
  /// inexact by the command itself.
  std::vector<LedgerId> rows = {};
  CacheLayer layer;                    // the layer in which the last one became inexact
  Exactness first = Exactness::Exact;  // its label when it became inexact
  int entry = -1;                      // commit that did it; -1 = the row is exact
};

/// Errors: those of LookBack.
Result<RowCause> whyInexact(Session& session, CacheLayer layer, LedgerId row);

// The attention that a row received, tick by tick. Ticks whose attention is not kept are executed again (look_back.h).
// Engine thread.

struct RowRead {
  int entry = 0;    // entry of the timeline
  double mass = 0;  // attention of the newest query, mean over query heads, 0..1
};

/// Every commit up to the present state whose newest query looked at the row in a layer of the model, oldest first.
/// Errors: those of LookBack.
Result<std::vector<RowRead>> rowReads(Session& session, Layer layer, LedgerId row);

}  // namespace kvlab
