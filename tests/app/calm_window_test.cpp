// SPDX-License-Identifier: GPL-3.0-or-later
// The window stays calm over the real engine: it fits small screens, views float, close and come back, nothing moves
// under the pointer, and messages end with their cause.
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QTabBar>

#include "app/whole_window.h"
#include "support/runner.h"
#include "widgets/base/notices.h"

using namespace kvlab;
using nlohmann::json;

class CalmWindowTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_folder;
  std::unique_ptr<MainWindow> m_window;

  SnapshotPtr now() { return m_window->context().history().back(); }
  InspectorView* view(const char* id) { return m_window->docks().view(id); }
  QDockWidget* dock(const char* id) { return m_window->findChild<QDockWidget*>(QString("dock_") + id); }
  bool open(const char* text = "") { return test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}}, text); }
  bool settled() { return test::settled(*m_window); }
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
  /// The places of all views, tab bars and buttons.
  QHash<QString, QRect> places() {
    QHash<QString, QRect> all;
    const auto add = [&](const QString& name, const QWidget* one) {
      if (one->isVisible()) all[name] = {one->mapTo(m_window.get(), QPoint()), one->size()};
    };
    for (const ViewInfo& info : views()) add(info.id, view(info.id));
    for (const QTabBar* one : m_window->findChildren<QTabBar*>()) add(one->accessibleName(), one);
    for (const QPushButton* one : m_window->findChildren<QPushButton*>())
      if (!m_window->banner().isAncestorOf(one)) add("button " + one->text(), one);
    return all;
  }
  QPushButton* button(const char* name) {
    for (QPushButton* one : view("compose")->findChildren<QPushButton*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  QLabel* message() {
    for (QLabel* one : view("compose")->findChildren<QLabel*>())
      if (one->accessibleName() == "State of the list") return one;
    return nullptr;
  }
  bool composes() {
    return m_window->views().showView("compose") && QTest::qWaitFor([&] { return view("compose")->ready(); });
  }
  QString text() {
    QString all;
    for (LedgerId id : now()->context) all += tokenText(*now(), id);
    return all;
  }

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_folder)); }
  void init() {
    m_window = test::wholeWindow();
    QVERIFY(open("anna puts the silver key in the cellar . the rain falls .") && now()->length() > 10);
  }
  void cleanup() { m_window.reset(); }

  /// In a process of its own, because a process has one screen.
  void theFirstWindowFitsItsScreen_data() {
    QTest::addColumn<QSize>("screen");
    QTest::addColumn<QString>("scale");
    QTest::addRow("1280x720") << QSize(1280, 720) << "1";
    QTest::addRow("1920x1080 at 150 %%") << QSize(1920, 1080) << "1.5";
  }
  void theFirstWindowFitsItsScreen() {
    QFETCH(QSize, screen);
    QFETCH(QString, scale);
    QFile config(m_folder.filePath("screen.json"));
    QVERIFY(config.open(QIODevice::WriteOnly));
    config.write(QString(R"({"screens":[{"name":"main","x":0,"y":0,"width":%1,"height":%2,"logicalDpi":96,)"
                         R"("logicalBaseDpi":96,"dpr":1}]})")
                     .arg(screen.width())
                     .arg(screen.height())
                     .toUtf8());
    config.close();
    QProcess other;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_QPA_PLATFORM", "offscreen:configfile=" + config.fileName());
    environment.insert("QT_SCALE_FACTOR", scale);
    other.setProcessEnvironment(environment);
    other.start(QCoreApplication::applicationFilePath(), {"calm_window_test", "theFirstWindowIsInsideTheScreen"});
    QVERIFY(other.waitForFinished());
    QVERIFY2(other.exitCode() == 0, other.readAllStandardOutput().constData());
  }
  void theFirstWindowIsInsideTheScreen() {
    m_window = test::wholeWindow(test::wholeSettings(false));
    QVERIFY(open("anna puts the silver key in the cellar ."));
    for (const ViewInfo& info : views()) QVERIFY(m_window->views().showView(info.id));
    QTest::qWait(50);
    const QSize screen = m_window->screen()->availableSize();
    QVERIFY2(m_window->width() <= screen.width() && m_window->height() + 30 <= screen.height(),
             qPrintable(QString("%1x%2").arg(m_window->width()).arg(m_window->height())));
    QVERIFY(m_window->rect().contains(m_window->status().geometry()));
    QVERIFY(view("map")->height() >= 110);
  }

  /// The size of a screen of 1920x1080 at 150 %.
  void everyLayoutFitsASmallScreen_data() {
    QTest::addColumn<QString>("layout");
    QTest::addRow("first") << "reset_layout";
    for (const TaskLayout& layout : taskLayouts()) QTest::addRow("%s", qPrintable(layout.id)) << layout.id;
  }
  void everyLayoutFitsASmallScreen() {
    QFETCH(QString, layout);
    for (const ViewInfo& info : views()) QVERIFY(m_window->views().showView(info.id));  // as tall as they become
    QVERIFY(m_window->setSize({1280, 720}));
    QVERIFY(command(qPrintable(layout)));
    QTest::qWait(50);
    QCOMPARE(m_window->size(), QSize(1280, 720));
    QVERIFY(m_window->rect().contains(m_window->status().geometry()));
    for (const ViewInfo& info : views())
      if (m_window->docks().visible(info.id))
        QVERIFY2(view(info.id)->height() >= 110 && view(info.id)->width() >= 320, info.id);
  }

  /// Names of tabs are whole on a small screen; those without room are behind arrows.
  void tabsStayReadable() {
    QVERIFY(m_window->setSize({1280, 720}));
    QVERIFY(command("reset_layout"));
    QTest::qWait(50);
    int tabs = 0;
    for (QTabBar* bar : m_window->findChildren<QTabBar*>()) {
      if (!bar->isVisible() || bar->count() < 2) continue;
      tabs += bar->count();
      QCOMPARE(bar->elideMode(), Qt::ElideNone);
      QVERIFY(bar->usesScrollButtons());
      for (int i = 0; i < bar->count(); ++i)
        QVERIFY2(bar->tabRect(i).width() >= bar->fontMetrics().horizontalAdvance(bar->tabText(i)),
                 qPrintable(bar->tabText(i)));
    }
    QVERIFY(tabs > 16);
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
    QVERIFY(m_window->views().showView("mirror"));  // a closed view comes back in a place, not as a window
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
      QVERIFY(m_window->views().showView(info.id));
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
    QVERIFY(m_window->views().showView("map"));
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
    QVERIFY(m_window->open(WindowPanel::Palette));
    QVERIFY(palette.isVisible());
    QVERIFY(!palette.isWindow());
  }

  void nothingMovesWhenAnErrorComes() {
    const auto before = places();
    QVERIFY(!command("frobnicate"));
    m_window->context().runCommand("frobnicate", json::object());
    Banner& banner = m_window->banner();
    QTRY_VERIFY(banner.isVisible());
    QTest::qWait(20);
    QCOMPARE(places(), before);
    QVERIFY(m_window->rect().contains(banner.geometry()) && banner.height() >= 30);
    QVERIFY(!banner.visibleRegion().isEmpty());
    m_window->resize(1300, 800);
    QTRY_COMPARE(m_window->size(), QSize(1300, 800));
    QTRY_VERIFY(m_window->rect().contains(banner.geometry()));
  }

  /// A line of the tour stays for minutes, so the views stand below it; the next line is at the same place.
  void captionsHaveRoomOfTheirOwn() {
    const int before = view("map")->mapTo(m_window.get(), QPoint()).y();
    Banner& banner = m_window->banner();
    banner.showCaption(QString("two lines ").repeated(40), [] {});
    QTest::qWait(20);
    const int below = view("map")->mapTo(m_window.get(), QPoint()).y();
    QVERIFY(below >= before + banner.height());
    banner.showCaption("one line", [] {});
    QTest::qWait(20);
    QCOMPARE(view("map")->mapTo(m_window.get(), QPoint()).y(), below);
    banner.hide();
    QTest::qWait(20);
    QCOMPARE(view("map")->mapTo(m_window.get(), QPoint()).y(), before);
  }

  void nothingMovesWhileComposing() {
    QVERIFY(composes());
    QVERIFY(m_window->views().setFocus({{"row", 3}}));
    QTest::qWait(20);
    const auto before = places();
    auto* words = view("compose")->findChild<QLineEdit*>();
    QTest::keyClicks(words, "attic");
    QTRY_VERIFY(view("compose")->ready());
    QCOMPARE(places(), before);
    QTest::mouseClick(button("Replace"), Qt::LeftButton);
    QTRY_VERIFY(!now()->pending.empty() && view("compose")->ready());
    QCOMPARE(places(), before);
    QTest::mouseClick(button("Apply now"), Qt::LeftButton);
    QTRY_VERIFY(now()->pending.empty() && view("compose")->ready());
    QVERIFY(message()->text().contains("Applied"));
    QCOMPARE(places(), before);
  }

  void nothingMovesWhenQuantisationIsMeasured() {
    QVERIFY(m_window->setSize({1280, 720}));
    QVERIFY(command("reset_layout"));
    QVERIFY(m_window->views().showView("quant"));
    QTest::qWait(20);
    const auto before = places();
    QVERIFY(command("quantisation_measure"));
    QVERIFY(settled());
    QTRY_VERIFY(view("quant")->dump().contains("worst"));
    QTest::qWait(20);
    QCOMPARE(places(), before);
  }

  void messagesOfComposeEndWithTheirCause() {
    QVERIFY(composes());
    const json edit = json::array({{{"action", "delete"}, {"position", 3}}});
    const auto apply = [&](const char* name) {
      QVERIFY(m_window->views().setOptions("compose", {{"draft", edit}}));
      QTRY_VERIFY2(button(name)->isEnabled(), qPrintable(message()->text()));
      QTest::mouseClick(button(name), Qt::LeftButton);
      QVERIFY(settled());
      QTRY_VERIFY(view("compose")->ready());
    };
    apply("Apply now");
    QVERIFY(message()->text().contains("Applied"));
    QVERIFY(command("undo"));
    QVERIFY(settled());
    QTRY_VERIFY2(!message()->text().contains("Applied"), "it was taken back");
    apply("Queue");
    QVERIFY(message()->text().contains("Queued"));
    QVERIFY2(message()->text().contains(" positions "), qPrintable(message()->text()));  // the plan's figures stay
    QVERIFY(command("step"));
    QVERIFY(settled());
    QTRY_VERIFY2(!message()->text().contains("Queued"), "it was done");
    apply("Queue");
    QVERIFY(open());
    QVERIFY2(!message()->text().contains("Queued"), "another session is shown");
  }

  void applyHasOneKey() {
    QCOMPARE(m_window->commands().find("apply")->keys, QStringList("Ctrl+Return"));
    QVERIFY(composes());
    auto* words = view("compose")->findChild<QLineEdit*>();
    const json edit = json::array({{{"action", "delete"}, {"position", 3}}});
    const auto draft = [&] {
      QVERIFY(m_window->views().setOptions("compose", {{"draft", edit}}));
      QTRY_VERIFY(button("Apply now")->isEnabled());
    };
    const auto applied = [&](int rows) {
      return QTest::qWaitFor([&] { return now()->length() == rows && view("compose")->ready(); }, 5000);
    };
    const int rows = now()->length();
    for (QWidget* where :
         {static_cast<QWidget*>(words), static_cast<QWidget*>(view("compose")->findChild<QPlainTextEdit*>()),
          static_cast<QWidget*>(button("Queue"))}) {
      draft();
      where->setFocus();
      QTest::keyClick(where, Qt::Key_Return, Qt::ControlModifier);
      QVERIFY2(applied(rows - 1), where->metaObject()->className());
      QVERIFY(command("undo"));
      QVERIFY(applied(rows));
    }
    draft();
    words->setFocus();
    QTest::keyClick(words, Qt::Key_A, Qt::AltModifier);  // the underlined letter
    QVERIFY(applied(rows - 1));
    QVERIFY(command("inject", {{"actions", edit}}));
    QVERIFY(settled());
    QTRY_VERIFY(!now()->pending.empty());
    view("map")->setFocus();
    QTest::keyClick(view("map"), Qt::Key_Return, Qt::ControlModifier);
    QVERIFY2(applied(rows - 2), "not applied from the map");
  }

  /// The dialog begins where the specification lies that the empty view names.
  void theSweepDialogBeginsAtTheShippedSweeps() {
    MainWindow asking(test::wholeSettings(false));
    QVERIFY(asking.runCommand("run_sweep", json::object()));
    auto* dialog = asking.findChild<QFileDialog*>();
    QVERIFY(dialog && dialog->directory().exists("smartkv.json"));
    const QString advice = view("sweep")->findChild<EmptyNotice*>()->accessibleDescription();
    QVERIFY2(advice.contains("smartkv.json") && !advice.contains("resource:"), qPrintable(advice));
    dialog->close();
  }

  void aStepThatLeavesAnOlderTickSaysSo() {
    m_window->context().submit("step", {{"n", 4}});
    QVERIFY(settled());
    const std::int64_t newest = now()->tick.value();
    auto* said = m_window->status().findChild<QLabel*>("status_said");
    QTest::keyClick(m_window.get(), Qt::Key_F10);
    QTRY_COMPARE(now()->tick.value(), newest + 1);
    QVERIFY(settled());
    QVERIFY(!said->text().contains("went on"));
    QVERIFY(m_window->views().setFocus({{"tick", 2}}));
    QTest::keyClick(m_window.get(), Qt::Key_F10);
    QTRY_COMPARE(now()->tick.value(), newest + 2);
    QTRY_COMPARE(said->text(), QString("went on from tick %1, the newest, not from tick 2").arg(newest + 1));
    QVERIFY(m_window->context().following());
  }

  /// The question is about damage that no tick's check has seen, but a check on demand has.
  void damageFoundOnDemandIsShown() {
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}, {"faults", true}}, "anna puts the red key in"));
    m_window->context().submit("step", {{"n", 3}});
    m_window->context().submit("fault", {{"kind", "value_bit"}, {"layer", 1}, {"index", 5}});
    m_window->context().submit("step", json::object());
    QVERIFY(settled());
    const Tick newest = now()->tick;
    QStringList said;
    connect(&m_window->context(), &LiveContext::noted, this, [&](const QString& line) { said << line; });
    QVERIFY(command("broke_first"));
    QVERIFY(settled());
    QVERIFY2(said.filter("it broke").isEmpty(), qPrintable(said.join("\n")));
    QVERIFY(command("check_invariants"));
    QVERIFY(settled());
    QVERIFY(command("broke_first"));
    QVERIFY(settled());
    QTRY_COMPARE(said.filter("it broke between").size(), 1);
    QCOMPARE(m_window->context().snapshot()->tick, newest);
  }

  void numbersHaveAMenu() {
    m_window->context().submit("step", {{"n", 4}});
    QVERIFY(settled());
    QVERIFY(m_window->views().showView("numbers"));
    QTRY_VERIFY(view("numbers")->ready());
    const Tick before = m_window->context().snapshot()->tick;
    QWidget* plot = view("numbers")->childAt(view("numbers")->width() * 3 / 4, view("numbers")->height() / 2);
    QTest::mouseClick(plot, Qt::RightButton, {}, plot->rect().center());
    QMenu* menu = menuOf(plot, plot->rect().center());
    QVERIFY2(menu && !menu->actions().isEmpty(), plot->metaObject()->className());
    QCOMPARE(m_window->context().snapshot()->tick, before);
    menu->close();
  }

  void lanesKeepTheRailOfStaleRows() {
    QVERIFY(command("inject",
                    {{"actions", json::array({{{"action", "replace"}, {"positions", {3}}, {"new_token_ids", {12}}}})},
                     {"now", true}}));
    QVERIFY(settled());
    QTRY_VERIFY(m_window->context().snapshot()->exactness);
    const std::vector<Exactness> before = *m_window->context().snapshot()->exactness;
    QVERIFY(command("lanes_open", {{"changes", json::array({{{"policy", "streaming_llm:ratio=0.5"}}})}}));
    QVERIFY(settled());
    QTRY_VERIFY(m_window->context().snapshot()->lanes);
    QVERIFY(command("step"));
    QVERIFY(settled());
    QVERIFY2(m_window->context().snapshot()->exactness, "the map cannot draw the rail");
    const std::vector<Exactness>& after = *m_window->context().snapshot()->exactness;
    QVERIFY(std::equal(before.begin(), before.end(), after.begin()));
  }

  void aPromptThatWasCancelledComesBack() {
    auto* line = m_window->findChild<PromptLine*>();
    const QString words = QString("the silver key is in the cellar . ").repeated(100).trimmed();
    const int before = now()->length();
    line->setText(words);
    QTest::keyClick(line, Qt::Key_Return);
    m_window->context().cancel();
    QVERIFY(settled());
    QTRY_VERIFY(m_window->banner().isVisible());
    QCOMPARE(now()->length(), before);
    QCOMPARE(line->text(), words);
  }

  void returnPressesTheFocusedButton() {
    QVERIFY(composes());
    QVERIFY(m_window->views().setOptions("compose", {{"draft", "[{"}}));
    QTRY_VERIFY(button("Drop changes")->isEnabled());
    button("Drop changes")->setFocus();
    QTest::keyClick(button("Drop changes"), Qt::Key_Return);
    QCOMPARE(view("compose")->findChild<QPlainTextEdit*>()->toPlainText(), QString());
    bool next = false;
    m_window->banner().showCaption("a line", [&] { next = true; });
    QTRY_VERIFY(m_window->banner().isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    QVERIFY(next);
  }
};

KV_TEST(CalmWindowTest)
#include "calm_window_test.moc"
