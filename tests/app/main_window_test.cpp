// SPDX-License-Identifier: GPL-3.0-or-later
// The workbench over a fake engine: commands by key, menu, palette and script; errors; pictures;
// places of views; refusals and their reasons. Nothing may ever be modal.
#include <QClipboard>
#include <QDockWidget>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QStatusTipEvent>
#include <QToolButton>

#include "app/engine/core_engine.h"
#include "app/fake_engine.h"
#include "app/whole_window.h"
#include "support/runner.h"
#include "widgets/base/button_use.h"

using namespace kvlab;
using nlohmann::json;

class MainWindowTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_settings;
  test::FakeState m_state;
  std::vector<json> m_requests;
  std::unique_ptr<MainWindow> m_window;

  std::unique_ptr<MainWindow> make(bool headless) {
    WindowSettings settings;
    settings.engines = [this](const json& request) {
      m_requests.push_back(request);
      const bool bad = request.contains("manifest") && request["manifest"].value("model", "") == "bad";
      return bad ? test::refusingOpener() : test::fakeOpener(m_state);
    };
    settings.schema = coreSchema();
    settings.schema.verbs.push_back({"block", {}, "", "", Effect::Commits});
    settings.schema.verbs.push_back({"tick", {}, "", ""});
    settings.headless = headless;
    return test::wholeWindow(settings);
  }
  void open() {
    QVERIFY(test::openIn(*m_window, json::object()));
    m_window->context().submit("step", {{"n", 3}});
    QTRY_VERIFY(!m_window->context().busy() && tick() == 3);
  }
  std::int64_t tick() {
    const SnapshotPtr shown = m_window->context().snapshot();
    return shown ? shown->tick.value() : -1;
  }
  QString statusText() { return m_window->status().texts().join(" | "); }

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_settings)); }
  void init() {
    m_requests.clear();
    m_window = make(true);
  }
  void cleanup() { m_window.reset(); }

  void everyCommandIsAnAction();
  void keysStepAndGoBack();
  void commandsSayWhyTheyCannotRun();
  void argumentsAreChecked();
  void paletteFindsAndRuns();
  void refusedSessionsShowABanner();
  void brokenSessionsSaySo();
  void everyViewHasAPicture();
  void picturesOfUnknownViewsAreRefused();
  void layoutsComeBack();
  void droppedFilesOpen();
  void inputWaitsWhileAScriptRuns();
  void tourWaitsForNext();
  void copiesTables();
  void noKeyMeansTwoThings();
  void everyCommandCanBeReached();
  void promptLineSendsMessages();
  void everyButtonOfAViewIsACommand();
  void repliesGoToWhoAsked();
  void optionsOfViewsAreSet();
  void looksBackInWords();
  void viewsBehindTabsDoNoWork();
  void errorsEndWithTheirCause();
  void tipsDoNotCoverTheStatus();
  void resetPutsFloatingViewsBack();
  void smallWindowsShowEverything();
  void refusedPromptsStay();
  void enteredLinesComeBack();
  void stopWaitsForWork();
  void closesWhileWorking();
};

void MainWindowTest::everyCommandIsAnAction() {
  QSet<QString> keys, ids;
  for (const Command& command : m_window->commands().all()) {
    QVERIFY2(QRegularExpression("^[a-z][a-z0-9_]*$").match(command.id).hasMatch(), qPrintable(command.id));
    QVERIFY2(!ids.contains(command.id), qPrintable(command.id));
    ids << command.id;
    QVERIFY2(!command.title.isEmpty() && command.help.endsWith('.'), qPrintable(command.id));
    QVERIFY2(command.run, qPrintable(command.id));
    for (const QString& key : command.keys) {
      QVERIFY2(!keys.contains(key), qPrintable("two commands for " + key));
      const QKeySequence sequence(key, QKeySequence::PortableText);
      QVERIFY2(!sequence.isEmpty() && sequence[0].key() != Qt::Key_unknown,
               qPrintable(key + " is no key of " + command.id));
      keys << key;
    }
  }
  for (const char* id : {"step",          "step_into",        "step_back",    "run",          "stop",
                         "rebuild",       "check_invariants", "undo",         "redo",         "new_session",
                         "open_manifest", "open_model",       "open_capture", "save_capture", "save_cache",
                         "load_cache",    "screenshot",       "theme",        "reset_layout", "tour",
                         "palette",       "help_commands",    "quit",         "copy",         "show_map"})
    QVERIFY2(ids.contains(id), id);
  for (QToolButton* button : m_window->findChildren<QToolButton*>())
    if (button->defaultAction() && button->isVisible())
      QVERIFY2(!button->accessibleName().isEmpty() || !button->text().isEmpty(), "button without a name");
}

