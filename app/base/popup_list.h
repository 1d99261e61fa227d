// SPDX-License-Identifier: GPL-3.0-or-later
// A line to type in, and a list of matching entries below it: arrow keys choose, Return or a click takes the chosen
// entry, Esc or a click elsewhere closes. A child widget of the window; in front of a floating view it is a popup of
// that view. Owned by the main window. GUI thread.
#pragma once
#include <QFrame>
#include <QLineEdit>
#include <QListWidget>

namespace kvlab {

class PopupList : public QFrame {
  Q_OBJECT
 public:
  PopupList(const QString& hint, const QString& lineName, const QString& listName, QWidget* parent);
  void open();

 protected:
  /// One entry: a title, a note beside it, a mark at the right, and why it cannot be taken, if it cannot.
  struct Entry {
    QString title, note, mark = {}, blocked = {};
    QVariant data = {};
  };
  /// Fills the list for a text.
  virtual void fill(const QString& text) = 0;
  /// An entry was taken; the list is closed.
  virtual void take(const QVariant& data) = 0;
  void addEntry(const Entry& entry);
  const QListWidget& list() const { return *m_list; }
  QVariant dataOf(int row) const;
  QString markOf(int row) const;

  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void place();
  void takeCurrent();

  QWidget* m_home;  // the main window
  QLineEdit* m_line;
  QListWidget* m_list;
};

}  // namespace kvlab
