// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/notes/notes_model.h"

#include <algorithm>

#include "widgets/base/note_place.h"
#include "widgets/base/tokens.h"

namespace kvlab {

NotesModel::NotesModel(QObject* parent) : LineModel(parent) {
  addNumber("tick", tr("Tick"), tr("the tick that the note is about"), {"100000", 0}, [](const NoteLine& line) {
    return QString::number(line.note.tick.value());
  }).toned([](const NoteLine& line) {
    return line.shown ? Tone::Accent : line.note.here ? Tone::Normal : Tone::Muted;
  });
  add("place", tr("Place"), tr("layer of the model, KV head and row that the note is about"),
      {"layer 12 · row 1234 “silver”", 2}, [](const NoteLine& line) { return line.place; })
      .words()
      .in(Tone::Muted);
  add("text", tr("Note"), tr("what the note says; F2 or a double click changes it"), {QString(16, 'x'), 0},
      [](const NoteLine& line) { return line.text.isEmpty() ? tr("bookmark") : visibleText(line.text.trimmed()); })
      .words()
      .toned([](const NoteLine& line) { return line.text.isEmpty() ? Tone::Faint : Tone::Normal; })
      .tips([](const NoteLine& line) { return line.text; });
  add("apart", tr("Branch"), tr("where the state is, if it does not lie before the present one"),
      {"not in this history", 1}, [](const NoteLine& line) { return line.apart; })
      .words()
      .toned([](const NoteLine& line) { return line.note.entry < 0 ? Tone::Warning : Tone::Muted; });
}

void NotesModel::show(const InspectorContext& context) {
  std::vector<NoteLine> lines;
  for (const NoteView& note : notesOf(context)) {
    const Snapshot& newest = *context.history().back();
    const QString text = QString::fromStdString(note.text), place = placeText(newest, note);
    const bool shown = note.here && context.snapshot()->tick == note.tick;
    lines.push_back({note, text, place, apartText(newest, note), shown});
  }
  const auto sameNote = [](const NoteLine& a, const NoteLine& b) { return a.note.id == b.note.id; };
  const bool same = std::ranges::equal(lines, m_lines, sameNote);
  replace(std::move(lines), same);
}

int NotesModel::rowOf(int id) const {
  return find([&](const NoteLine& line) { return line.note.id == id; });
}

}  // namespace kvlab