void MainWindowTest::keysStepAndGoBack() {
  open();
  QTest::keyClick(m_window.get(), Qt::Key_F10);
  QTRY_COMPARE(tick(), 4);
  QTest::keyClick(m_window.get(), Qt::Key_F10);
  QTest::keyClick(m_window.get(), Qt::Key_F10);
  QTRY_COMPARE(tick(), 6);  // steps are never coalesced
  QTRY_VERIFY(!m_window->context().busy());
  QTest::keyClick(m_window.get(), Qt::Key_F10, Qt::ShiftModifier);
  QTRY_COMPARE(tick(), 5);
  QVERIFY(statusText().contains("tick 5"));
}

void MainWindowTest::commandsSayWhyTheyCannotRun() {
  const Status refused = m_window->runCommand("step", json::object());
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("blocked"));
  QCOMPARE(refused.error().why, std::string("no session is open"));
  QTest::keyClick(m_window.get(), Qt::Key_F10);
  QVERIFY(!m_window->banner().isVisible());  // a disabled action does nothing at all
  open();
  QCOMPARE(m_window->runCommand("undo", json::object()).error().why, std::string("there is nothing to undo"));
  QCOMPARE(m_window->runCommand("frobnicate", json::object()).error().code, std::string("unknown_command"));
}

void MainWindowTest::argumentsAreChecked() {
  open();
  const auto code = [&](const char* id, const json& args) {
    const Status status = m_window->runCommand(id, args);
    return status ? std::string("ok") : status.error().code + " " + status.error().field;
  };
  QCOMPARE(code("step", {{"n", "two"}}), std::string("bad_argument n"));
  QCOMPARE(code("step", {{"m", 2}}), std::string("bad_argument m"));
  QCOMPARE(code("prompt", json::object()), std::string("bad_argument text"));
  QCOMPARE(code("step", json::array()), std::string("bad_argument args"));
  QCOMPARE(code("save_capture", json::object()), std::string("bad_argument path"));  // nobody to ask
  QCOMPARE(code("theme", {{"name", "pink"}}), std::string("bad_argument name"));
  QCOMPARE(code("step", {{"n", 2}}), std::string("ok"));
  QTRY_COMPARE(tick(), 5);
}

void MainWindowTest::paletteFindsAndRuns() {
  open();
  QTest::keyClick(m_window.get(), Qt::Key_P, Qt::ControlModifier);
  Palette& palette = m_window->commandPalette();
  QVERIFY(palette.isVisible());
  auto* line = palette.findChild<QLineEdit*>();
  QTest::keyClicks(line, "chinv");
  QCOMPARE(palette.shownIds().first(), QString("check_invariants"));
  line->clear();
  QTest::keyClicks(line, "step");
  QCOMPARE(palette.shownIds().first(), QString("step"));
  QVERIFY(!palette.shownIds().contains("prompt"));  // needs an argument
  QTest::keyClick(line, Qt::Key_Return);
  QVERIFY(!palette.isVisible());
  QTRY_COMPARE(tick(), 4);
  QTest::keyClick(m_window.get(), Qt::Key_P, Qt::ControlModifier);
  QTest::keyClick(line, Qt::Key_Escape);
  QVERIFY(!palette.isVisible());
  QCOMPARE(tick(), 4);
}

void MainWindowTest::refusedSessionsShowABanner() {
  QVERIFY(m_window->runCommand("new_session", {{"manifest", {{"model", "bad"}}}}));
  QTRY_VERIFY(m_window->banner().isVisible());
  for (const char* part : {"the model was not opened", "there is none", "name another"})
    QVERIFY2(m_window->banner().text().contains(part), part);
  QVERIFY(!QApplication::activeModalWidget());
  QVERIFY(!m_window->session());
  auto* dismiss = m_window->banner().findChildren<QPushButton*>().last();
  QTest::mouseClick(dismiss, Qt::LeftButton);
  QVERIFY(!m_window->banner().isVisible());
}

