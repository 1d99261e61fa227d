// SPDX-License-Identifier: GPL-3.0-or-later
// Notes: the person's texts about ticks and rows. A click shows the place of a note, its text is changed in its line.
// GUI thread.
#pragma once
#include <QToolButton>

#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"

namespace kvlab {

class NotesModel;

class NotesView : public InspectorView {
  Q_OBJECT
 public:
  NotesView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  DataTable& table() { return *m_table; }

 protected:
  void onSnapshot() override;
  void onFocus() override {}

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
