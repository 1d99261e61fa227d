// SPDX-License-Identifier: Apache-2.0
// Views of what a person has set beside the content of a session: breakpoints, watches and notes. Values; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>

#include "core/api/ids.h"

namespace kvlab {

struct BreakpointView {
  int id = 0;
  std::string condition;          // in the language of core/watch/expression.h
  std::int64_t ignore = 0;        // so many times more it does not stop yet
  bool once = false;              // it is forgotten when it has stopped a run
  bool logs = false;              // it writes a line to the log instead of stopping
  bool enabled = true;            // false = it is not evaluated
  std::int64_t hits = 0;          // times that it has held
  std::optional<Tick> last = {};  // tick at which it held last

  bool operator==(const BreakpointView&) const = default;
};
nlohmann::json toJson(const BreakpointView& point);

/// An expression, and its value in the state of the snapshot.
struct WatchView {
  int id = 0;
  std::string expression;                                              // in the language of core/watch/expression.h
  std::variant<std::monostate, double, bool, std::string> value = {};  // monostate = not known

  bool operator==(const WatchView&) const = default;
};
nlohmann::json toJson(const WatchView& watch);

inline constexpr std::size_t kMostNotes = 10'000, kMostNoteBytes = 10'000;  // per session; per text, in UTF-8

/// A note about a state of a session: a text at a tick, and, where it applies, a layer, a KV head and a row. A note
/// without text is a bookmark.
struct NoteView {
  int id = 0;        // from 1
  std::string text;  // empty = a bookmark
  Tick tick;
  std::string branch = {};              // on which it was written; it has the tick as long as entry >= 0
  int entry = -1;                       // entry of the session's timeline; -1 = the history does not have the state
  bool here = false;                    // the state lies on the way to the present one, or is that one
  std::optional<Layer> layer = {};      // layer of the model
  std::optional<Head> kvHead = {};      // KV head of the layer
  std::optional<LedgerId> ledger = {};  // the row

  bool operator==(const NoteView&) const = default;
};
nlohmann::json toJson(const NoteView& note);

}  // namespace kvlab
