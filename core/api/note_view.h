// SPDX-License-Identifier: Apache-2.0
// Note of a person about a state of a session: a text at a tick, and, where it applies, a layer, a KV head and a row. A
// note without text is a bookmark. A value; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/ids.h"

namespace kvlab {

inline constexpr std::size_t kMostNotes = 10'000, kMostNoteBytes = 10'000;  // per session; per text, in UTF-8

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
