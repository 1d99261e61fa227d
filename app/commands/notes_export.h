// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the notes of the shown session as NAME.md with a picture of each note, NAME-1.png and so on, beside it: all
// files or none. The window shows each state for its picture: ticks that it keeps as they are, others on the way to the
// present one in a fork of the session. At the end it shows the former state again. GUI thread.
#pragma once
#include "app/commands/command_host.h"

namespace kvlab {

/// Returns when the files are written; meanwhile the window paints and takes only Cancel. what: "window" or a view's
/// id. The result is {path, notes, pictures}. Errors: unknown_view, io, not_ready, cancelled.
Result<nlohmann::json> exportNotes(CommandHost& host, const QString& path, const QString& what);

}  // namespace kvlab
