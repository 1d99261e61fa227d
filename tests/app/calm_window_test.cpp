// SPDX-License-Identifier: GPL-3.0-or-later
// The window stays calm over the real engine: it fits small screens, views float, close and come back, nothing moves
// under the pointer, and messages end with their cause.
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QTabBar>
#include <QtTest>

#include "app/core_engine.h"
#include "app/main_window.h"

using namespace kvlab;
using nlohmann::json;

class CalmWindowTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window;

  SnapshotPtr now() { return m_window->context().history().back(); }
  InspectorView* view(const char* id) { return m_window->docks().view(id); }
  QDockWidget* dock(const char* id) { return m_window->findChild<QDockWidget*>(QString("dock_") + id); }
  bool open(const json& manifest) {
    bool opened = false;
    m_window->openSession({{"manifest", manifest}}, [&](const Result<SessionPtr>& r) { opened = bool(r); });
    return QTest::qWaitFor([&] { return opened; }, 20000);
  }
  bool settled() {
    return QTest::qWaitFor([&] { return !m_window->context().busy(); }, 20000);
  }
  bool command(const char* id, const json& args = json::object()) {
    const bool done = bool(m_window->runCommand(id, args));
    QCoreApplication::processEvents();
    return done;
  }
  QMenu* menuOf(QWidget* where, const QPoint& at) {
    QContextMenuEvent asks(QContextMenuEvent::Mouse, at, where->mapToGlobal(at));
    QCoreApplication::sendEvent(where, &asks);
    return qobject_cast<QMenu*>(QApplication::activePopupWidget());
  }
  static void choose(QMenu* menu, const char* title) {
    for (QAction* one : menu->actions())
      if (one->text() == title) return QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(one).center());
    QFAIL(title);
  }

 private Q_SLOTS:
  void init() {
    WindowSettings settings;
    settings.engines = coreEngines(KVLAB_RESOURCES_DIR);
    settings.verbs = coreVerbs();
    settings.headless = true;
    m_window = std::make_unique<MainWindow>(settings);
    m_window->show();
    QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    QVERIFY(open({{"model", "demo"}, {"threads", 1}}));
    m_window->context().submit("prompt", {{"text", "anna puts the silver key in the cellar . the rain falls ."}});
    QTRY_VERIFY_WITH_TIMEOUT(now()->length() > 10, 20000);
    QVERIFY(settled());
  }
  void cleanup() { m_window.reset(); }

  /// A screen of 1920x1080 at 150 %.
  void everyLayoutFitsASmallScreen_data() {
    QTest::addColumn<QString>("layout");
    QTest::addRow("first") << "reset_layout";
    for (const TaskLayout& layout : taskLayouts()) QTest::addRow("%s", qPrintable(layout.id)) << layout.id;
  }
  void everyLayoutFitsASmallScreen() {
    QFETCH(QString, layout);
    for (const ViewInfo& info : views()) QVERIFY(m_window->showView(info.id));  // as tall as they become
    QVERIFY(m_window->setSize({1280, 720}));
    QVERIFY(command(qPrintable(layout)));
    QTest::qWait(50);
    QCOMPARE(m_window->size(), QSize(1280, 720));
    QVERIFY(m_window->rect().contains(m_window->status().geometry()));
    for (const ViewInfo& info : views())
      if (m_window->docks().visible(info.id))
        QVERIFY2(view(info.id)->height() >= 110 && view(info.id)->width() >= 320, info.id);
  }

  void layoutsShowTheViewsOfTheirTask() {
    for (const TaskLayout& layout : taskLayouts()) {
      QVERIFY(command(qPrintable(layout.id)));
      QTest::qWait(10);
      QStringList shown;
      for (const ViewInfo& info : views())
        if (!dock(info.id)->isHidden()) shown << info.id;
      QStringList wanted = layout.centre + layout.rightTop + layout.rightBottom + layout.bottom;
      shown.sort(), wanted.sort();
      QCOMPARE(shown, wanted);
      for (const QStringList& place : {layout.rightTop, layout.rightBottom, layout.bottom})
        if (!place.isEmpty()) QVERIFY2(m_window->docks().visible(place.first()), qPrintable(place.first()));
    }
    QVERIFY(!m_window->docks().visible("mirror"));
    QVERIFY(m_window->showView("mirror"));  // a closed view comes back in a place, not as a window
    QTRY_VERIFY(m_window->docks().visible("mirror") && !dock("mirror")->isFloating());
    QVERIFY(command("reset_layout"));
    for (const ViewInfo& info : views()) QVERIFY2(!dock(info.id)->isHidden(), info.id);
  }

  void everyViewFloatsClosesAndComesBack() {
    for (const ViewInfo& info : views()) {
      const json which{{"view", info.id}};
      QVERIFY(command("float_view", which));
      QVERIFY2(dock(info.id)->isFloating() && view(info.id)->window() != m_window.get(), info.id);
      QVERIFY(command("close_view", which));
      QVERIFY2(!m_window->docks().visible(info.id), info.id);
      QVERIFY(m_window->showView(info.id));
      QVERIFY(command("float_view", which));
      QVERIFY2(!dock(info.id)->isFloating() && view(info.id)->window() == m_window.get(), info.id);
    }
    QCOMPARE(m_window->runCommand("close_view", {{"view", "nothing"}}).error().code, std::string("unknown_view"));
  }

  void tabsAndTitlesHaveAMenu() {
    QTabBar* bar = nullptr;
    int tab = -1;
    for (QTabBar* one : m_window->findChildren<QTabBar*>())
      for (int i = 0; i < one->count(); ++i)
        if (one->tabText(i) == "Storage") bar = one, tab = i;
    QVERIFY(bar);
    QMenu* menu = menuOf(bar, bar->tabRect(tab).center());
    QVERIFY(menu);
    choose(menu, "Float or Dock View");
    QTRY_VERIFY(dock("storage")->isFloating());
    menu = menuOf(dock("map"), {20, 10});
    QVERIFY(menu);
    choose(menu, "Close View");
    QTRY_VERIFY(dock("map")->isHidden());
    menu = menuOf(dock("strip"), {20, 10});
    choose(menu, "Reset Layout");
    QTRY_VERIFY(!dock("map")->isHidden() && !dock("storage")->isFloating());
  }

  void thePaletteOpensInFrontOfAFloatingView() {
    QVERIFY(command("float_view", {{"view", "map"}}));
    dock("map")->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(dock("map")));
    QVERIFY(m_window->showView("map"));
    QTRY_VERIFY(view("map")->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_P, Qt::ControlModifier);
    Palette& palette = m_window->commandPalette();
    QVERIFY(palette.isVisible());
    QVERIFY2(palette.isWindow(), "it lies behind the floating view");
    auto* line = palette.findChild<QLineEdit*>();
    QTRY_COMPARE(QApplication::focusWidget(), line);
    QTest::keyClicks(line, "light");
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(!palette.isVisible());
    QCOMPARE(m_window->theme(), QString("light"));
    QVERIFY(m_window->setTheme("dark"));
    m_window->activateWindow();
    QTRY_COMPARE(QApplication::activeWindow(), m_window.get());
    m_window->showPalette();
    QVERIFY(palette.isVisible());
    QVERIFY(!palette.isWindow());
  }
};

QTEST_MAIN(CalmWindowTest)
#include "calm_window_test.moc"
