// SPDX-License-Identifier: GPL-3.0-or-later
// Random clicks and keys in the whole window over the real engine, every menu entry among them: nothing ends the
// program, no guard has to catch anything, and the window answers afterwards. KVLAB_CLICKS says how many (2000 unless
// given), KVLAB_CLICKS_SEED the first seed, KVLAB_CLICKS_SAY=1 writes each act before it is done.
#include <QAbstractButton>
#include <QDialog>
#include <QFileDialog>
#include <QMenu>
#include <QMenuBar>
#include <random>

#include "app/base/application.h"
#include "app/whole_window.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

int numberOf(const char* name, int otherwise) {
  bool number = false;
  const int value = qEnvironmentVariableIntValue(name, &number);
  return number ? value : otherwise;
}

}  // namespace

class RandomClicksTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_settings;
  std::unique_ptr<MainWindow> m_window;
  std::mt19937 m_random;
  QStringList m_faults, m_done;
  QTimer m_inside;  // menus and dialogs that wait for a choice wait in a loop of their own: it acts there
  bool m_acts = false;

  int below(int end) { return end <= 0 ? 0 : static_cast<int>(m_random() % static_cast<unsigned>(end)); }
  template <class List>
  auto oneOf(const List& list) {
    return *(std::begin(list) + below(static_cast<int>(std::size(list))));
  }
  LiveContext& context() { return m_window->context(); }

  void say(const QString& what) {
    m_done << what;
    if (qEnvironmentVariableIsSet("KVLAB_CLICKS_SAY")) fprintf(stderr, "%s\n", qPrintable(what));
  }

  void make(int seed) {
    static const std::vector<json> kManifests = {
        {{"model", "synthetic:tiny"}},
        {{"model", "synthetic:tiny"}, {"policy", "h2o:ratio=0.5"}, {"residency", "kv_head"}},
        {{"model", "synthetic:tiny"}, {"layout", "paged"}, {"kv", {{"v", "int8"}}}},
        {{"model", "synthetic:tiny"}, {"wlod", {{"budget", 64}, {"attention", "pyramid"}}}}};
    m_window = test::wholeWindow(test::wholeSettings(false));
    connect(&context(), &InspectorContext::failed, this, [this](const Error& error) {
      if (error.code == "internal") m_faults << QString::fromStdString(error.text());
    });
    json manifest = kManifests[static_cast<std::size_t>(seed) % kManifests.size()];
    manifest["threads"] = 1;
    QVERIFY(test::openIn(*m_window, manifest, "a b c d e f g h i j k l m n o p"));
  }

  /// Downloads, other programs, the end, and the tour, which waits for a person in a loop of its own.
  static bool leftOut(const QString& text) {
    static const QRegularExpression kOut(
        "Quit|[Tt]our|Download|Fetch|Get |Start|Train|Close and Stop|Browse|Check Model");
    return text.contains(kOut);
  }

  Qt::KeyboardModifiers modifiers() {
    static constexpr Qt::KeyboardModifiers kAll[] = {Qt::NoModifier, Qt::NoModifier, Qt::NoModifier, Qt::ShiftModifier,
                                                     Qt::ControlModifier};
    return kAll[below(5)];
  }

  /// A menu that is open: an entry of it, or Esc.
  void inMenu(QMenu& menu) {
    QList<QAction*> entries;
    for (QAction* one : menu.actions())
      if (!one->isSeparator() && one->isVisible() && !leftOut(one->text())) entries << one;
    if (entries.isEmpty() || below(5) == 0) {
      say("Esc in a menu");
      return QTest::keyClick(&menu, Qt::Key_Escape);
    }
    const QAction* entry = oneOf(entries);
    say("menu entry " + entry->text());
    QTest::mouseClick(&menu, Qt::LeftButton, {}, menu.actionGeometry(const_cast<QAction*>(entry)).center());
  }

  void clickIn(QWidget& top) {
    const QPoint place(below(top.width()), below(top.height()));
    QWidget* at = top.childAt(place);
    if (!at) at = &top;
    const auto* button = qobject_cast<QAbstractButton*>(at);
    if (button && leftOut(button->text())) return;
    const QPoint inside = at->mapFrom(&top, place);
    const QString where = QString("%1 %2 at %3,%4")
                              .arg(at->metaObject()->className(), at->accessibleName())
                              .arg(place.x())
                              .arg(place.y());
    switch (below(8)) {
      case 0: {
        say("right click " + where);
        QContextMenuEvent event(QContextMenuEvent::Mouse, inside, at->mapToGlobal(inside));
        QCoreApplication::sendEvent(at, &event);
        return;
      }
      case 1: say("double click " + where); return QTest::mouseDClick(at, Qt::LeftButton, modifiers(), inside);
      case 2: {
        say("drag " + where);
        QTest::mousePress(at, Qt::LeftButton, {}, inside);
        QTest::mouseMove(at, QPoint(below(at->width()), below(at->height())));
        QTest::mouseRelease(at, Qt::LeftButton, {}, QPoint(below(at->width()), below(at->height())));
        return;
      }
      default: say("click " + where); return QTest::mouseClick(at, Qt::LeftButton, modifiers(), inside);
    }
  }

  void key() {
    QWidget* at = QApplication::focusWidget();
    if (!at) at = m_window.get();
    static const std::vector<int> kKeys = {
        Qt::Key_Return, Qt::Key_Escape, Qt::Key_Tab,    Qt::Key_Delete,   Qt::Key_Insert, Qt::Key_Left, Qt::Key_Right,
        Qt::Key_Up,     Qt::Key_Down,   Qt::Key_Home,   Qt::Key_End,      Qt::Key_Space,  Qt::Key_Menu, Qt::Key_F2,
        Qt::Key_A,      Qt::Key_B,      Qt::Key_C,      Qt::Key_E,        Qt::Key_H,      Qt::Key_N,    Qt::Key_P,
        Qt::Key_R,      Qt::Key_S,      Qt::Key_V,      Qt::Key_W,        Qt::Key_Y,      Qt::Key_0,    Qt::Key_Plus,
        Qt::Key_Minus,  Qt::Key_Slash,  Qt::Key_PageUp, Qt::Key_Backspace};
    const auto key = static_cast<Qt::Key>(oneOf(kKeys));
    const auto held = modifiers();
    say("key " + QKeySequence(int(key) | int(held)).toString() + " in " + at->metaObject()->className());
    QTest::keyClick(at, key, held);
  }

  void shortcut() {
    QStringList keys;
    for (const Command& command : m_window->commands().all())
      if (command.id != "quit" && command.id != "tour") keys << command.keys;
    const QKeySequence one(oneOf(keys), QKeySequence::PortableText);
    say("shortcut " + one.toString());
    QWidget* at = QApplication::focusWidget();
    QTest::keySequence(at ? at : m_window.get(), one);
  }

  void menuEntry() {
    const QList<QAction*> tops = m_window->menuBar()->actions();
    QMenu* menu = oneOf(tops)->menu();
    say("menu " + menu->title());
    menu->popup(m_window->mapToGlobal(QPoint(40, 30)));
    QCoreApplication::processEvents();
    inMenu(*menu);
    for (QMenu* sub : menu->findChildren<QMenu*>())
      if (sub->isVisible()) inMenu(*sub);
    menu->close();
  }

  void type() {
    QWidget* at = QApplication::focusWidget();
    static const QStringList kWords{"the silver key", "kl > 0.05", "#3 #4", "9", "{\"policy\":\"h2o\"}", "invariant"};
    const QString words = oneOf(kWords);
    say("type " + words);
    QTest::keyClicks(at ? at : m_window.get(), words);
  }

  void inDialog(QDialog& dialog) {
    if (qobject_cast<QFileDialog*>(&dialog) || below(3) == 0) {
      say("close " + dialog.windowTitle());
      dialog.close();
    } else if (below(4) == 0) {
      type();
    } else {
      clickIn(dialog);
    }
  }

  void act() {
    m_acts = true;
    choose();
    m_acts = false;
  }

  /// Something that waits for a choice gets one: without it the act that opened it never ends.
  void actInside() {
    if (!m_acts) return;
    if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) return inMenu(*menu);
    if (auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget())) return inDialog(*dialog);
  }

  void choose() {
    if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) return inMenu(*menu);
    if (QWidget* popup = QApplication::activePopupWidget()) return below(2) ? clickIn(*popup) : void(popup->close());
    QList<QDialog*> dialogs;
    for (QWidget* one : QApplication::topLevelWidgets())
      if (auto* dialog = qobject_cast<QDialog*>(one); dialog && dialog->isVisible()) dialogs << dialog;
    if (!dialogs.isEmpty() && below(2)) return inDialog(*oneOf(dialogs));
    switch (below(10)) {
      case 0:
      case 1: return menuEntry();
      case 2: return shortcut();
      case 3: return type();
      case 4:
      case 5: return key();
      default: return clickIn(*m_window);
    }
  }

  void run(int seed, int acts) {
    m_random.seed(static_cast<unsigned>(seed));
    make(seed);
    if (QTest::currentTestFailed()) return;
    for (int i = 0; i < acts; ++i) {
      act();
      QCoreApplication::processEvents();
      QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
      if (!m_window->isVisible()) m_window->show();
      if (i % 50 == 49) context().runCommand("stop", json::object());
    }
    for (QWidget* one : QApplication::topLevelWidgets())
      if (one != m_window.get() && one->isVisible()) one->close();
    context().runCommand("stop", json::object());
    QTRY_VERIFY_WITH_TIMEOUT(!context().busy(), 60000);
    QVERIFY2(
        m_faults.isEmpty(),
        qPrintable(
            QString("seed %1: %2\n%3").arg(seed).arg(m_faults.join('\n'), m_done.mid(m_done.size() - 40).join('\n'))));
  }

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(test::ownSettings(m_settings));
    connect(&m_inside, &QTimer::timeout, this, &RandomClicksTest::actInside);
    m_inside.start(200);
    QVERIFY(QDir::setCurrent(m_settings.path()));
  }
  void init() { m_faults.clear(), m_done.clear(); }
  void cleanup() { m_window.reset(); }

  void clicksAndKeys_data() {
    QTest::addColumn<int>("seed");
    const int first = numberOf("KVLAB_CLICKS_SEED", 13);
    for (int seed = first; seed < first + 4; ++seed) QTest::newRow(qPrintable(QString::number(seed))) << seed;
  }
  void clicksAndKeys() {
    QFETCH(int, seed);
    run(seed, numberOf("KVLAB_CLICKS", 2000) / 4);
  }
};

KV_TEST_UNDER(GuardedApplication, RandomClicksTest)

#include "random_clicks_test.moc"