void MainWindowTest::brokenSessionsSaySo() {
  open();
  QVERIFY(statusText().contains("Ready"));
  m_state.broken = true;
  QVERIFY(m_window->runCommand("step", json::object()));
  QTRY_VERIFY2(statusText().contains("Broken: the drill broke it"), qPrintable(statusText()));
  QVERIFY(m_window->runCommand("step", json::object()).error().why.find("Rebuild") != std::string::npos);
  m_state.broken = false;
}

void MainWindowTest::everyViewHasAPicture() {
  open();
  for (const std::string& id : m_window->views().viewIds()) {
    const PictureRequest request{QString::fromStdString(id), {500, 300}, 2.0};
    QTRY_VERIFY2(*m_window->views().readyFor(request), id.c_str());
    const auto picture = m_window->views().picture(request);
    QVERIFY2(picture, id.c_str());
    const QImage& image = *picture;
    QCOMPARE(image.size(), QSize(1000, 600));
    QSet<QRgb> colours;
    for (int y = 0; y < image.height(); y += 3)
      for (int x = 0; x < image.width(); x += 3) colours << image.pixel(x, y);
    QVERIFY2(colours.size() > 3, id.c_str());
  }
  const PictureRequest window{"window", {1200, 800}, 1.0};
  QTRY_VERIFY(*m_window->views().readyFor(window));
  QCOMPARE(m_window->views().picture(window)->size(), QSize(1200, 800));
}

void MainWindowTest::picturesOfUnknownViewsAreRefused() {
  const PictureRequest request{"nothing", {}, 1.0};
  QCOMPARE(m_window->views().readyFor(request).error().code, std::string("unknown_view"));
  QCOMPARE(m_window->views().showView("nothing").error().code, std::string("unknown_view"));
  QCOMPARE(m_window->views().dump("nothing").error().code, std::string("unknown_view"));
  const json nowhere = {{"view", "map"}, {"path", "/nowhere/at/all.png"}};
  QCOMPARE(m_window->runCommand("screenshot", nowhere).error().code, std::string("io"));
  const Error form = m_window->runCommand("screenshot", {{"view", "map"}, {"path", "map.jpeg"}}).error();
  QCOMPARE(form.code, std::string("bad_argument"));
  QVERIFY(form.remedy.find(".svg") != std::string::npos && form.remedy.find(".pdf") != std::string::npos);
  QVERIFY(!QFile::exists("map.jpeg"));
  const Error typo = m_window->runCommand("stepp", json::object()).error();
  QVERIFY2(typo.why.find("the nearest") != std::string::npos && typo.why.find("step") != std::string::npos,
           typo.why.c_str());
}

void MainWindowTest::layoutsComeBack() {
  m_window = make(false);
  QDockWidget* dock = m_window->findChild<QDockWidget*>("dock_mirror");
  QVERIFY(dock && dock->isVisible());
  QVERIFY(m_window->setTheme("light"));
  dock->hide();
  m_window->close();
  m_window = make(false);
  dock = m_window->findChild<QDockWidget*>("dock_mirror");
  QVERIFY(!dock->isVisible());
  m_window->views().arrangeViews(firstLayout());
  QTRY_VERIFY(dock->isVisible());
  QVERIFY(m_window->docks().visible("map"));
  QVERIFY(m_window->docks().view("map")->width() > 600);
  QVERIFY(m_window->setTheme("dark"));
}

void MainWindowTest::droppedFilesOpen() {
  QDir(m_settings.path()).mkpath("model");
  QFile config(m_settings.filePath("model/config.json"));
  QVERIFY(config.open(QIODevice::WriteOnly));
  const auto drop = [&](const QString& path) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_window.get(), &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent event(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_window.get(), &event);
    return true;
  };
  QVERIFY(drop(m_settings.filePath("model")));
  QVERIFY(drop("/somewhere/run.kvcap"));
  QVERIFY(!drop("/somewhere/picture.jpg"));
  QVERIFY(!drop(m_settings.path()));
  QCOMPARE(m_requests.size(), std::size_t{2});
  QCOMPARE(m_requests[0], (json{{"manifest", {{"model", m_settings.filePath("model").toStdString()}}}}));
  QCOMPARE(m_requests[1], (json{{"capture", "/somewhere/run.kvcap"}}));
}

