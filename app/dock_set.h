// SPDX-License-Identifier: GPL-3.0-or-later
// All views of a window in their places: the central views in a splitter, the others in docks. Made from the view
// registry. Sizes are set explicitly, so that pictures are equal on every machine. Owned by the main window. GUI
// thread.
#pragma once
#include <QHash>
#include <QMainWindow>
#include <QSplitter>

#include "widgets/base/view_registry.h"

namespace kvlab {

class DockSet : public QObject {
  Q_OBJECT
 public:
  DockSet(QMainWindow& window, InspectorContext& context);

  /// The central splitter; the window puts it below its banner.
  QWidget* centre() const { return m_centre; }
  InspectorView* view(const QString& id) const { return m_views.value(id); }
  QStringList ids() const;
  /// Shows, raises and focuses a view; false if there is none.
  bool show(const QString& id);
  /// The controls of all visible views in Tab order: column by column, from top to bottom.
  QList<QWidget*> tabStops() const;
  /// Gives the keyboard to the next (or previous) visible view in Tab order; to the first if none has it.
  void showNeighbour(bool forward);
  /// Restores initial places and sizes, for the window's present size.
  void reset();
  QByteArray save() const;
  bool restore(const QByteArray& state);
  /// True if the view is visible (not closed, not behind another tab).
  bool visible(const QString& id) const;

 private:
  void add(const ViewInfo& info);
  QList<QWidget*> inReadingOrder() const;
  QWidget* pane(const ViewInfo& info, InspectorView* view);
  void place(const QStringList& ids, Qt::DockWidgetArea area);
  void tabify(const QStringList& ids);
  void dressAll();
  /// Tells the views which of them are behind tabs, so that these do no work.
  void sayFronts();
  void dressLater();

  QMainWindow& m_window;
  InspectorContext& m_context;
  QSplitter* m_centre;
  QHash<QString, InspectorView*> m_views;
  QHash<QString, QDockWidget*> m_docks;
  QHash<QString, QWidget*> m_panes;
  bool m_dressing = false;
};

}  // namespace kvlab
