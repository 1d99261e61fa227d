// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/dock_set.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QDataStream>
#include <QDockWidget>
#include <QScopedValueRollback>
#include <QTabBar>
#include <QTimer>
#include <algorithm>
#include <utility>

#include "widgets/base/tab_stops.h"

namespace kvlab {

namespace {

constexpr int kLeastHeight =
    110;                      // pixels of height that a view keeps; its preferred height may be more than a screen has
constexpr int kLow = 240;     // height of the bottom row, where the window has room
constexpr int kBars = 90;     // height taken by menus, tools and the status strip
constexpr int kCentre = 250;  // pixels of height that the views in the centre keep in a low window
constexpr int kScarce = 850;  // in lower windows two views in the centre get nearly the same height
constexpr const char* kFollowed = "kvlabFollowed";  // a tab bar whose clicks are said
constexpr int kColumn = 48;                         // docks whose left edges differ by less than this form one column

/// While tabs are dragged together, and where they float together, Qt puts a window of its own between.
QMainWindow& areaOf(const QDockWidget* dock) {
  QWidget* above = dock->parentWidget();
  while (!qobject_cast<QMainWindow*>(above)) above = above->parentWidget();
  return *qobject_cast<QMainWindow*>(above);
}

}  // namespace

DockSet::DockSet(QMainWindow& window, InspectorContext& context)
    : QObject(&window), m_window(window), m_context(context), m_centre(new QMainWindow(&window, Qt::Widget)) {
  m_centre->setObjectName("centre");
  for (QMainWindow* area : {&window, m_centre}) {
    area->setDockOptions(QMainWindow::AllowTabbedDocks | QMainWindow::AllowNestedDocks | QMainWindow::GroupedDragging);
    area->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  }
  window.setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  window.setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  for (const ViewInfo& info : views()) add(info);
}

void DockSet::add(const ViewInfo& info) {
  const bool central = info.area == DockArea::Centre;
  auto* dock = new QDockWidget(info.title, central ? m_centre : &m_window);
  dock->setObjectName(QString("dock_") + info.id);
  dock->setAccessibleName(info.title);
  dock->setToolTip(info.help);
  dock->installEventFilter(this);
  m_views[info.id] = makeView(info, m_context, dock);
  m_views[info.id]->setMinimumHeight(kLeastHeight);
  dock->setWidget(m_views[info.id]);
  m_docks[info.id] = dock;
  for (const auto signal : {&QDockWidget::topLevelChanged, &QDockWidget::visibilityChanged})
    connect(dock, signal, this, &DockSet::dressLater);
  connect(dock, &QDockWidget::dockLocationChanged, this, &DockSet::dressLater);
  connect(dock, &QDockWidget::topLevelChanged, this, [this, id = QString(info.id)] { say("float_view", id); });
  areaOf(dock).addDockWidget(central ? Qt::TopDockWidgetArea : Qt::BottomDockWidgetArea, dock);
}

void DockSet::say(const char* command, const QString& id) {
  if (!m_moving) emit scripted(QString("view.command(\"%1\", {\"view\":\"%2\"})").arg(command, id));
}

QStringList DockSet::ids() const {
  QStringList ids;
  for (const ViewInfo& info : views()) ids << info.id;
  return ids;
}

void DockSet::show(const QString& id) {
  m_docks[id]->show();
  m_docks[id]->raise();
  sayFronts();
  m_views[id]->setFocus(Qt::ShortcutFocusReason);
}

/// The visible panes, docks and tab bars in reading order.
QList<QWidget*> DockSet::inReadingOrder() const {
  QList<QWidget*> found;
  for (auto view = m_views.begin(); view != m_views.end(); ++view)
    if (visible(view.key()) && view.value()->window() == &m_window) found << view.value();
  for (QTabBar* bar : tabBars())
    if (bar->isVisible() && bar->window() == &m_window) found << bar;
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

/// Makes tabs of one group, and closes those that are not shown. The first dock must be placed already: Qt splits only
/// docks without tabs.
void DockSet::tabify(const QStringList& ids, const QStringList& shown, const QStringList& front) {
  for (const QString& id : ids) {
    m_docks[id]->show();
    if (id != ids.first()) areaOf(m_docks[id]).tabifyDockWidget(m_docks[ids.first()], m_docks[id]);
  }
  for (const QString& id : ids)
    if (!shown.contains(id)) m_docks[id]->hide();
  for (const QString& id : shown)
    if (front.isEmpty() ? id == shown.first() : front.contains(id)) m_docks[id]->raise();
}

void DockSet::place(const QStringList& ids, Qt::DockWidgetArea area) {
  if (!ids.isEmpty()) areaOf(m_docks[ids.first()]).addDockWidget(area, m_docks[ids.first()]);
}

void DockSet::arrange(const TaskLayout& layout) {
  const QScopedValueRollback moving(m_moving, m_moving + 1);
  for (QDockWidget* dock : m_docks) {
    dock->setFloating(false);
    areaOf(dock).removeDockWidget(dock);
  }
  QStringList upper = layout.rightTop, lower = layout.rightBottom, left = layout.left, bottom = layout.bottom;
  if (upper.isEmpty()) upper.swap(lower);
  QStringList centre = layout.centre, &tabs = bottom.isEmpty() ? upper : bottom;
  const QStringList shown = upper + lower + left + bottom + centre;
  for (const ViewInfo& view : views())  // closed views wait as tabs, so that they come back in a place
    if (!shown.contains(view.id)) (view.area == DockArea::Centre ? centre : tabs) << view.id;
  place(upper, Qt::RightDockWidgetArea);
  place(left, Qt::LeftDockWidgetArea);
  place(bottom, Qt::BottomDockWidgetArea);
  for (const QString& id : centre) m_centre->addDockWidget(Qt::TopDockWidgetArea, m_docks[id], Qt::Vertical);
  if (!lower.isEmpty()) m_window.splitDockWidget(m_docks[upper.first()], m_docks[lower.first()], Qt::Vertical);
  const auto listed = [&](const QStringList& group) {
    QStringList some;
    for (const QString& id : group)
      if (shown.contains(id)) some << id;
    return some;
  };
  for (const QStringList& group : {upper, lower, left, bottom}) tabify(group, listed(group), layout.front);
  for (const QString& id : centre) m_docks[id]->setVisible(layout.centre.contains(id));
  const auto size = [this](const QStringList& ids, int extent, int most, Qt::Orientation along) {
    if (!ids.isEmpty()) m_window.resizeDocks({m_docks[ids.first()]}, {most ? std::min(extent, most) : extent}, along);
  };
  const int high = m_window.height();
  size(upper, m_window.width() * layout.right / 100, layout.mostRight, Qt::Horizontal);
  size(left, m_window.width() / 5, 0, Qt::Horizontal);
  const int low = std::max(high * layout.low / 100, std::min(kLow, high / 3));
  size(bottom, std::min(low, high - kBars - kCentre), layout.mostLow, Qt::Vertical);
  if (!lower.isEmpty())
    m_window.resizeDocks({m_docks[upper.first()], m_docks[lower.first()]},
                         {10 * layout.upper, 1000 - 10 * layout.upper}, Qt::Vertical);
  if (layout.centre.size() == 2)
    m_centre->resizeDocks({m_docks[layout.centre[0]], m_docks[layout.centre[1]]},
                          high < kScarce ? QList<int>{540, 460} : QList<int>{640, 360}, Qt::Vertical);
  dressAll();
}

/// A script may call this, and events of closing wait while it runs.
void DockSet::close(const QString& id) { m_docks[id]->hide(); }

void DockSet::toggleFloating(const QString& id) {
  QDockWidget* dock = m_docks[id];
  const QScopedValueRollback moving(m_moving, m_moving + 1);
  const QSize size = m_views[id]->size();
  dock->setFloating(!dock->isFloating());
  if (dock->isFloating()) dock->resize(size.expandedTo({480, 320}));
  dock->show();
}

QString DockSet::focused() const {
  for (const QWidget* at = QApplication::focusWidget(); at; at = at->parentWidget())
    if (qobject_cast<const InspectorView*>(at) && m_docks.contains(at->objectName())) return at->objectName();
  return {};
}

QList<QTabBar*> DockSet::tabBars() const {
  return m_window.findChildren<QTabBar*>(Qt::FindDirectChildrenOnly) +
      m_centre->findChildren<QTabBar*>(Qt::FindDirectChildrenOnly);
}

QString DockSet::viewAt(const QObject* where, const QPoint& at) const {
  QString title;
  if (const auto* bar = qobject_cast<const QTabBar*>(where)) {
    const int tab = bar->tabAt(at);
    title = bar->tabText(tab < 0 ? bar->currentIndex() : tab);
  }
  for (auto dock = m_docks.begin(); dock != m_docks.end(); ++dock)
    if (dock.value() == where || (!title.isEmpty() && dock.value()->windowTitle() == title)) return dock.key();
  return {};
}

/// A click with the right button opens the menu of a view, one with the middle button closes the view of a tab.
bool DockSet::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::ContextMenu) {
    const auto* asked = static_cast<QContextMenuEvent*>(event);
    const QString id = viewAt(watched, asked->pos());
    if (!id.isEmpty()) emit menuAsked(id, asked->globalPos());
    return !id.isEmpty();
  }
  if (event->type() == QEvent::MouseButtonRelease && qobject_cast<QTabBar*>(watched)) {
    const auto* mouse = static_cast<QMouseEvent*>(event);
    const QString id = mouse->button() == Qt::MiddleButton ? viewAt(watched, mouse->pos()) : QString();
    if (!id.isEmpty()) {
      say("close_view", id);
      close(id);
      return true;
    }
  }
  if (event->type() == QEvent::Close && qobject_cast<QDockWidget*>(watched))
    say("close_view", viewAt(watched, QPoint()));
  return QObject::eventFilter(watched, event);
}