void MainWindowTest::inputWaitsWhileAScriptRuns() {
  open();
  QFile script(m_settings.filePath("wait.js"));
  QVERIFY(script.open(QIODevice::WriteOnly));
  script.write("lab.current().block()");
  script.close();
  QVERIFY(m_window->runScriptFile(script.fileName()));
  int ticksInside = -1;
  QTimer::singleShot(300, m_window.get(), [&] {
    QTest::keyClick(m_window.get(), Qt::Key_F10);  // must not reach the engine
    ticksInside = static_cast<int>(tick());
    QTest::keyClick(m_window.get(), Qt::Key_Escape);  // must
  });
  QTRY_COMPARE(ticksInside, 3);
  QTRY_VERIFY(!m_window->context().busy());
  QTest::keyClick(m_window.get(), Qt::Key_F10);
  QTRY_COMPARE(tick(), 4);
}

void MainWindowTest::tourWaitsForNext() {
  m_window = make(false);
  QFile script(m_settings.filePath("tour.js"));
  QVERIFY(script.open(QIODevice::WriteOnly));
  script.write(
      "expect(view.interactive()); view.caption('first'); view.caption('second'); view.caption(''); "
      "view.theme('light')");
  script.close();
  QVERIFY(m_window->runScriptFile(script.fileName()));
  Banner& banner = m_window->banner();
  auto* next = banner.findChildren<QPushButton*>().first();
  QStringList read;
  QTimer reader;  // each caption waits in a loop of its own, so nobody may wait inside one for the next
  connect(&reader, &QTimer::timeout, m_window.get(), [&] {
    if (!banner.isVisible() || read.contains(banner.text().trimmed())) return;
    read << banner.text().trimmed();
    QTest::mouseClick(next, Qt::LeftButton);
  });
  reader.start(10);
  QTRY_COMPARE(m_window->theme(), QString("light"));
  QTRY_VERIFY(!banner.isVisible());
  QCOMPARE(read, (QStringList{"first", "second"}));
  QVERIFY(m_window->setTheme("dark"));
}

void MainWindowTest::copiesTables() {
  open();
  QVERIFY(m_window->views().showView("mirror"));
  QTest::qWait(50);
  QGuiApplication::clipboard()->clear();
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_C, Qt::ControlModifier);
  QVERIFY2(QGuiApplication::clipboard()->text().contains('\t'), qPrintable(QGuiApplication::clipboard()->text()));
}

/// If two active shortcuts have the same key, Qt runs neither.
void MainWindowTest::noKeyMeansTwoThings() {
  open();
  QHash<QString, QString> commands;
  for (const Command& command : m_window->commands().all())
    for (const QString& key : command.keys)
      commands[QKeySequence(key, QKeySequence::PortableText).toString()] = command.id;
  QHash<QString, QString> window = commands;  // and the menus' letters
  for (QAction* action : m_window->menuBar()->actions())
    window[QKeySequence::mnemonic(action->text()).toString()] = action->text();
  int seen = 0;
  for (QAction* action : m_window->findChildren<QAction*>()) {
    const bool ofView =
        qobject_cast<InspectorView*>(action->parent()) || action->shortcutContext() == Qt::WidgetShortcut;
    for (const QKeySequence& key : action->shortcuts()) {
      if (!ofView) continue;
      ++seen;
      QVERIFY2(!window.contains(key.toString()),
               qPrintable(action->text() + ": " + key.toString() + " is " + window.value(key.toString())));
    }
  }
  for (QAbstractButton* button : m_window->findChildren<QAbstractButton*>()) {
    if (button->shortcut().isEmpty()) continue;
    ++seen;
    QVERIFY2(!window.contains(button->shortcut().toString()),
             qPrintable(button->text() + ": " + button->shortcut().toString()));
  }
  QVERIFY(seen > 5);
}

