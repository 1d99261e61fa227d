// SPDX-License-Identifier: GPL-3.0-or-later
// Every entry of every menu, in many states of the window over the real engine: an entry that cannot apply is grey and
// its tip says why, and an entry that is not grey is not refused.
#include <QClipboard>
#include <QDialog>
#include <QFocusEvent>
#include <QMenu>
#include <QMenuBar>

#include "app/base/application.h"
#include "app/whole_window.h"
#include "support/runner.h"
#include "widgets/base/row_actions.h"

using namespace kvlab;
using nlohmann::json;

class MenusTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_settings;
  std::unique_ptr<MainWindow> m_window;
  QStringList m_refused, m_wrong;
  std::uint64_t m_serial = 0;
  json m_made;  // where() behind make()

  LiveContext& context() { return m_window->context(); }
  std::uint64_t serial() { return context().history().empty() ? 0 : context().history().back()->serial; }

  /// The state that menu entries change and that other entries depend on. Measurements publish a state again and leave
  /// it.
  json where() {
    if (!context().snapshot()) return nullptr;
    const Snapshot& s = *context().history().back();
    return {context().sessionNumber(),  s.entry, s.pending.size(), s.stage != nullptr, s.lanes != nullptr,
            context().snapshot()->entry};
  }

  void command(const char* id, const json& args = json::object()) {
    const Status done = m_window->runCommand(id, args);
    QVERIFY2(done, done ? "" : (std::string(id) + ": " + done.error().text()).c_str());
    QVERIFY(test::settled(*m_window));
  }

  void makeWindow() {
    m_window.reset();
    m_window = test::wholeWindow(test::wholeSettings(false));
    connect(&context(), &InspectorContext::failed, this,
            [this](const Error& error) { m_refused << QString::fromStdString(error.code + ": " + error.text()); });
  }

  /// Brings the window into a state, anew: a window is made once, and a session each time.
  void make(const QString& state) {
    QGuiApplication::clipboard()->setText("a b");  // entries copy, others paste
    if (!m_window || state == "no session") makeWindow();
    if (state == "no session") return;
    json manifest{{"model", "synthetic:tiny"}, {"threads", 1}};
    if (state == "wlod") manifest["wlod"] = {{"budget", 64}, {"attention", "pyramid"}};
    if (state == "running") manifest["capacity"] = 100000;  // so that the run does not end
    if (state == "by head") manifest.update({{"residency", "kv_head"}, {"policy", "h2o:ratio=0.5"}});
    QVERIFY(test::openIn(*m_window, manifest, state == "empty" ? "" : "a b c d e f g h i j k l m n o p"));
    if (state == "nothing done" || state == "empty") return;
    command("step", {{"n", 3}});
    if (state == "lanes") command("lanes_open", {{"changes", json::array({{{"kv", {{"v", "int8"}}}}})}});
    if (state == "evicted")
      command("inject",
              {{"actions", json::array({{{"action", "evict"}, {"layer", 0}, {"ledger", {3}}}})}, {"now", true}});
    if (state == "edited")
      command("inject",
              {{"actions", json::array({{{"action", "replace"}, {"positions", {2}}, {"new_token_ids", {5}}}})},
               {"now", true}});
    if (state == "undone") command("undo");
    if (state == "pending") command("inject", {{"actions", json::array({{{"action", "delete"}, {"position", 2}}})}});
    if (state == "tick open") command("step_stage");
    if (state == "looking back") context().showTick(Tick(2));
    if (state != "nothing chosen") context().focusPosition(Position(3));
    if (state == "running") {
      QVERIFY(m_window->runCommand("step", {{"n", 1000000}}));
      QTRY_VERIFY(context().busy() && context().snapshot()->tick.value() > 6);
    }
    do {  // until all that it did has been shown
      m_serial = serial();
      QTest::qWait(10);
    } while (state != "running" && serial() != m_serial);
    m_made = where();
  }

  /// Until the work that an entry has started has ended. An endless run is stopped.
  void rest() {
    for (int i = 0; i < 3; ++i) QCoreApplication::processEvents();
    if (!context().busy() || m_window->property("runs").toBool()) return;
    if (!QTest::qWaitFor([&] { return !context().busy(); }, 1000)) context().runCommand("stop", json::object());
    QTRY_VERIFY_WITH_TIMEOUT(!context().busy(), 20000);
  }

  /// Closes the windows that an entry has opened.
  void tidy() {
    for (QWidget* one : QApplication::topLevelWidgets())
      if (one != m_window.get() && one->isVisible()) one->close();
    m_window->banner().hide();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }

  static QList<QAction*> entriesOf(const QMenu& menu) {
    QList<QAction*> out;
    for (QAction* one : menu.actions())
      if (one->menu()) out << entriesOf(*one->menu());
      else if (!one->isSeparator() && one->isVisible()) out << one;
    return out;
  }

  /// Entries that end the window or the base of the test, or wait for a person.
  static bool leftOut(const QAction& entry) {
    static const QStringList kOut{"Quit", "Tour", "Resume Tour", "Stop"};
    return kOut.contains(entry.text().remove('&'));
  }

  /// A run goes on until there is no more room.
  static bool endOfRun(const QString& entry, const QString& error) {
    return entry == "Run" && (error.startsWith("capacity:") || error.startsWith("over_budget:"));
  }

  void checkGrey(const QString& where, const QAction& entry) {
    const bool says = entry.toolTip().contains("Off:") || entry.toolTip().contains("Not now:");
    if (!entry.isEnabled() && !says && entry.text() != "Nothing opened yet")
      m_wrong << QString("%1 > %2 is grey and does not say why").arg(where, entry.text());
  }

  void take(const QString& where, QAction& entry) {
    if (!entry.isEnabled() || leftOut(entry)) return;
    const QString text = entry.text();
    m_refused.clear();
    entry.trigger();
    rest();
    for (const QString& one : m_refused)
      if (!endOfRun(text, one)) m_wrong << QString("%1 > %2: %3").arg(where, text, one);
    tidy();
  }

  /// The actions that a right click on the view offers. A widget that offers its own actions opens a menu that waits
  /// for a choice.
  QList<QAction*> offeredBy(const QString& id) {
    m_window->docks().show(id);
    QCoreApplication::processEvents();
    QWidget* const view = m_window->docks().view(id);
    QWidget* at = view;
    if (QWidget* inner = view->focusProxy(); inner && inner->isVisible()) at = inner;
    if (at->inherits("QLineEdit") || at->inherits("QPlainTextEdit")) return {};  // the menu of every field of text
    for (QWidget* one = at; one && one != view->parentWidget(); one = one->parentWidget())
      if (one->contextMenuPolicy() == Qt::ActionsContextMenu) return one->actions();
    QContextMenuEvent event(QContextMenuEvent::Keyboard, at->rect().center(), at->mapToGlobal(at->rect().center()));
    QCoreApplication::sendEvent(at, &event);
    const auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    return menu ? entriesOf(*menu) : QList<QAction*>();
  }

  bool changed() { return where() != m_made; }

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_settings)); }
  void cleanup() { m_window.reset(); }

  void entries_data() {
    QTest::addColumn<QString>("state");
    test::SanitizerSample sample(3);
    for (const char* state : {"no session", "empty", "nothing done", "nothing chosen", "edited", "undone", "evicted",
                              "pending", "tick open", "looking back", "lanes", "wlod", "by head", "running"})
      if (sample.takes()) QTest::newRow(state) << QString(state);
  }
  void entries() {
    QFETCH(QString, state);
    m_wrong.clear();
    m_window.reset();
    make(state);
    if (QTest::currentTestFailed()) return;
    m_window->setProperty("runs", state == "running");
    const auto anew = [&] {
      if (state != "no session" && (state == "running" ? !context().busy() : changed())) make(state);
      if (state == "no session" && context().snapshot()) make(state);
    };
    QStringList menus;
    for (QAction* top : m_window->menuBar()->actions()) menus << top->text();
    for (int m = 0; m < menus.size(); ++m) {
      const auto entries = [&] { return entriesOf(*m_window->menuBar()->actions()[m]->menu()); };
      for (int i = 0; i < entries().size(); ++i) {
        checkGrey(menus[m], *entries()[i]);
        take(menus[m], *entries()[i]);
        anew();
        if (QTest::currentTestFailed()) return;
      }
    }
    for (const QString& id : m_window->docks().ids()) {
      for (int i = 0;; ++i) {
        const QList<QAction*> entries = offeredBy(id);
        if (i >= entries.size()) break;
        checkGrey(id, *entries[i]);
        QPointer<QAction> entry = entries[i];
        const bool on = entry->isEnabled();
        if (QWidget* menu = QApplication::activePopupWidget()) menu->close();
        QCoreApplication::processEvents();
        if (on && entry) take(id, *entry);
        anew();
        if (QTest::currentTestFailed()) return;
      }
      tidy();
    }
    m_wrong.removeDuplicates();
    for (const QString& one : m_wrong) fprintf(stderr, "%s\n", qPrintable(one));  // Qt cuts the message of a check
    QVERIFY(m_wrong.isEmpty());
  }

  /// A row that has never left a layer has nothing to go back to, and one that has left has.
  void backToWhatNeverWas() {
    make("edited");
    const RowActions& rows = *m_window->docks().view("map")->rowActions();
    QVERIFY(rows.obstacle(*rows.action("back")).isEmpty());
    const auto entry = [&](const char* id) { return rows.findChild<QAction*>(id); };
    QVERIFY2(rows.obstacle(*entry("last_evicted")).contains("never left"),
             qPrintable(rows.obstacle(*entry("last_evicted"))));
    QVERIFY(rows.obstacle(*entry("last_changed")).contains("as it came"));
    make("evicted");
    const RowActions& others = *m_window->docks().view("map")->rowActions();
    QVERIFY(others.obstacle(*others.findChild<QAction*>("last_evicted")).isEmpty());
  }
};

KV_TEST_UNDER(GuardedApplication, MenusTest)

#include "menus_test.moc"
