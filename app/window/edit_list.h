// SPDX-License-Identifier: GPL-3.0-or-later
// A drop-down list of edits to undo or redo, nearest first. Pointing at an edit marks all edits that would go with it,
// and a line counts them. Deletes itself when closed; the keyboard focus returns to its former place. GUI thread.
#pragma once
#include <QFrame>
#include <nlohmann/json.hpp>

class QLabel;
class QListWidget;

namespace kvlab {

/// Titles of the edits of one way, undo or redo, in an answer of the table `edits`.
QStringList editTitles(const nlohmann::json& answer, const std::string& way);

class EditList : public QFrame {
  Q_OBJECT
 public:
  /// what: "Undo" or "Redo".
  EditList(const QString& what, const QStringList& titles, QWidget* parent);
  void openAt(const QPoint& globalPlace);

 signals:
  void chosen(int edits);

 private:
  void mark(int row);

  QString m_what;
  QListWidget* m_list;
  QLabel* m_count;
};

}  // namespace kvlab