/// By menu, palette or key; those that need an argument by the control that gives it.
void MainWindowTest::everyCommandCanBeReached() {
  open();
  QVERIFY(m_window->open(WindowPanel::Palette));
  const QStringList listed = m_window->commandPalette().shownIds();
  for (const Command& command : m_window->commands().all()) {
    const bool asks =
        std::any_of(command.args.begin(), command.args.end(), [](const auto& arg) { return arg.required; });
    QVERIFY2(asks || listed.contains(command.id), qPrintable(command.id));
    if (command.id.startsWith("show_")) QVERIFY2(!command.keys.isEmpty(), qPrintable(command.id));
  }
  QTest::keyClick(m_window->commandPalette().findChild<QLineEdit*>(), Qt::Key_Escape);
  QTest::keyClick(m_window.get(), Qt::Key_0, Qt::AltModifier);
  auto* prompt = m_window->findChild<QLineEdit*>("prompt");
  QTRY_VERIFY(prompt->hasFocus());
  QTest::keyClick(m_window.get(), Qt::Key_3, Qt::AltModifier | Qt::ShiftModifier);
  QTRY_VERIFY(m_window->docks().visible("log"));
}

void MainWindowTest::promptLineSendsMessages() {
  open();
  QStringList said;
  connect(&m_window->context(), &InspectorContext::scripted, this, [&](const QString& line) { said << line; });
  auto* prompt = m_window->findChild<QLineEdit*>("prompt");
  auto* bar = m_window->findChild<QToolBar*>("toolbar");
  auto buttons = bar->findChildren<QToolButton*>();
  const auto chat = std::find_if(buttons.begin(), buttons.end(),
                                 [](const QToolButton* b) { return b->accessibleName() == "Chat Mode"; });
  QVERIFY(chat != buttons.end() && (*chat)->isCheckable() && !(*chat)->isChecked());
  QTest::keyClicks(prompt, "one");
  QTest::keyClick(prompt, Qt::Key_Return);
  QTRY_COMPARE(said, QStringList{"s.prompt(\"one\")"});
  QTest::mouseClick(*chat, Qt::LeftButton);
  QVERIFY((*chat)->isChecked() && prompt->placeholderText().contains("Message"));
  QTRY_VERIFY(!m_window->context().busy());
  QTRY_COMPARE(prompt->text(), QString("one"));  // this engine refuses prompts, so the text came back
  prompt->clear();
  QTest::keyClicks(prompt, "two");
  QTest::keyClick(prompt, Qt::Key_Return);
  QTRY_COMPARE(said.size(), 2);  // the engine refuses the message: nothing is generated
  QCOMPARE(said.back(), QString(R"(s.chat([{"role":"user","content":"two"}], {more: true}))"));
  QVERIFY(prompt->text().isEmpty());
  QVERIFY(m_window->runCommand("chat_mode", {{"on", false}}));
  QVERIFY(!(*chat)->isChecked() && prompt->placeholderText().contains("Append"));
}

/// widgets/buttons_test clicks them all.
void MainWindowTest::everyButtonOfAViewIsACommand() {
  open();
  QSet<QString> commands;
  for (const QString& id : m_window->docks().ids())
    for (const QAbstractButton* button : m_window->docks().view(id)->findChildren<QAbstractButton*>()) {
      if (qobject_cast<QLineEdit*>(button->parent()) || qobject_cast<QTabBar*>(button->parent()) ||
          button->inherits("QTableCornerButton"))
        continue;  // parts of Qt's own widgets
      const QString command = commandOf(*button), what = button->accessibleName() + " of " + id + ": " + command;
      QVERIFY2(command.isEmpty() ? isOwn(*button) : m_window->commands().find(command) != nullptr, qPrintable(what));
      if (!command.isEmpty()) commands << command;
    }
  QVERIFY2(commands.size() >= 20, qPrintable(QStringList(commands.values()).join(", ")));
  QCOMPARE(m_window->runCommand("step_out", json::object()).error().why,
           std::string("no action is pending; compose one in Compose"));
}

