// SPDX-License-Identifier: GPL-3.0-or-later
// The places of notes, in words and in the views. GUI thread.
#pragma once
#include "widgets/base/inspector_context.h"

namespace kvlab {

/// The notes of the newest snapshot in the order of their ticks: looking back does not hide later ones.
std::vector<NoteView> notesOf(const InspectorContext& context);
/// "layer 2 · KV head 1 · row 9 “silver”"; empty for a note about the whole tick.
QString placeText(const Snapshot& snapshot, const NoteView& note);
/// The place of a note's state that is not on the way to the present one; else empty.
QString apartText(const Snapshot& snapshot, const NoteView& note);
/// True if the views can show the state of a note while the session stays where it is.
bool canShow(const InspectorContext& context, const NoteView& note);
/// Gives the layer and the row of a note the focus, as far as the shown state has them.
void focusNote(InspectorContext& context, const NoteView& note);
/// The script line for the same; empty for a note about the whole tick.
QString focusLine(const Snapshot& snapshot, const NoteView& note);
/// Shows the tick of a note that the views can show, and gives its place the focus; says the script line.
void showNote(InspectorContext& context, const NoteView& note);
/// The arguments of the command `note` for the shown tick and the focused row.
nlohmann::json notePlace(const InspectorContext& context);

}  // namespace kvlab
