// SPDX-License-Identifier: Apache-2.0
#include "core/session/notes.h"

#include <algorithm>

namespace kvlab {

int Notes::add(NoteView wish, const Timeline& timeline, int entry) {
  wish.id = m_next;
  wish.branch = timeline.branch();
  restore(std::move(wish), entry);
  return m_next - 1;
}

NoteView* Notes::found(int id) {
  const auto place = std::ranges::lower_bound(m_notes, id, {}, &NoteView::id);
  return place == m_notes.end() || place->id != id ? nullptr : &*place;
}

const NoteView* Notes::find(int id) const { return const_cast<Notes*>(this)->found(id); }

void Notes::change(int id, std::string text) {
  m_views.reset();
  found(id)->text = std::move(text);
}

bool Notes::remove(int id) {
  m_views.reset();
  return std::erase_if(m_notes, [id](const NoteView& one) { return one.id == id; }) > 0;
}

void Notes::clear() {
  m_notes.clear();
  m_views.reset();
}

void Notes::restore(NoteView note, int entry) {
  if (found(note.id)) return change(note.id, std::move(note.text));
  m_views.reset();
  m_next = std::max(m_next, note.id + 1);
  note.entry = entry;
  m_notes.insert(std::ranges::lower_bound(m_notes, note.id, {}, &NoteView::id), std::move(note));
}

NoteList Notes::views(const Timeline& timeline) const {
  if (m_notes.empty()) return nullptr;
  const auto stands = [&](const NoteView& one) { return one.here == timeline.leads(one.entry, timeline.currentId()); };
  if (m_views && std::ranges::all_of(*m_views, stands)) return m_views;
  std::vector<NoteView> all = m_notes;
  for (NoteView& one : all) one.here = timeline.leads(one.entry, timeline.currentId());
  return m_views = std::make_shared<const std::vector<NoteView>>(std::move(all));
}

void Notes::lose() {
  m_views.reset();
  for (NoteView& one : m_notes) one.entry = -1;
}

/// The entries on the way have their depth as number there.
Notes Notes::alongTrunk(const Timeline& timeline) const {
  Notes out;
  out.m_notes = m_notes;
  out.m_next = m_next;
  for (NoteView& one : out.m_notes) {
    const bool there = timeline.leads(one.entry, timeline.currentId());
    one.entry = there ? timeline.entry(one.entry).depth : -1;
    if (there) one.branch = "main";
  }
  return out;
}

}  // namespace kvlab