/// The fake engine knows none of these verbs: its refusals name the requested verb.
void MainWindowTest::repliesGoToWhoAsked() {
  open();
  LiveContext& context = m_window->context();
  QSignalSpy said(&context, &InspectorContext::scripted), failed(&context, &InspectorContext::failed),
      replied(&context, &InspectorContext::commandReplied);
  QStringList told;
  const auto tell = [&](const Result<json>& reply) { told << QString::fromStdString(reply.error().what); };
  const json edit{{"actions", json::array()}, {"now", true}};
  context.runCommand("inject", edit, m_window.get(), tell);
  QTRY_COMPARE(told, QStringList{"inject was not run"});
  QCOMPARE(said.last().at(0).toString(), QString("s.inject([], {now: true})"));
  QCOMPARE(failed.count(), 0);
  QCOMPARE(replied.count(), 1);
  context.runCommand("quantisation_measure", json::object(), m_window.get(), tell);
  QTRY_COMPARE(told.last(), QString("quantisation was not run"));
  QCOMPARE(said.last().at(0).toString(), QString("s.quantisation({rows: true})"));
  context.runCommand("break_set", {{"conditions", {"invariant", "kl > 1"}}}, m_window.get(), tell);
  QTRY_COMPARE(told.last(), QString("break was not run"));
  QCOMPARE(failed.count(), 2);  // clearBreaks and the first condition; the last one answers
  QCOMPARE(said.last().at(0).toString(), QString("s.break(\"kl > 1\")"));
  context.runCommand("inject", edit);  // nobody waits
  QTRY_COMPARE(failed.count(), 3);
  context.runCommand("wlod_refocus", json::object(), m_window.get(), tell);
  QCOMPARE(told.last(), QString("Refocus cannot run now"));
  QCOMPARE(failed.count(), 3);
}

void MainWindowTest::optionsOfViewsAreSet() {
  open();
  QVERIFY(m_window->views().setOptions("map", {{"quantity", "age"}}));
  QCOMPARE(m_window->context().quantity(), Quantity::Age);
  QCOMPARE(m_window->views().setOptions("nothing", json::object()).error().code, std::string("unknown_view"));
  QCOMPARE(m_window->views().setOptions("map", json::array()).error().code, std::string("bad_argument"));
  QCOMPARE(m_window->views().setOptions("map", {{"quantity", "colour"}}).error().field, std::string("quantity"));
  QVERIFY(!m_window->views().setOptions("console", {{"nonsense", 1}}));
}

void MainWindowTest::looksBackInWords() {
  open();
  QVERIFY(m_window->views().setFocus({{"tick", 1}}));
  QTRY_VERIFY2(statusText().contains("tick 1 (looking back from 3)"), qPrintable(statusText()));
  auto buttons = m_window->status().findChildren<QToolButton*>();
  const auto newest =
      std::find_if(buttons.begin(), buttons.end(), [](const QToolButton* b) { return b->text() == "Newest"; });
  QVERIFY(newest != buttons.end() && (*newest)->isVisible());
  QTest::mouseClick(*newest, Qt::LeftButton);
  QTRY_VERIFY(!statusText().contains("looking back"));
  QVERIFY(!(*newest)->isVisible());
  QCOMPARE(m_window->runCommand("newest_tick", json::object()).error().why, std::string("the newest tick is shown"));
}

/// An error of a session that is gone, or that a success has overtaken, is not left standing.
void MainWindowTest::errorsEndWithTheirCause() {
  open();
  QVERIFY(m_window->runCommand("rebuild", json::object()));  // the fake engine has no such verb
  QTRY_VERIFY(m_window->banner().isVisible());
  QVERIFY(m_window->runCommand("step", json::object()));
  QTRY_VERIFY2(!m_window->banner().isVisible(), "the error outlived a success");
  QVERIFY(m_window->runCommand("rebuild", json::object()));
  QTRY_VERIFY(m_window->banner().isVisible());
  open();
  QVERIFY2(!m_window->banner().isVisible(), "the error outlived its session");
}

/// To Qt a dock behind a tab is visible.
void MainWindowTest::viewsBehindTabsDoNoWork() {
  open();
  QVERIFY(m_window->views().showView("console"));
  QCoreApplication::processEvents();
  InspectorView* behind = m_window->docks().view("numbers");
  QVERIFY(behind->isVisible() && !m_window->docks().visible("numbers"));
  QSignalSpy took(behind, &InspectorView::readyChanged);
  m_window->context().submit("step", {{"n", 1}});
  QTRY_VERIFY(!m_window->context().busy() && tick() == 4);
  QVERIFY2(took.isEmpty() && !behind->ready(), "a view behind a tab took the snapshot");
  QVERIFY(m_window->views().showView("numbers"));
  QTRY_VERIFY(behind->ready() && !took.isEmpty());
}

