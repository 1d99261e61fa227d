// SPDX-License-Identifier: GPL-3.0-or-later
// The list of actions in Compose: one line each in words, and the operations on lines: move, edit, remove, by buttons,
// keys and menu. It changes nothing itself. GUI thread.
#pragma once
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>

#include "widgets/base/notices.h"
#include "widgets/table/data_table.h"
#include "widgets/views/compose/plan_model.h"

namespace kvlab {

class QueueList : public QWidget {
  Q_OBJECT
 public:
  QueueList(PlanModel& model, QWidget* parent);
  void setTitle(const QString& title) { m_title->setText(title); }
  /// The chosen line decides which changes are possible; `on` is false if no line can be changed.
  void setEditable(bool on);
  DataTable& table() { return *m_table; }
  int current() const { return m_table->currentIndex().row(); }
  /// The place of a line, in coordinates of the list.
  QRect placeOf(int line) const;
  void choose(int line);

 signals:
  void currentChanged();
  void moveAsked(int line, int by);
  void removeAsked(const std::vector<int>& lines);
  void editAsked(int line);

 private:
  QWidget* makeHead();
  void makeKeys();
  QToolButton* button(const QString& sign, const QString& name, const QString& tip);
  QAction* key(const QString& text, QList<QKeySequence> keys, QToolButton* button);
  void enable();
  std::vector<int> selected() const;

  PlanModel& m_model;
  DataTable* m_table;
  EmptyNotice* m_notice;
  QStackedWidget* m_stack;
  QLabel* m_title = nullptr;
  QToolButton *m_up = nullptr, *m_down = nullptr, *m_edit = nullptr, *m_remove = nullptr;
  bool m_editable = true;
};

}  // namespace kvlab
