// SPDX-License-Identifier: GPL-3.0-or-later
// The window by keyboard alone: Tab reaches every control that can be seen, in the order in which it
// stands, and comes round; each says its name and is framed while it has the keyboard; F6 goes from
// view to view.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTabBar>
#include <QToolBar>
#include <QToolButton>

#include "app/fake_engine.h"
#include "app/whole_window.h"
#include "app/window/keyboard.h"
#include "support/runner.h"
#include "widgets/views/console/script_input.h"

using namespace kvlab;
using nlohmann::json;

class KeyboardTest : public QObject {
  Q_OBJECT

 private:
  test::FakeState m_state;
  std::unique_ptr<MainWindow> m_window;

  void open() {
    QVERIFY(test::openIn(*m_window, json::object()));
    m_window->context().submit("step", {{"n", 3}});
    QTRY_VERIFY(!m_window->context().busy() && m_window->context().snapshot()->tick == Tick(3));
  }
  static QString named(const QWidget* one) {
    return one ? QString("%1 %2 \"%3\"").arg(one->metaObject()->className(), one->objectName(), one->accessibleName())
               : QString("nothing");
  }
  bool insideView(const QWidget* one) const {
    for (const QWidget* up = one; up; up = up->parentWidget())
      if (qobject_cast<const InspectorView*>(up)) return m_window->docks().visible(up->objectName());
    return true;
  }
  /// Controls that a person could click. Parts of one control (arrows, clear buttons, scroll bars) count
  /// with it; tool bar buttons are commands with menu entries and keys.
  QList<QWidget*> controls() const {
    QList<QWidget*> found;
    for (QWidget* one : m_window->findChildren<QWidget*>()) {
      const bool kind = qobject_cast<QAbstractButton*>(one) || qobject_cast<QComboBox*>(one) ||
          qobject_cast<QAbstractSpinBox*>(one) || qobject_cast<QLineEdit*>(one) ||
          qobject_cast<QAbstractItemView*>(one) || qobject_cast<QPlainTextEdit*>(one) || qobject_cast<QTabBar*>(one) ||
          (one->focusPolicy() & Qt::TabFocus);
      if (!kind || !one->isVisible() || !one->isEnabled() || one->window() != m_window.get() || !insideView(one))
        continue;
      if (qobject_cast<InspectorView*>(one) || one->inherits("QHeaderView") || one->inherits("QScrollBar")) continue;
      const QWidget* up = one->parentWidget();
      if (qobject_cast<const QLineEdit*>(up) || qobject_cast<const QComboBox*>(up) ||
          qobject_cast<const QAbstractSpinBox*>(up) || qobject_cast<const QAbstractItemView*>(up) ||
          qobject_cast<const QTabBar*>(up) || up->inherits("QDockWidget"))
        continue;
      if (qobject_cast<const QToolBar*>(up) && qobject_cast<QToolButton*>(one)) continue;
      found << one;
    }
    return found;
  }
  /// Every stop of one round, the first one last.
  QList<QWidget*> walk(Qt::Key key) {
    QList<QWidget*> stops;
    QWidget* start = QApplication::focusWidget();
    do {
      QTest::keyClick(m_window.get(), key, key == Qt::Key_Backtab ? Qt::ShiftModifier : Qt::NoModifier);
      stops << QApplication::focusWidget();
    } while (stops.last() && stops.last() != start && stops.size() < 200);
    return stops;
  }
  void checkRound() {
    const QList<QWidget*> forward = walk(Qt::Key_Tab);
    QVERIFY2(forward.last() && forward.size() < 200, "the round is not closed");
    QCOMPARE(QSet<QWidget*>(forward.begin(), forward.end()).size(), forward.size());
    for (const QWidget* one : forward) {
      QVERIFY2(!one->accessibleName().isEmpty(), qPrintable(named(one) + " has no name"));
      QVERIFY2(insideView(one), qPrintable(named(one) + " cannot be seen"));
    }
    for (QWidget* one : controls()) QVERIFY2(forward.contains(one), qPrintable(named(one) + " is not reached by Tab"));
    QList<QWidget*> back = walk(Qt::Key_Backtab);
    std::reverse(back.begin(), back.end());
    back.append(back.takeFirst());
    QCOMPARE(back, forward);
  }

 private Q_SLOTS:
  void init() {
    WindowSettings settings;
    settings.engines = [this](const json&) { return test::fakeOpener(m_state); };
    settings.headless = true;
    m_window = test::wholeWindow(settings);
  }
  void cleanup() { m_window.reset(); }

