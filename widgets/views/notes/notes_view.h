// SPDX-License-Identifier: GPL-3.0-or-later
// Notes: the person's texts about ticks and rows. A click shows the place of a note, its text is changed in its line.
// GUI thread.
#pragma once
#include <QToolButton>

#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"

namespace kvlab {

/// A note in words.
struct NoteLine {
  NoteView note;
  QString text, place, apart;
  bool shown = false;  // the views show its tick
};

/// Notes as lines, in the order of their ticks.
class NotesModel : public LineModel<NoteLine> {
  Q_OBJECT
 public:
  explicit NotesModel(QObject* parent);
  /// The notes of the newest snapshot.
  void show(const InspectorContext& context);
  int rowOf(int id) const;
};

class NotesView : public InspectorView {
  Q_OBJECT
 public:
  NotesView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  DataTable& table() { return *m_table; }

 protected:
  void onSnapshot() override;

 private:
  void makeStrip();
  void makeTable();
  QToolButton* command(const QString& text, const char* id, const QString& tip);
  /// The line with the keyboard; null without one.
  const NoteView* current() const;
  void showPlace(const QModelIndex& index);
  void goToCurrent();
  void editCurrent();
  void removeChosen();
  /// A note that a command has written without text gets its text here.
  void begin(const nlohmann::json& place);
  void sayState();

  NotesModel* m_model;
  DataTable* m_table = nullptr;
  QLabel *m_count = nullptr, *m_readout = nullptr;
  QToolButton *m_bookmark = nullptr, *m_note = nullptr, *m_goThere = nullptr, *m_removeIt = nullptr,
              *m_export = nullptr;
};

}  // namespace kvlab
