// SPDX-License-Identifier: GPL-3.0-or-later
// Notes as lines, in the order of their ticks. Owned by its view. GUI thread.
#pragma once
#include "core/api/aside_views.h"
#include "widgets/base/inspector_context.h"
#include "widgets/table/column_model.h"

namespace kvlab {

/// A note in words.
struct NoteLine {
  NoteView note;
  QString text, place, apart;
  bool shown = false;  // the views show its tick
};

class NotesModel : public LineModel<NoteLine> {
  Q_OBJECT
 public:
  explicit NotesModel(QObject* parent);
  /// The notes of the newest snapshot.
  void show(const InspectorContext& context);
  int rowOf(int id) const;
};

}  // namespace kvlab