  void tabGoesRound_data() {
    QTest::addColumn<QString>("view");
    for (const ViewInfo& info : views()) QTest::addRow("%s", info.id) << info.id;
  }
  void tabGoesRound() {
    QFETCH(QString, view);
    open();
    QVERIFY(m_window->views().showView(view));
    QTRY_VERIFY(m_window->docks().visible(view));
    const InspectorView* shown = m_window->docks().view(view);
    QVERIFY(shown == QApplication::focusWidget() || shown->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(m_window.get(), Qt::Key_Tab);
    checkRound();
  }
  /// Typed text arrives where a person looks: in the line of the console, by its key and by its tab.
  void theConsoleTakesWhatIsTyped() {
    open();
    auto* line = m_window->docks().view("console")->findChild<ScriptInput*>();
    const auto typed = [&](const QString& text) {
      QTest::keyClicks(QApplication::focusWidget(), text);
      return line->toPlainText();
    };
    QVERIFY(m_window->views().showView("console"));
    QCOMPARE(typed("s.step"), QString("s.step"));
    QVERIFY(m_window->views().showView("events"));
    QTabBar* tabs = nullptr;
    int place = -1;
    for (QTabBar* bar : m_window->findChildren<QTabBar*>())
      for (int i = 0; i < bar->count(); ++i)
        if (bar->isVisible() && bar->tabText(i) == "Console") tabs = bar, place = i;
    QVERIFY(tabs);
    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(place).center());
    QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(line));
    QCOMPARE(typed("(2)"), QString("s.step(2)"));
  }
  /// The key of a view gives the keyboard to a control of it that can be seen, and words that a person types next
  /// arrive in its line, where the view has one and nothing else to choose from.
  void theKeyOfAViewTakesWords_data() {
    QTest::addColumn<QString>("view");
    QTest::addColumn<QString>("line");
    for (const ViewInfo& info : views()) {
      const QString id = info.id;
      QTest::addRow("%s", info.id) << id
                                   << (id == "watches"       ? "Expression to watch"
                                           : id == "lanes"   ? "Changes of the lanes"
                                           : id == "compose" ? "Replacement words"
                                                             : "");
    }
  }
  void theKeyOfAViewTakesWords() {
    QFETCH(QString, view);
    QFETCH(QString, line);
    open();
    QTest::keySequence(m_window.get(), QKeySequence(findView(view)->key));
    QWidget* at = QApplication::focusWidget();
    const InspectorView* shown = m_window->docks().view(view);
    QVERIFY2(at && (at == shown || shown->isAncestorOf(at)), qPrintable(named(at)));
    QVERIFY(at->isVisible() && at->isEnabled());
    if (line.isEmpty()) return;
    QCOMPARE(at->accessibleName(), line);
    QTest::keyClicks(at, "kl");
    QCOMPARE(qobject_cast<QLineEdit*>(at)->text(), QString("kl"));
  }
  /// Ctrl+Shift+M: the words that follow at once are the note.
  void aNoteIsTypedAtOnce() {
    open();
    QTest::keyClick(m_window.get(), Qt::Key_M, Qt::ControlModifier | Qt::ShiftModifier);
    QTest::keyClicks(QApplication::focusWidget(), "why here");
    auto* line = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY2(line, qPrintable(named(QApplication::focusWidget())));
    QCOMPARE(line->text(), QString("why here"));
  }
  void tabGoesRoundWithoutASession() {
    m_window->activateWindow();
    QTest::keyClick(m_window.get(), Qt::Key_Tab);
    checkRound();
  }
  /// Down the columns, from left to right; inside a view its controls come before its content.
  void tabGoesAsPeopleRead() {
    open();
    QTest::keyClick(m_window.get(), Qt::Key_0, Qt::AltModifier);
    QStringList order;
    for (QWidget* one : walk(Qt::Key_Tab)) order << one->accessibleName();
    const auto before = [&](const char* first, const char* second) {
      return order.indexOf(first) >= 0 && order.indexOf(first) < order.indexOf(second);
    };
    QVERIFY2(before("Quantity", "Map of the cache") && before("Zoom out", "Map of the cache"),
             qPrintable(order.join(" | ")));
    QVERIFY2(before("Map of the cache", "Tokens of the context"), qPrintable(order.join(" | ")));
    QVERIFY2(before("Tokens of the context", "Into") && before("Into", "Only wrong lines"),
             qPrintable(order.join(" | ")));
    QVERIFY2(before("Cache and mirror, line by line", "Number of tokens"), qPrintable(order.join(" | ")));
    QCOMPARE(order.last(), QString("Prompt"));
  }
  void aFrameShowsWhoHasTheKeyboard() {
    open();
    auto* ring = m_window->findChild<FocusRing*>();
    m_window->docks().view("map")->setFocus();
    QVERIFY(!ring->isVisible());  // nobody pressed a key
    QTest::keyClick(m_window.get(), Qt::Key_Tab);
    QVERIFY(ring->isVisible());
    QWidget* target = QApplication::focusWidget();
    QVERIFY(ring->geometry().contains(QRect(target->mapTo(m_window.get(), QPoint()), target->size())));
    m_window->resize(1300, 900);
    QTRY_VERIFY(ring->geometry().contains(QRect(target->mapTo(m_window.get(), QPoint()), target->size())));
    QTest::mouseClick(m_window->docks().view("map"), Qt::LeftButton);
    QVERIFY(!ring->isVisible());
  }
  void f6GoesFromViewToView() {
    open();
    QTest::keyClick(m_window.get(), Qt::Key_0, Qt::AltModifier);
    QStringList seen;
    for (int i = 0; i < 6; ++i) {
      QTest::keyClick(m_window.get(), Qt::Key_F6);
      for (const ViewInfo& info : views())
        if (m_window->docks().view(info.id) == QApplication::focusWidget() ||
            m_window->docks().view(info.id)->isAncestorOf(QApplication::focusWidget()))
          seen << info.id;
    }
    QCOMPARE(seen, (QStringList{"map", "strip", "events", "mirror", "model", "map"}));
    QTest::keyClick(m_window.get(), Qt::Key_F6, Qt::ShiftModifier);
    QVERIFY(m_window->docks().view("model")->isAncestorOf(QApplication::focusWidget()));
  }
};

KV_TEST(KeyboardTest)
#include "keyboard_test.moc"