/// Docks in tabs get no title bar, because the tab shows the name.
void DockSet::dressAll() {
  for (QDockWidget* dock : m_docks) {
    const QList<QDockWidget*> others = areaOf(dock).tabifiedDockWidgets(dock);
    const bool tabbed = !dock->isFloating() &&
        std::any_of(others.begin(), others.end(), [](const QDockWidget* one) { return !one->isHidden(); });
    if (tabbed == (dock->titleBarWidget() != nullptr)) continue;
    QWidget* old = dock->titleBarWidget();
    dock->setTitleBarWidget(tabbed ? new QWidget(dock) : nullptr);
    delete old;
  }
  for (QTabBar* bar : tabBars()) {
    QStringList titles;
    for (int i = 0; i < bar->count(); ++i) titles << bar->tabText(i);
    bar->setAccessibleName(tr("Views: %1").arg(titles.join(", ")));
    bar->installEventFilter(this);
    followTabs(*bar);
  }
  sayFronts();
}

/// Qt makes and deletes tab bars as docks move.
void DockSet::followTabs(QTabBar& bar) {
  if (bar.property(kFollowed).toBool()) return;
  bar.setProperty(kFollowed, true);
  bar.setElideMode(Qt::ElideNone);  // names that do not fit are reached by arrows and the wheel: a cut one says nothing
  bar.setUsesScrollButtons(true);
  connect(&bar, &QTabBar::tabBarClicked, this, [this, &bar](int tab) {
    const QString id = tab < 0 ? QString() : viewAt(&bar, bar.tabRect(tab).center());
    if (id.isEmpty()) return;
    if (tab != bar.currentIndex()) emit scripted(QString("view.show(\"%1\")").arg(id));
    QTimer::singleShot(0, m_views[id], [view = m_views[id]] {  // behind the change of the tab
      if (view->isVisible()) view->setFocus(Qt::MouseFocusReason);
    });
  });
}

void DockSet::sayFronts() {
  for (auto view = m_views.begin(); view != m_views.end(); ++view)
    view.value()->setInFront(!view.value()->isVisible() || visible(view.key()));
}

QByteArray DockSet::save() const {
  QByteArray state;
  QDataStream out(&state, QIODevice::WriteOnly);
  out << m_window.saveState(1) << m_centre->saveState(1);
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
  const QScopedValueRollback moving(m_moving, m_moving + 1);
  QDataStream in(state);
  QByteArray docks, centre;
  in >> docks >> centre;
  return in.status() == QDataStream::Ok && m_window.restoreState(docks, 1) && m_centre->restoreState(centre, 1);
}

bool DockSet::visible(const QString& id) const {
  const InspectorView* view = m_views.value(id);
  if (!view || !view->isVisible()) return false;
  if (view->window() != &m_window) return true;  // a floating dock
  return m_window.rect().intersects(
      QRect(view->mapTo(&m_window, QPoint()), view->size()));  // docks behind other tabs lie outside
}

}  // namespace kvlab
