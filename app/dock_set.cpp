// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/dock_set.h"

#include <QDataStream>
#include <QDockWidget>
#include <QLabel>
#include <QVBoxLayout>

namespace kvlab {

namespace {

/// The right column shows two groups of tabs; these views form the upper one.
const QStringList& upperRight() {
  static const QStringList ids{"mirror", "ledger", "history", "row_history"};
  return ids;
}

QStringList idsIn(DockArea area) {
  QStringList ids;
  for (const ViewInfo& info : views())
    if (info.area == area) ids << info.id;
  return ids;
}

Qt::DockWidgetArea qtArea(DockArea area) {
  if (area == DockArea::Left) return Qt::LeftDockWidgetArea;
  return area == DockArea::Right ? Qt::RightDockWidgetArea : Qt::BottomDockWidgetArea;
}

constexpr int kRightWidth = 500, kBottomHeight = 270, kLeftWidth = 280;

}  // namespace

DockSet::DockSet(QMainWindow& window, InspectorContext& context)
    : QObject(&window), m_window(window), m_context(context), m_centre(new QSplitter(Qt::Vertical)) {
  m_centre->setObjectName("centre");
  m_centre->setChildrenCollapsible(false);
  window.setDockNestingEnabled(true);
  window.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  window.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  window.setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  for (const ViewInfo& info : views()) add(info);
}

void DockSet::add(const ViewInfo& info) {
  if (info.area == DockArea::Centre) {
    InspectorView* view = makeView(info, m_context, m_centre);
    m_views[info.id] = view;
    m_panes[info.id] = pane(info, view);
    m_centre->addWidget(m_panes[info.id]);
    return;
  }
  auto* dock = new QDockWidget(info.title, &m_window);
  dock->setObjectName(QString("dock_") + info.id);
  dock->setAccessibleName(info.title);
  m_views[info.id] = makeView(info, m_context, dock);
  dock->setWidget(m_views[info.id]);
  m_docks[info.id] = dock;
  m_window.addDockWidget(qtArea(info.area), dock);
}

QWidget* DockSet::pane(const ViewInfo& info, InspectorView* view) {
  auto* frame = new QWidget(m_centre);
  auto* title = new QLabel(info.title, frame);
  title->setObjectName("paneTitle");
  title->setContentsMargins(Theme::kMedium, 0, 0, 0);
  title->setFixedHeight(24);
  title->setToolTip(info.help);
  auto* column = new QVBoxLayout(frame);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(title);
  column->addWidget(view, 1);
  return frame;
}

QStringList DockSet::ids() const {
  QStringList ids;
  for (const ViewInfo& info : views()) ids << info.id;
  return ids;
}

bool DockSet::show(const QString& id) {
  InspectorView* view = m_views.value(id);
  if (!view) return false;
  if (QDockWidget* dock = m_docks.value(id)) {
    dock->show();
    dock->raise();
  } else {
    m_panes[id]->show();
  }
  view->setFocus(Qt::ShortcutFocusReason);
  return true;
}

void DockSet::stack(const QStringList& ids, Qt::DockWidgetArea area, QDockWidget* below) {
  QDockWidget* first = nullptr;
  for (const QString& id : ids) {
    QDockWidget* dock = m_docks[id];
    dock->setFloating(false);
    dock->show();
    if (first) m_window.tabifyDockWidget(first, dock);
    else if (below) m_window.splitDockWidget(below, dock, Qt::Vertical);
    else m_window.addDockWidget(area, dock);
    if (!first) first = dock;
  }
  if (first) first->raise();
}

void DockSet::reset() {
  for (QDockWidget* dock : m_docks) m_window.removeDockWidget(dock);
  QStringList upper, lower;
  for (const QString& id : idsIn(DockArea::Right)) (upperRight().contains(id) ? upper : lower) << id;
  if (upper.isEmpty()) upper.swap(lower);
  stack(upper, Qt::RightDockWidgetArea, nullptr);
  stack(lower, Qt::RightDockWidgetArea, upper.isEmpty() ? nullptr : m_docks[upper.first()]);
  stack(idsIn(DockArea::Left), Qt::LeftDockWidgetArea, nullptr);
  stack(idsIn(DockArea::Bottom), Qt::BottomDockWidgetArea, nullptr);
  const auto size = [this](const QStringList& ids, int extent, Qt::Orientation along) {
    if (!ids.isEmpty()) m_window.resizeDocks({m_docks[ids.first()]}, {extent}, along);
  };
  size(upper, kRightWidth, Qt::Horizontal);
  size(idsIn(DockArea::Left), kLeftWidth, Qt::Horizontal);
  size(idsIn(DockArea::Bottom), kBottomHeight, Qt::Vertical);
  if (!upper.isEmpty() && !lower.isEmpty())
    m_window.resizeDocks({m_docks[upper.first()], m_docks[lower.first()]}, {560, 440}, Qt::Vertical);
  for (QWidget* one : m_panes) one->show();
  m_centre->setSizes({700, 300, 100});
}

QByteArray DockSet::save() const {
  QByteArray state;
  QDataStream out(&state, QIODevice::WriteOnly);
  out << m_window.saveState(1) << m_centre->saveState();
  return state;
}

bool DockSet::restore(const QByteArray& state) {
  QDataStream in(state);
  QByteArray docks, centre;
  in >> docks >> centre;
  return in.status() == QDataStream::Ok && m_window.restoreState(docks, 1) &&
         m_centre->restoreState(centre);
}

bool DockSet::visible(const QString& id) const {
  const InspectorView* view = m_views.value(id);
  return view && view->isVisible() && !view->visibleRegion().isEmpty();
}

}  // namespace kvlab
