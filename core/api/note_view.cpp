// SPDX-License-Identifier: Apache-2.0
#include "core/api/note_view.h"

namespace kvlab {

nlohmann::json toJson(const NoteView& note) {
  const auto idOf = [](const auto& id) { return id ? nlohmann::json(id->value()) : nlohmann::json(); };
  return {{"id", note.id},
          {"text", note.text},
          {"tick", note.tick.value()},
          {"branch", note.branch},
          {"layer", idOf(note.layer)},
          {"kvHead", idOf(note.kvHead)},
          {"ledger", idOf(note.ledger)},
          {"here", note.here},
          {"lost", note.entry < 0}};
}

}  // namespace kvlab