void MainWindowTest::tipsDoNotCoverTheStatus() {
  open();
  auto* tick = m_window->status().findChild<QLabel*>("status_tick");
  auto* said = m_window->status().findChild<QLabel*>("status_said");
  QStatusTipEvent tip("Generate one token and stop.");
  QCoreApplication::sendEvent(m_window.get(), &tip);
  QVERIFY2(m_window->status().currentMessage().isEmpty() && tick->isVisible(), "the tip covers the status");
  QCOMPARE(said->text(), QString("Generate one token and stop."));
  QStatusTipEvent gone("");
  QCoreApplication::sendEvent(m_window.get(), &gone);
  QVERIFY(said->text().isEmpty());
}

void MainWindowTest::resetPutsFloatingViewsBack() {
  QList<QDockWidget*> docks = m_window->findChildren<QDockWidget*>();
  for (QDockWidget* dock : docks) dock->setFloating(true);
  QVERIFY(m_window->runCommand("reset_layout", json::object()));
  for (QDockWidget* dock : docks) QVERIFY2(!dock->isFloating(), qPrintable(dock->objectName()));
}

void MainWindowTest::smallWindowsShowEverything() {
  open();
  QVERIFY(m_window->setSize({1280, 720}));
  QVERIFY(m_window->runCommand("reset_layout", json::object()));
  QTRY_COMPARE(m_window->size(), QSize(1280, 720));
  QCoreApplication::processEvents();
  const auto tall = [&](const char* id) { return m_window->docks().view(id)->height(); };
  QVERIFY2(
      tall("map") >= 150 && tall("strip") >= 80 && tall("events") >= 120 && tall("mirror") >= 150,
      qPrintable(QString("%1 %2 %3 %4").arg(tall("map")).arg(tall("strip")).arg(tall("events")).arg(tall("mirror"))));
  QVERIFY(m_window->rect().contains(m_window->status().geometry()));
}

void MainWindowTest::refusedPromptsStay() {
  open();
  auto* line = m_window->findChild<PromptLine*>();
  QTest::keyClicks(line, "the fake engine has no prompts");
  QTest::keyClick(line, Qt::Key_Return);
  QTRY_VERIFY(m_window->banner().isVisible());
  QTRY_COMPARE(line->text(), QString("the fake engine has no prompts"));
  line->used(line->text());
  QVERIFY(line->text().isEmpty());
  QTest::keyClick(line, Qt::Key_Up);
  QCOMPARE(line->text(), QString("the fake engine has no prompts"));
  QTest::keyClick(line, Qt::Key_Down);
  QVERIFY(line->text().isEmpty());
}

void MainWindowTest::enteredLinesComeBack() {
  const auto console = [](MainWindow& window) { return window.docks().view("console"); };
  auto first = make(false);
  first->findChild<PromptLine*>()->used("once upon a time");
  console(*first)->setProperty("history", QStringList{"s.topk(3)"});
  first->close();
  first.reset();
  auto second = make(false);
  QCOMPARE(second->findChild<PromptLine*>()->past().lines(), QStringList{"once upon a time"});
  QCOMPARE(console(*second)->property("history").toStringList(), QStringList{"s.topk(3)"});
}

void MainWindowTest::stopWaitsForWork() {
  open();
  QCOMPARE(m_window->runCommand("stop", json::object()).error().why, std::string("nothing is running"));
  m_window->context().submit("block", json::object());
  QTRY_COMPARE(m_state.waiting.load(), 1);
  QTest::keyClick(m_window.get(), Qt::Key_Escape);
  QTRY_VERIFY(!m_window->context().busy());
}

void MainWindowTest::closesWhileWorking() {
  open();
  m_window->context().submit("block", json::object());
  QTRY_COMPARE(m_state.waiting.load(), 1);
  m_window->close();
  m_window.reset();
  QCOMPARE(m_state.alive.load(), 0);
  QCOMPARE(m_state.waiting.load(), 0);
}

KV_TEST(MainWindowTest)
#include "main_window_test.moc"
