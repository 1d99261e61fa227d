// SPDX-License-Identifier: GPL-3.0-or-later
// Lines that changes of the window say: views, layouts, theme and zoom, by command and by mouse; each line does the
// same again in another window.
#include <QDockWidget>
#include <QTabBar>
#include <QToolButton>
#include <QWheelEvent>

#include "app/whole_window.h"
#include "support/runner.h"
#include "widgets/canvas/axis_canvas.h"

using namespace kvlab;
using nlohmann::json;

class SaidLinesTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window, m_other;
  QStringList m_said;

  static bool open(MainWindow& window) {
    return test::openIn(window, json::object(), "the cat sat on the mat and the dog ran") &&
        window.context().snapshot()->length() > 5;
  }
  QDockWidget* dock(const char* id) { return m_window->findChild<QDockWidget*>(QString("dock_") + id); }
  /// Says the same in another window.
  void replay() {
    for (const QString& line : m_said) {
      bool bad = true;
      QString why;
      m_other->context().evaluate(line, m_other.get(), [&](const QString& text, bool failed) {
        bad = failed;
        why = text;
      });
      QVERIFY2(!bad, qPrintable(line + ": " + why));
    }
  }
  QStringList shown(MainWindow& window) {
    QStringList out;
    for (const QString& id : window.docks().ids()) {
      auto* one = window.findChild<QDockWidget*>("dock_" + id);
      out << id + (one->isHidden() ? " hidden" : one->isFloating() ? " floats" : "");
    }
    return out;
  }

 private Q_SLOTS:
  void init() {
    m_window = test::wholeWindow();
    m_other = test::wholeWindow();
    QVERIFY(open(*m_window) && open(*m_other));
    QTest::qWait(50);
    m_said.clear();
    connect(&m_window->context(), &InspectorContext::scripted, this, [this](const QString& line) { m_said << line; });
  }
  void cleanup() {
    m_window.reset();
    m_other.reset();
  }

  void commandsSayTheirLines() {
    for (const auto& [id, args] :
         std::initializer_list<std::pair<const char*, json>>{{"show_ledger", json::object()},
                                                             {"close_view", {{"view", "numbers"}}},
                                                             {"float_view", {{"view", "rings"}}},
                                                             {"theme", {{"name", "light"}}}})
      QVERIFY(m_window->runCommand(id, args));
    QCOMPARE(m_said,
             (QStringList{"view.show(\"ledger\")", "view.command(\"close_view\", {\"view\":\"numbers\"})",
                          "view.command(\"float_view\", {\"view\":\"rings\"})", "view.theme(\"light\")"}));
    replay();
    QCOMPARE(shown(*m_other), shown(*m_window));
    QCOMPARE(m_other->theme(), QString("light"));
    m_said.clear();
    QVERIFY(m_window->runCommand("layout_rings", json::object()) &&
            m_window->runCommand("reset_layout", json::object()));
    QCOMPARE(m_said, (QStringList{"view.command(\"layout_rings\")", "view.command(\"reset_layout\")"}));
    replay();
    QCOMPARE(shown(*m_other), shown(*m_window));
  }

  void limitsAndBranchesSayTheirLines() {
    QVERIFY(!m_window->runCommand("all_ticks", json::object()));  // they are all shown
    QVERIFY(!m_window->runCommand("limit_ticks", {{"first", 3}, {"last", 2}}));
    QVERIFY(!m_window->runCommand("limit_ticks", {{"first", 0.5}, {"last", 2}}));
    QVERIFY(m_window->runCommand("limit_ticks", {{"first", 0}, {"last", 1}}));
    QCOMPARE(m_said.last(), QString("view.command(\"limit_ticks\", {first: 0, last: 1})"));
    replay();
    QCOMPARE(m_other->context().tickLimits(), m_window->context().tickLimits());
    QVERIFY(m_window->runCommand("all_ticks", json::object()) && !m_window->context().tickLimits());
    const auto run = [&](const char* id, const json& args) {
      QVERIFY(m_window->runCommand(id, args));
      QTRY_VERIFY(!m_window->context().busy());
    };
    run("step", {{"n", 2}});
    run("go_to_tick", {{"tick", 1}});
    run("step", json::object());
    QCOMPARE(m_window->context().snapshot()->branch, std::string("branch-1"));
    m_said.clear();
    run("go_to_tick", {{"tick", 3}, {"branch", "main"}});
    QCOMPARE(m_said, QStringList{"s.goto(3, \"main\")"});
    QCOMPARE(m_window->context().snapshot()->branch, std::string("main"));
    QCOMPARE(m_window->context().snapshot()->tick, Tick(3));
  }

  void theMouseSaysTheSame() {
    auto* button = dock("map")->findChild<QAbstractButton*>("qt_dockwidget_floatbutton");
    QVERIFY(button && button->isVisible());
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(m_said, QStringList{"view.command(\"float_view\", {\"view\":\"map\"})"});
    QTest::mouseClick(button, Qt::LeftButton);
    QTest::mouseClick(dock("strip")->findChild<QAbstractButton*>("qt_dockwidget_closebutton"), Qt::LeftButton);
    QCOMPARE(m_said.last(), QString("view.command(\"close_view\", {\"view\":\"strip\"})"));
    QCOMPARE(m_said.size(), 3);
    replay();
    QTRY_COMPARE(shown(*m_other), shown(*m_window));
    m_said.clear();
    for (QTabBar* bar : m_window->findChildren<QTabBar*>(Qt::FindDirectChildrenOnly))
      for (int tab = 0; tab < bar->count(); ++tab)
        if (bar->isVisible() && bar->tabText(tab) == "Console") {
          QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(tab).center());
          QCOMPARE(m_said, QStringList{"view.show(\"console\")"});
          QTest::mouseClick(bar, Qt::MiddleButton, {}, bar->tabRect(tab).center());
          QCOMPARE(m_said.last(), QString("view.command(\"close_view\", {\"view\":\"console\"})"));
          QCOMPARE(m_said.size(), 2);
          return;
        }
    QFAIL("no tab Console");
  }

  void zoomSaysItsRange() {
    InspectorView* map = m_window->docks().view("map");
    QTRY_VERIFY(map->ready());
    QCOMPARE(map->options()["to"], json("all"));
    auto* canvas = map->findChild<AxisCanvas*>();
    for (int i = 0; i < 4; ++i) {
      const QPointF at(canvas->width() / 2.0, canvas->height() / 2.0);
      QWheelEvent turn(at, canvas->mapToGlobal(at), {}, {0, 480}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
      QApplication::sendEvent(canvas, &turn);
    }
    QTRY_COMPARE(m_said.size(), 1);  // one line for all turns
    const json zoomed = map->options();
    QVERIFY(zoomed["to"].is_number());
    QCOMPARE(
        m_said.last(),
        QString("view.set(\"map\", {from: %1, to: %2})").arg(zoomed["from"].get<int>()).arg(zoomed["to"].get<int>()));
    replay();
    QCOMPARE(m_other->docks().view("map")->options()["from"], zoomed["from"]);
    QTest::keyClick(canvas, Qt::Key_0);
    QTRY_COMPARE(m_said.last(), QString("view.set(\"map\", {from: 0, to: \"all\"})"));
    replay();
    QCOMPARE(m_other->docks().view("map")->options()["to"], json("all"));
    QVERIFY(!m_window->views().sessionScript().contains("\"to\""));  // everything is as in a new window
  }

  void rangesThatCannotBeAreRefused() {
    InspectorView* map = m_window->docks().view("map");
    QVERIFY(!map->setOption("to", "some") && !map->setOption("from", "all"));
    QVERIFY(map->setOption("to", "all"));
  }
};

KV_TEST(SaidLinesTest)
#include "said_lines_test.moc"
