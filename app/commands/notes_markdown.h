// SPDX-License-Identifier: GPL-3.0-or-later
// Notes as a Markdown page. Pure functions; any thread.
#pragma once
#include <QString>
#include <vector>

#include "core/api/aside_views.h"

namespace kvlab {

/// The content of the page about one note.
struct NotePage {
  NoteView note;
  QString place;    // in words; empty = the whole tick
  QString picture;  // name of a file beside the page; empty = none
  QString missing;  // the reason why there is no picture
  QString script;   // lines that lead to its state; empty = none do
};

/// `about`: one line on the session.
QString notesMarkdown(const QString& about, const std::vector<NotePage>& pages);

}  // namespace kvlab
