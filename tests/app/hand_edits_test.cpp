// SPDX-License-Identifier: GPL-3.0-or-later
// Editing by hand in the whole window over the real engine: real clicks and keys, counted, and the content of the cache
// afterwards; and undo, which belongs to the session wherever the keyboard focus is.
#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolBar>
#include <QToolButton>

#include "app/whole_window.h"
#include "app/window/edit_list.h"
#include "app/window/row_tools.h"
#include "support/runner.h"
#include "widgets/base/word_edit.h"
#include "widgets/views/map/map_view.h"
#include "widgets/views/strip/strip_view.h"

using namespace kvlab;
using nlohmann::json;

/// Counts presses of mouse buttons in the program.
class Clicks : public QObject {
 public:
  Clicks() { qApp->installEventFilter(this); }
  int take() { return std::exchange(m_count, 0); }

 protected:
  bool eventFilter(QObject* target, QEvent* event) override {
    m_count += event->type() == QEvent::MouseButtonPress && target->isWidgetType();
    return false;
  }

 private:
  int m_count = 0;
};

class HandEditsTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window;

  SnapshotPtr now() { return m_window->context().history().back(); }
  StripView& strip() { return *qobject_cast<StripView*>(m_window->docks().view("strip")); }
  bool settled() {
    return QTest::qWaitFor([&] { return test::settled(*m_window) && strip().ready() && now()->length() > 0; }, 20000);
  }
  QString text() {
    QString all;
    for (LedgerId id : now()->context)
      all += QString::fromStdString(now()->info->tokenTexts[static_cast<std::size_t>(now()->ledger[id].token.value())]);
    return all;
  }
  void click(const char* word, Qt::MouseButton button = Qt::LeftButton, Qt::KeyboardModifiers held = {}) {
    const auto& chips = strip().text().chips();
    for (std::size_t i = 0; i < chips.size(); ++i) {
      if (chips[i].position < 0 || tokenText(*now(), chips[i].ledger) != QString(QChar(0x00B7)) + word) continue;
      const QPoint at = strip().text().chipRect(static_cast<int>(i)).center();
      QTest::mouseClick(strip().text().viewport(), button, held, at);
      if (button != Qt::RightButton) return;
      QContextMenuEvent asks(QContextMenuEvent::Mouse, at, strip().text().viewport()->mapToGlobal(at));
      QCoreApplication::sendEvent(strip().text().viewport(), &asks);
      return;
    }
    QFAIL(word);
  }
  QString undoTitle() {
    for (QAction* menu : m_window->menuBar()->actions())
      for (QAction* one : menu->menu()->actions())
        if (one->text().startsWith("Undo")) return one->text();
    return {};
  }
  /// A session that is nearly full.
  void openSmall() {
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}, {"capacity", 16}},
                         "anna puts the silver key in the cellar ."));
    QVERIFY(settled());
  }
  /// Ctrl+Z where the keyboard is.
  bool undone(const QString& expected) {
    QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : m_window.get(), Qt::Key_Z,
                    Qt::ControlModifier);
    return QTest::qWaitFor([&] { return settled() && text() == expected; }, 5000);
  }

 private Q_SLOTS:
  void init() {
    m_window = test::wholeWindow();
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}},
                         "anna puts the silver key in the cellar . the rain falls ."));
    QVERIFY(settled());
  }
  void cleanup() { m_window.reset(); }

  void aTokenIsReplacedWithAClickAndAWord() {
    const QString before = text();
    Clicks clicks;
    click("cellar");
    QTest::keyClick(&strip().text(), Qt::Key_Return);
    auto* edit = m_window->findChild<WordEdit*>();
    QVERIFY(edit && edit->hasFocus());
    QTest::keyClicks(edit, "attic");
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_COMPARE(text(), QString(before).replace("cellar", "attic"));
    QVERIFY(clicks.take() <= 2);
    QVERIFY(settled());
    QTRY_COMPARE(undoTitle(), QString("Undo replace “·cellar” → “·attic”"));
    QVERIFY(strip().text().hasFocus());
    QVERIFY(undone(before));
  }

  /// The focus goes with a word to the one that replaces it, and back with an undo.
  void theFocusGoesToTheNewWord() {
    click("cellar");
    const Focus old = m_window->context().focus();
    QVERIFY(old.position.value() >= 0);
    QTest::keyClick(&strip().text(), Qt::Key_Return);
    QTest::keyClicks(m_window->findChild<WordEdit*>(), "attic");
    QTest::keyClick(m_window->findChild<WordEdit*>(), Qt::Key_Return);
    QTRY_VERIFY(text().contains("attic"));
    QVERIFY(settled());
    const Focus fresh = m_window->context().focus();
    QCOMPARE(fresh.position, old.position);
    QVERIFY(fresh.ledger != old.ledger);
    QCOMPARE(fresh.ledger, now()->context[static_cast<std::size_t>(fresh.position.value())]);
    QVERIFY(m_window->runCommand("undo", json::object()));
    QVERIFY(settled());
    QTRY_COMPARE(m_window->context().focus().ledger, old.ledger);
    QCOMPARE(m_window->context().focus().position, old.position);
  }

  /// Who looks at the drift sees the zero behind a rebuild.
  void aRebuildShowsThatTheDriftIsZero() {
    m_window->context().setQuantity(Quantity::DriftV);
    click("puts");
    QTest::keyClick(&strip().text(), Qt::Key_Delete);
    QTRY_VERIFY(!text().contains("puts"));
    QVERIFY(settled());
    QVERIFY(m_window->runCommand("rebuild", json::object()));
    QTRY_VERIFY(settled() && now()->kl.has_value());
    QCOMPARE(*now()->kl, 0.0);
    QTRY_VERIFY2(strip().dump().contains(" 0\n") && !strip().dump().contains("not measured"),
                 qPrintable(strip().dump()));
  }

  /// A breakpoint and a watch of a run that goes on: it pauses for them, goes on, and stops where it shall.
  void aRunTakesBreakpoints() {
    LiveContext& context = m_window->context();
    QVERIFY(m_window->runCommand("run", {{"max_ticks", 1500}}));
    QTRY_VERIFY(context.busy() && now()->tick.value() > 3);
    context.runCommand("watch_add", {{"expression", "length"}});
    QTRY_VERIFY_WITH_TIMEOUT(now()->watches && !now()->watches->empty(), 5000);
    QVERIFY2(now()->tick.value() < 1490, "the watch came behind the run");
    const std::int64_t seen = now()->tick.value();
    QTRY_VERIFY_WITH_TIMEOUT(now()->tick.value() > seen + 3, 20000);  // it goes on
    context.runCommand("break_add", {{"condition", "tick >= " + std::to_string(now()->tick.value() + 40)}});
    QTRY_VERIFY_WITH_TIMEOUT(now()->breakpoints && !now()->breakpoints->empty(), 5000);
    QTRY_VERIFY_WITH_TIMEOUT(!context.busy() && now()->breakpoints->front().hits > 0, 20000);
    QVERIFY2(now()->tick.value() < 1490, "the run did not stop");
  }

  void threeRowsAreDeletedWithTwoClicks() {
    const QString before = text();
    Clicks clicks;
    click("puts");
    click("silver", Qt::LeftButton, Qt::ShiftModifier);
    QTest::keyClick(&strip().text(), Qt::Key_Delete);
    QTRY_COMPARE(text(), QString(before).replace(" puts the silver", ""));
    QVERIFY(clicks.take() <= 2);
    QVERIFY(settled());
    QTRY_COMPARE(undoTitle(), QString("Undo delete “·puts” and 2 more"));
    QVERIFY(undone(before));
  }

  /// Ticks in a row go together; the list marks the edits that go with one, and the keyboard focus comes back.
  void undoGoesByEditAndFromAList() {
    const QString before = text();
    for (int i = 0; i < 3; ++i) {
      QVERIFY(m_window->runCommand("step", json::object()));
      QVERIFY(settled());
    }
    QTRY_COMPARE(undoTitle(), QString("Undo 3 ticks"));
    const QString after = text();
    QVERIFY(m_window->runCommand("rebuild", json::object()));
    QVERIFY(settled());
    QVERIFY(m_window->runCommand("run", {{"max_ticks", 2}}));
    QTRY_COMPARE(undoTitle(), QString("Undo run of 2 ticks"));
    click("cellar");
    strip().text().setFocus();
    QVERIFY(undone(after));
    QTRY_COMPARE(undoTitle(), QString("Undo rebuild"));
    QToolButton* open = nullptr;
    for (QToolButton* one : m_window->findChild<QToolBar*>("toolbar")->findChildren<QToolButton*>())
      if (one->accessibleName() == "Undo To…") open = one;
    QVERIFY(open && open->isEnabled());
    QTest::mouseClick(open, Qt::LeftButton);
    QTRY_VERIFY(m_window->findChild<EditList*>());
    auto* list = m_window->findChild<EditList*>()->findChild<QListWidget*>();
    QCOMPARE(list->count(), 3);
    QCOMPARE(list->item(1)->text(), QString("3 ticks"));
    QVERIFY(list->item(2)->text().startsWith("prompt “anna puts"));
    QTest::keyClick(list, Qt::Key_Down);
    QCOMPARE(list->selectedItems().size(), 2);
    QTest::keyClick(list, Qt::Key_Return);
    QTRY_COMPARE(text(), before);
    QVERIFY(settled());
    QVERIFY(strip().text().hasFocus());
    QVERIFY(m_window->runCommand("redo_to", {{"edits", 2}}));
    QTRY_COMPARE(text(), after);
  }

  void aRowIsEvictedFromALayerWithTwoClicks() {
    Clicks clicks;
    click("cellar", Qt::RightButton);
    auto* menu = strip().findChild<QMenu*>();
    QVERIFY(menu && menu->isVisible());
    QAction* evict = nullptr;
    for (QAction* one : menu->actions())
      if (one->text().startsWith("Evict in layer")) evict = one;
    QVERIFY(evict);
    const std::size_t rows = now()->layers[0]->resident();
    QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(evict).center());
    QTRY_COMPARE(now()->layers[0]->resident(), rows - 1);
    QCOMPARE(now()->layers[1]->resident(), rows);
    QVERIFY2(clicks.take() <= 2, "more than two clicks");
  }

  /// The same three edits in the map, where a row and its layer are one click.
  void theMapTakesAsFewClicks() {
    auto& map = *qobject_cast<MapView*>(m_window->docks().view("map"));
    const auto press = [&](int layer, int position, Qt::MouseButton button, Qt::KeyboardModifiers held = {}) {
      m_window->context().focusLayer(CacheLayer(layer));
      const QPoint at = map.canvas().rowRect(Position(position)).center();
      m_window->context().focusLayer(CacheLayer(0));
      QTest::mouseClick(&map.canvas(), button, held, at);
      if (button != Qt::RightButton) return;
      QContextMenuEvent asks(QContextMenuEvent::Mouse, at, map.canvas().mapToGlobal(at));
      QCoreApplication::sendEvent(&map.canvas(), &asks);
    };
    QTRY_VERIFY(map.ready());
    const QString before = text();
    Clicks clicks;
    press(1, 7, Qt::LeftButton);
    QTest::keyClick(&map.canvas(), Qt::Key_F2);
    auto* edit = map.findChild<WordEdit*>();
    QVERIFY(edit && edit->hasFocus());
    QTest::keyClicks(edit, "attic");
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_VERIFY(text() != before);
    QVERIFY(settled());
    QCOMPARE(clicks.take(), 1);
    QVERIFY(undone(before));
    press(1, 2, Qt::LeftButton);
    press(1, 4, Qt::LeftButton, Qt::ShiftModifier);
    const int rows = now()->length();
    QTest::keyClick(&map.canvas(), Qt::Key_Delete);
    QTRY_COMPARE(now()->length(), rows - 3);
    QVERIFY(settled());
    QCOMPARE(clicks.take(), 2);
    QVERIFY(undone(before));
    QVERIFY(settled());
    press(2, 5, Qt::RightButton);
    auto* menu = map.findChild<QMenu*>();
    QVERIFY(menu && menu->isVisible());
    QAction* evict = nullptr;
    for (QAction* one : menu->actions())
      if (one->text() == "Evict in layer 2") evict = one;
    QVERIFY(evict);
    QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(evict).center());
    QTRY_COMPARE(now()->layers[2]->resident(), static_cast<std::size_t>(rows - 1));
    QCOMPARE(now()->layers[1]->resident(), static_cast<std::size_t>(rows));
    QCOMPARE(clicks.take(), 2);
  }

  /// The tool bar of the Edit layout: an edit is a click on the row and a click on the tool; the tools keep their
  /// places.
  void theToolsOfTheEditLayout() {
    auto* tools = m_window->findChild<RowTools*>();
    QVERIFY(tools && !tools->isVisible());
    QVERIFY(m_window->runCommand("layout_edit", json::object()));
    QTRY_VERIFY(tools->isVisible());
    QVERIFY(settled());
    const auto tool = [&](const char* name) {
      QToolButton* found = nullptr;
      for (QToolButton* one : tools->findChildren<QToolButton*>())
        if (one->accessibleName() == name) found = one;
      return found;
    };
    const auto places = [&] {
      QList<QRect> all;
      for (QToolButton* one : tools->findChildren<QToolButton*>()) all << one->geometry();
      return all;
    };
    const QList<QRect> before = places();
    for (const QToolButton* one : tools->findChildren<QToolButton*>())
      if (!one->accessibleName().isEmpty()) QVERIFY2(!one->icon().isNull(), qPrintable(one->accessibleName()));
    Clicks clicks;
    click("cellar");
    QTRY_VERIFY(tool("Delete")->isEnabled());
    QVERIFY(!tool("Expand")->isEnabled() && tool("Expand")->toolTip().contains("Off: the session has no wLOD tree"));
    const QString all = text();
    QTest::mouseClick(tool("Delete"), Qt::LeftButton);
    QTRY_COMPARE(text(), QString(all).remove(" cellar"));
    QCOMPARE(clicks.take(), 2);
    QVERIFY(settled());
    QCOMPARE(places(), before);
    QVERIFY(m_window->runCommand("row_tools", json::object()));
    QVERIFY(!tools->isVisible());
    QVERIFY(m_window->runCommand("reset_layout", json::object()));
    QVERIFY(!tools->isVisible());
  }

  /// Text from the clipboard goes in before the row, undo names it, and text that does not fit leaves all as it was.
  void pastedTextFitsOrIsRefused() {
    const QString before = text();
    click("cellar");
    QGuiApplication::clipboard()->setText(" old");
    QTest::keyClick(&strip().text(), Qt::Key_V, Qt::ControlModifier);
    QTRY_COMPARE(text(), QString(before).replace(" cellar", " old cellar"));
    QVERIFY(settled());
    QTRY_COMPARE(undoTitle(), QString("Undo insert “·old”"));
    QVERIFY(undone(before));
    openSmall();
    const QString small = text();
    const std::int64_t tick = now()->tick.value();
    click("cellar");
    QGuiApplication::clipboard()->setText(QString(" the old key").repeated(8));
    QTest::keyClick(&strip().text(), Qt::Key_V, Qt::ControlModifier);
    QTRY_VERIFY2(m_window->banner().isVisible() && m_window->banner().text().contains("the cache is full"),
                 qPrintable(m_window->banner().text()));
    QVERIFY(settled());
    QCOMPARE(text(), small);
    QCOMPARE(now()->tick.value(), tick);
    QVERIFY(now()->pending.empty());
  }

  /// Nothing ends in silence.
  void commandsSayWhatTheyDid() {
    auto* said = m_window->status().findChild<QLabel*>("status_said");
    LiveContext& context = m_window->context();
    QVERIFY(said && said->text().isEmpty());
    QVERIFY(m_window->runCommand("break_add", {{"condition", "length >= 20"}}));
    QVERIFY(m_window->runCommand("run", json::object()));
    QTRY_COMPARE(said->text(), QString("Stopped at the breakpoint length >= 20 after %1 ticks").arg(20 - 14));
    QVERIFY(m_window->runCommand("break_clear", json::object()));
    QVERIFY(settled());
    for (const char* nothing : {"break_clear", "watch_remove", "note_remove"})
      QCOMPARE(m_window->runCommand(nothing, json::object()).error().code, std::string("blocked"));
    for (const auto& [command, field] : {std::pair{"run_back", "condition"},
                                         {"break_add", "condition"},
                                         {"watch_add", "expression"},
                                         {"save_cache", "path"}})
      QCOMPARE(m_window->runCommand(command, {{field, ""}}).error().why, field + std::string(" is empty"));
    QVERIFY(m_window->runCommand("run", {{"max_ticks", 3}}));
    QTRY_COMPARE(said->text(), QString("Ran 3 ticks, as many as asked for"));
    QVERIFY(settled());
    QVERIFY(m_window->runCommand("drift", json::object()));
    QTRY_VERIFY2(said->text().startsWith("Drift from a rebuild, worst layer: K 0, V 0"), qPrintable(said->text()));
    QVERIFY(settled());
    QVERIFY(m_window->runCommand("rebuild", json::object()));
    QTRY_VERIFY2(said->text().startsWith("Computed "), qPrintable(said->text()));
    QVERIFY(settled());
    QVERIFY(m_window->runCommand("undo", json::object()));
    QTRY_VERIFY2(said->text().startsWith("At tick "), qPrintable(said->text()));
    QTemporaryDir folder;
    QVERIFY(m_window->runCommand("save_cache", {{"path", folder.filePath("x.safetensors").toStdString()}}));
    QTRY_VERIFY2(said->text().startsWith("Saved ") && said->text().contains("x.safetensors"), qPrintable(said->text()));
    context.show(nullptr);
    QVERIFY2(said->text().isEmpty(), "a line of the session before stayed");
  }

  void aFullCacheEndsARunWithItsReason() {
    openSmall();
    QVERIFY(m_window->runCommand("run", json::object()));
    QTRY_VERIFY2(m_window->banner().isVisible() && m_window->banner().text().contains("capacity"),
                 qPrintable(m_window->banner().text()));
  }

  void aRightClickInNumbersGoesNowhere() {
    m_window->context().submit("step", {{"n", 6}});
    QVERIFY(settled());
    QVERIFY(m_window->views().showView("numbers"));
    InspectorView* numbers = m_window->docks().view("numbers");
    QTRY_VERIFY(numbers->ready());
    QWidget* plot = numbers->childAt(numbers->width() / 3, numbers->height() / 2);
    const Tick before = m_window->context().snapshot()->tick;
    QTest::mouseClick(plot, Qt::RightButton, {}, QPoint(plot->width() / 3, plot->height() / 2));
    QCOMPARE(m_window->context().snapshot()->tick, before);
    QTest::mouseClick(plot, Qt::LeftButton, {}, QPoint(plot->width() / 3, plot->height() / 2));
    QVERIFY(m_window->context().snapshot()->tick != before);
  }

  /// The walk of D2: after Apply now in Compose the keyboard stays there, and the next Ctrl+Z takes the edit back.
  void undoIsTheSessionsUnlessATextHasItsOwn() {
    const QString before = text();
    auto* prompt = m_window->findChild<QLineEdit*>("prompt");
    QTest::keyClicks(prompt, "abc");
    prompt->setFocus();
    QTest::keyClick(prompt, Qt::Key_Z, Qt::ControlModifier);  // the field's own
    QVERIFY(prompt->text() != "abc");
    QCOMPARE(text(), before);
    prompt->setText({});
    click("cellar");
    QVERIFY(m_window->views().showView("compose"));
    InspectorView* compose = m_window->docks().view("compose");
    QVERIFY(compose->setOption("draft", json::array({{{"action", "delete"}, {"position", 3}}})).operator bool());
    QPushButton* apply = nullptr;
    for (QPushButton* one : compose->findChildren<QPushButton*>())
      if (one->text().contains("Apply")) apply = one;
    QVERIFY(apply);
    QTRY_VERIFY(apply->isEnabled());
    QTest::mouseClick(apply, Qt::LeftButton);
    QTRY_VERIFY(text() != before);
    QVERIFY(settled());
    QVERIFY2(QApplication::focusWidget() && compose->isAncestorOf(QApplication::focusWidget()),
             "the keyboard left Compose");
    QVERIFY(undone(before));
    prompt->setFocus();
    QTest::keyClick(prompt, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);  // redo, from another field
    QTRY_VERIFY(text() != before);
    QVERIFY(settled());
    auto* editor = compose->findChild<QPlainTextEdit*>();
    editor->setFocus();
    QVERIFY2(undone(before), "the editor kept Ctrl+Z");
  }
};

KV_TEST(HandEditsTest)
#include "hand_edits_test.moc"
