// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/dock_set.h"

#include <QDataStream>
#include <QDockWidget>
#include <QLabel>
#include <QTabBar>
#include <algorithm>
#include <utility>

#include "widgets/base/tab_stops.h"
#include "widgets/base/tight_column.h"

namespace kvlab {

namespace {

QStringList idsIn(DockArea area) {
  QStringList ids;
  for (const ViewInfo& info : views())
    if (info.area == area) ids << info.id;
  return ids;
}

Qt::DockWidgetArea qtArea(DockArea area) {
  if (area == DockArea::Left) return Qt::LeftDockWidgetArea;
  return area == DockArea::Bottom ? Qt::BottomDockWidgetArea : Qt::RightDockWidgetArea;
}

constexpr int kColumn = 48;  // docks whose left edges differ by less than this form one column
constexpr int kRightWidth = 500, kBottomHeight = 270, kLeftWidth = 280;  // at most: in small windows the map needs room

}  // namespace

DockSet::DockSet(QMainWindow& window, InspectorContext& context)
    : QObject(&window), m_window(window), m_context(context), m_centre(new QSplitter(Qt::Vertical)) {
  m_centre->setObjectName("centre");
  m_centre->setChildrenCollapsible(false);
  window.setDockOptions(QMainWindow::AllowTabbedDocks | QMainWindow::AllowNestedDocks | QMainWindow::GroupedDragging);
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
  for (const auto signal : {&QDockWidget::topLevelChanged, &QDockWidget::visibilityChanged})
    connect(dock, signal, this, &DockSet::dressLater);
  connect(dock, &QDockWidget::dockLocationChanged, this, &DockSet::dressLater);
  m_window.addDockWidget(qtArea(info.area), dock);
}

QWidget* DockSet::pane(const ViewInfo& info, InspectorView* view) {
  auto* frame = new QWidget(m_centre);
  auto* title = new QLabel(info.title, frame);
  title->setObjectName("paneTitle");
  title->setContentsMargins(Theme::kMedium, 0, 0, 0);
  title->setFixedHeight(24);
  title->setToolTip(info.help);
  auto* column = tightColumn(frame);
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
  sayFronts();
  view->setFocus(Qt::ShortcutFocusReason);
  return true;
}

/// The visible panes, docks and tab bars in reading order.
QList<QWidget*> DockSet::inReadingOrder() const {
  QList<QWidget*> found;
  for (auto view = m_views.begin(); view != m_views.end(); ++view)
    if (visible(view.key()) && view.value()->window() == &m_window) found << view.value();
  for (QTabBar* bar : m_window.findChildren<QTabBar*>(Qt::FindDirectChildrenOnly))
    if (bar->isVisible()) found << bar;
  const auto place = [this](const QWidget* one) {
    const QPoint at = one->mapTo(&m_window, QPoint());
    return std::pair(at.x() / kColumn, at.y());
  };
  std::sort(found.begin(), found.end(), [&](const QWidget* a, const QWidget* b) { return place(a) < place(b); });
  return found;
}

QList<QWidget*> DockSet::tabStops() const {
  QList<QWidget*> stops;
  for (QWidget* one : inReadingOrder()) stops << kvlab::tabStops(*one);
  return stops;
}

void DockSet::showNeighbour(bool forward) {
  QStringList ids;
  qsizetype at = -1;
  for (QWidget* one : inReadingOrder()) {
    if (!qobject_cast<InspectorView*>(one)) continue;
    if (one == QApplication::focusWidget() || one->isAncestorOf(QApplication::focusWidget())) at = ids.size();
    ids << one->objectName();
  }
  if (ids.isEmpty()) return;
  const qsizetype next = at < 0 ? (forward ? 0 : ids.size() - 1) : (at + (forward ? 1 : ids.size() - 1)) % ids.size();
  show(ids[next]);
}

/// Makes tabs of one group. Its first dock must be placed already: Qt splits only docks without tabs.
void DockSet::tabify(const QStringList& ids) {
  for (const QString& id : ids) {
    m_docks[id]->show();
    if (id != ids.first()) m_window.tabifyDockWidget(m_docks[ids.first()], m_docks[id]);
  }
  for (const QString& id : ids)
    if (findView(id)->tab == DockTab::Front) m_docks[id]->raise();
}

void DockSet::place(const QStringList& ids, Qt::DockWidgetArea area) {
  if (ids.isEmpty()) return;
  m_window.addDockWidget(area, m_docks[ids.first()]);
}

void DockSet::reset() {
  for (QDockWidget* dock : m_docks) {
    dock->setFloating(false);
    m_window.removeDockWidget(dock);
  }
  QStringList upper = idsIn(DockArea::RightTop), lower = idsIn(DockArea::RightBottom);
  if (upper.isEmpty()) upper.swap(lower);
  const QStringList left = idsIn(DockArea::Left), bottom = idsIn(DockArea::Bottom);
  place(upper, Qt::RightDockWidgetArea);
  place(left, Qt::LeftDockWidgetArea);
  place(bottom, Qt::BottomDockWidgetArea);
  if (!lower.isEmpty()) m_window.splitDockWidget(m_docks[upper.first()], m_docks[lower.first()], Qt::Vertical);
  for (const QStringList& ids : {upper, lower, left, bottom}) tabify(ids);
  const auto size = [this](const QStringList& ids, int extent, Qt::Orientation along) {
    if (!ids.isEmpty()) m_window.resizeDocks({m_docks[ids.first()]}, {extent}, along);
  };
  size(upper, std::min(kRightWidth, m_window.width() * 5 / 16), Qt::Horizontal);
  size(left, std::min(kLeftWidth, m_window.width() / 5), Qt::Horizontal);
  size(bottom, std::min(kBottomHeight, m_window.height() * 27 / 100), Qt::Vertical);
  if (!lower.isEmpty())
    m_window.resizeDocks({m_docks[upper.first()], m_docks[lower.first()]}, {540, 460}, Qt::Vertical);
  for (QWidget* one : m_panes) one->show();
  m_centre->setSizes({640, 360});
  dressAll();
}

/// Docks in tabs get no title bar, because the tab shows the name.
void DockSet::dressAll() {
  for (QDockWidget* dock : m_docks) {
    const bool tabbed = !dock->isFloating() && !m_window.tabifiedDockWidgets(dock).isEmpty();
    if (tabbed == (dock->titleBarWidget() != nullptr)) continue;
    QWidget* old = dock->titleBarWidget();
    dock->setTitleBarWidget(tabbed ? new QWidget(dock) : nullptr);
    delete old;
  }
  for (QTabBar* bar : m_window.findChildren<QTabBar*>(Qt::FindDirectChildrenOnly)) {
    QStringList titles;
    for (int i = 0; i < bar->count(); ++i) titles << bar->tabText(i);
    bar->setAccessibleName(tr("Views: %1").arg(titles.join(", ")));
  }
  sayFronts();
}

void DockSet::sayFronts() {
  for (auto view = m_views.begin(); view != m_views.end(); ++view)
    view.value()->setInFront(!view.value()->isVisible() || visible(view.key()));
}

QByteArray DockSet::save() const {
  QByteArray state;
  QDataStream out(&state, QIODevice::WriteOnly);
  out << m_window.saveState(1) << m_centre->saveState();
  return state;
}

/// Qt emits its signals while it still moves docks, so this runs later, once per turn of the event loop.
void DockSet::dressLater() {
  if (std::exchange(m_dressing, true)) return;
  QMetaObject::invokeMethod(
      this,
      [this] {
        m_dressing = false;
        dressAll();
      },
      Qt::QueuedConnection);
}

bool DockSet::restore(const QByteArray& state) {
  QDataStream in(state);
  QByteArray docks, centre;
  in >> docks >> centre;
  return in.status() == QDataStream::Ok && m_window.restoreState(docks, 1) && m_centre->restoreState(centre);
}

bool DockSet::visible(const QString& id) const {
  const InspectorView* view = m_views.value(id);
  if (!view || !view->isVisible()) return false;
  if (view->window() != &m_window) return true;  // a floating dock
  return m_window.rect().intersects(
      QRect(view->mapTo(&m_window, QPoint()), view->size()));  // docks behind other tabs lie outside
}

}  // namespace kvlab
