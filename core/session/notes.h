// SPDX-License-Identifier: Apache-2.0
// Notes and bookmarks of a session. A note names an entry of the timeline, so that its state can be reached from every
// branch. Notes are no part of a state: undo and travel leave them alone. Owned by a session; engine thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/api/aside_views.h"
#include "core/session/timeline.h"

namespace kvlab {

using NoteList = std::shared_ptr<const std::vector<NoteView>>;

class Notes {
 public:
  /// Adds the note as the one with the next number, at an entry of the timeline. Returns the number.
  int add(NoteView wish, const Timeline& timeline, int entry);
  /// Another text for a note that there is.
  void change(int id, std::string text);
  bool remove(int id);
  void clear();
  /// Takes a note of a file with its number. A note that there is gets the text; else the note stands at `entry`, -1 =
  /// the history does not have its state.
  void restore(NoteView note, int entry);
  const NoteView* find(int id) const;
  std::size_t size() const { return m_notes.size(); }
  /// All notes in the order of their numbers; null = none. Shared until something changes.
  NoteList views(const Timeline& timeline) const;

  /// The history begins anew and has none of the states any more.
  void lose();
  /// The same notes for a session whose history has only the way to the present state (Timeline::trunk).
  Notes alongTrunk(const Timeline& timeline) const;

 private:
  NoteView* found(int id);

  std::vector<NoteView> m_notes;  // ascending numbers; `here` is said in views only
  int m_next = 1;
  mutable NoteList m_views;  // null = outdated, or no note
};

}  // namespace kvlab
