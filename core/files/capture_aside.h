// SPDX-License-Identifier: Apache-2.0
// A record of a capture about the data beside the content of a session: notes, breakpoints and watches, since version
// 2, and pending actions, since version 3.
//   {"notes"?: [{"id", "text", "tick", "layer"?, "kvHead"?, "ledger"?, "branch"?}], "removed"?: [id],
//    "breakpoints"?: [{"id", "condition", "ignore", "once", "log", "enabled", "hits", "last"}],
//    "watches"?: [{"id", "expression"}], "pending"?: [action]}
// A note is new, or has another text. It stands at its tick of the branch that the commands before the record have led
// to; with "branch" the file does not have its state. "breakpoints", "watches" and "pending" are complete lists.
// Values; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/action.h"
#include "core/api/aside_views.h"
#include "core/api/error.h"

namespace kvlab {

struct CaptureAside {
  std::size_t after = 0;             // commands of the file before the record
  std::vector<NoteView> notes = {};  // `here`: the file has the state
  std::vector<int> removed = {};     // numbers of notes
  std::optional<std::vector<BreakpointView>> breakpoints = {};
  std::optional<std::vector<WatchView>> watches = {};  // without their values
  std::optional<std::vector<Action>> pending = {};
  std::string place = {};  // "record 3 at byte 512": where the reader found it

  bool empty() const { return notes.empty() && removed.empty() && !breakpoints && !watches && !pending; }
};

/// The payload of the record.
nlohmann::json toJson(const CaptureAside& aside);
/// True if the payload is such a record.
bool isAside(const nlohmann::json& payload);
/// Errors name the cause in `why`, and the field.
Result<CaptureAside> asideFromJson(const nlohmann::json& payload);

}  // namespace kvlab
