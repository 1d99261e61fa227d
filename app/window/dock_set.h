// SPDX-License-Identifier: GPL-3.0-or-later
// All views of a window in their places, each in a dock: those of the centre in a dock area of their own, around which
// the others stand. Made from the view registry. Sizes are set explicitly, so that pictures are equal on every machine.
// Owned by the main window. GUI thread.
#pragma once
#include <QHash>
#include <QMainWindow>

#include "app/base/task_layouts.h"
#include "widgets/base/view_registry.h"

class QTabBar;

namespace kvlab {

class DockSet : public QObject {
  Q_OBJECT
 public:
  DockSet(QMainWindow& window, InspectorContext& context);

  /// The area of the central views, for the window to place.
  QWidget* centre() const { return m_centre; }
  InspectorView* view(const QString& id) const { return m_views.value(id); }
  QStringList ids() const;
  /// Shows, raises and focuses a view. There must be one, here and below.
  void show(const QString& id);
  /// The controls of all visible views in Tab order: column by column, from top to bottom.
  QList<QWidget*> tabStops() const;
  /// Gives the keyboard to the next (or previous) visible view in Tab order; to the first if none has it.
  void showNeighbour(bool forward);
  /// Gives every view its place and size, for the window's present size.
  void arrange(const TaskLayout& layout);
  void close(const QString& id);
  /// Makes a view a window of its own, or puts it back.
  void toggleFloating(const QString& id);
  /// The view with the keyboard; empty if none has it.
  QString focused() const;
  QByteArray save() const;
  bool restore(const QByteArray& state);
  /// True if the view is visible (not closed, not behind another tab).
  bool visible(const QString& id) const;

 signals:
  /// A right click on the title or the tab of a view, at a place of the screen.
  void menuAsked(const QString& id, const QPoint& at);
  /// The person closed, floated, docked or chose a view with the mouse: the line of a script that does the same.
  void scripted(const QString& line);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void add(const ViewInfo& info);
  void say(const char* command, const QString& id);
  void followTabs(QTabBar& bar);
  QList<QWidget*> inReadingOrder() const;
  QList<QTabBar*> tabBars() const;
  /// The view of a tab or of a dock's title; empty = none.
  QString viewAt(const QObject* where, const QPoint& at) const;
  void place(const QStringList& ids, Qt::DockWidgetArea area);
  void tabify(const QStringList& ids, const QStringList& shown, const QStringList& front);
  void dressAll();
  /// Tells the views which of them are behind tabs, so that these do no work.
  void sayFronts();
  void dressLater();

  QMainWindow& m_window;
  InspectorContext& m_context;
  QMainWindow* m_centre;
  QHash<QString, InspectorView*> m_views;
  QHash<QString, QDockWidget*> m_docks;
  bool m_dressing = false;
  int m_moving = 0;  // docks move by a call, not by the mouse
};

}  // namespace kvlab
