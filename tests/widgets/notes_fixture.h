// SPDX-License-Identifier: GPL-3.0-or-later
// Notes of the fixture session: on the way to its newest tick, ahead of it, on another branch, and of a state that is
// gone.
#pragma once
#include "fake_context.h"

namespace kvlab::fixture {

inline std::vector<NoteView> notes() {
  return {{.id = 1,
           .text = "the key moves to the cellar; does layer 2 still say attic?",
           .tick = Tick(6),
           .branch = "main",
           .entry = 6,
           .here = true,
           .layer = Layer(2),
           .ledger = LedgerId(45)},
          {.id = 2, .text = "", .tick = Tick(3), .branch = "main", .entry = 3, .here = true},
          {.id = 3,
           .text = "greedy sampling says barn here",
           .tick = Tick(14),
           .branch = "branch-1",
           .entry = 25,
           .layer = Layer(3),
           .kvHead = Head(1)},
          {.id = 4, .text = "rows behind the deletion are stale", .tick = Tick(27), .branch = "main", .entry = 27},
          {.id = 5, .text = "before the reset", .tick = Tick(8), .branch = "main", .ledger = LedgerId(9)},
          {.id = 7,
           .text = "the answer is right for the wrong reason:\nthe old row still has most of the attention, and a "
                   "rebuild would take it away",
           .tick = Tick(20),
           .branch = "main",
           .entry = 20,
           .here = true,
           .layer = Layer(3),
           .ledger = LedgerId(12)}};
}

/// Gives the newest snapshot these notes.
inline void setNotes(FakeContext& context, std::vector<NoteView> notes) {
  std::vector<SnapshotPtr> history = context.history();
  auto newest = std::make_shared<Snapshot>(*history.back());
  newest->notes = std::make_shared<const std::vector<NoteView>>(std::move(notes));
  history.back() = newest;
  context.open(history);
}

}  // namespace kvlab::fixture
