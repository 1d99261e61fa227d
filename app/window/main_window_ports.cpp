// SPDX-License-Identifier: GPL-3.0-or-later
// The main window's implementation of the interfaces for commands and scripts.
#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QLineEdit>
#include <QToolBar>
#include <algorithm>

#include "app/base/ask_path.h"
#include "app/base/manifest_path.h"
#include "app/base/resources.h"
#include "app/base/session_name.h"
#include "app/base/starting_text.h"
#include "app/commands/command_rules.h"
#include "app/engine/core_lists.h"
#include "app/window/check_panel.h"
#include "app/window/clinic_panel.h"
#include "app/window/edit_list.h"
#include "app/window/main_window.h"
#include "app/window/panels.h"
#include "core/api/nearest.h"
#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/save_file.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

/// A session that a script opens belongs to the script's job.
int MainWindow::beginOpening(const json& request, const std::weak_ptr<LiveSession>& session) {
  if (m_scriptJob) return m_scriptJob;
  return m_context.jobs().begin({.name = tr("Open Session"),
                                 .on = sessionName(request),
                                 .place = {.view = QStringLiteral("map")},
                                 .cancel = [session] {
                                   if (const auto alive = session.lock()) alive->cancel();
                                 }});
}

void MainWindow::openSession(const json& request, Opened opened) {
  const Result<QString> text = startingText(request);
  if (!text) return opened(text.error());
  const auto self = std::make_shared<LiveSession*>();
  const auto job = std::make_shared<int>();
  m_opening.push_back(std::make_shared<LiveSession>(
      m_settings.engines(request), [this, self, job, request, opened, text = *text](const Result<json>& result) {
        const auto mine = [&](const auto& session) { return session.get() == *self; };
        const auto found = std::find_if(m_opening.begin(), m_opening.end(), mine);
        const LiveContext::LiveSessionPtr session = std::move(*found);
        m_opening.erase(found);
        disconnect(session.get(), nullptr, &m_context, nullptr);
        const bool own = *job != m_scriptJob;
        if (const JobOutcome how = result ? JobOutcome{} : endOf(result.error()); !result) {
          if (own) m_context.jobs().end(*job, how.state, how.how);
          return opened(result.error());
        }
        session->setName(manifestText(member(request, "name")));
        if (request.contains("recovery")) session->markRestored();
        m_context.show(session);
        if (own) m_context.jobs().end(*job, JobState::Done, tr("Opened %1").arg(sessionName(request)));
        if (!request.contains("recovery")) remember(request);
        opened(SessionPtr(session));
        begin(request, text);
      }));
  *self = m_opening.back().get();
  (*self)->setScript({m_settings.schema.verbs, request});
  *job = beginOpening(request, m_opening.back());
  connect(*self, &LiveSession::progressed, &m_context,
          [this, number = *job](const QString& step, qint64 done, qint64 total) {
            if (total >= 0) m_context.jobs().report(number, step, done, total);
          });
}

void MainWindow::begin(const json& request, const QString& text) {
  if (text.isEmpty()) return;
  emit m_context.scripted(startingLine(request));
  m_reading = true;
  m_context.submit("prompt", {{"text", text.toStdString()}}, [this, session = m_context.session()](const auto& read) {
    m_reading = false;
    if (read) session->markKept();
    else emit m_context.failed(read.error());
  });
}

void MainWindow::showSession(const SessionPtr& session) {
  m_context.show(std::dynamic_pointer_cast<LiveSession>(session));
}

void MainWindow::closeSession(const SessionPtr& session) {
  if (m_context.session() == std::dynamic_pointer_cast<LiveSession>(session)) m_context.show(nullptr);
}

Error MainWindow::unknownView(const QString& id) const {
  return {"unknown_view",
          "there is no view " + id.toStdString(),
          "the registry does not list it" + nearestNote(id.toStdString(), viewIds()),
          "name one of: " + m_docks->ids().join(", ").toStdString(),
          {},
          "view",
          id.toStdString()};
}

Status MainWindow::showView(const QString& id) { return m_docks->show(id) ? ok() : Status(unknownView(id)); }

Result<QString> MainWindow::viewFor(const QString& id, const char* refused) const {
  if (!id.isEmpty()) return m_docks->view(id) ? Result<QString>(id) : Result<QString>(unknownView(id));
  const QString here = viewWithKeyboard();
  if (!here.isEmpty()) return here;
  return Error("no_view", refused, "no view has the keyboard", "click a view first");
}

void MainWindow::sayViewCommand(const char* command, const QString& view) {
  emit m_context.scripted(QString("view.command(\"%1\", {\"view\":\"%2\"})").arg(command, view));
}

Status MainWindow::closeView(const QString& id) {
  const QString view = KV_TRY(viewFor(id, "no view was closed"));
  sayViewCommand("close_view", view);
  m_docks->close(view);
  return ok();
}

Status MainWindow::floatView(const QString& id) {
  const QString view = KV_TRY(viewFor(id, "no view was moved"));
  sayViewCommand("float_view", view);
  m_docks->toggleFloating(view);
  return ok();
}

Status MainWindow::setFocus(const json& wanted) {
  m_context.catchUp();
  if (!m_context.snapshot())
    return Error("no_session", "the focus was not moved", "no session is open", "open one first");
  const Snapshot& newest = *m_context.history().back();
  const std::int64_t ends[] = {newest.tick.value() + 1, newest.info->cacheLayers.count(), newest.info->heads,
                               newest.length(), static_cast<std::int64_t>(newest.ledger.size())};
  const char* const fields[] = {"tick", "layer", "head", "row", "ledger"};
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    if (!wanted.contains(fields[i])) continue;
    const auto value = memberOr(wanted, fields[i], std::int64_t{-1});
    if (value >= 0 && value < ends[i]) continue;
    return badArgument("the focus was not moved",
                       "there is no " + std::string(fields[i]) + " " + member(wanted, fields[i]).dump(),
                       "name one from 0 to " + std::to_string(ends[i] - 1), fields[i], member(wanted, fields[i]));
  }
  std::vector<LedgerId> selection;
  for (const json& row : member(wanted, "rows")) {
    const std::int64_t value = jsonOr(row, std::int64_t{-1});
    if (value < 0 || value >= newest.length())
      return badArgument("the focus was not moved", "`rows` names " + row.dump() + ", which is no row of the context",
                         "name rows from 0 to " + std::to_string(newest.length() - 1), "rows", row);
    selection.push_back(newest.context[at(value)]);
  }
  const auto number = [&](const char* field) { return memberOr(wanted, field, std::int32_t{-1}); };
  if (wanted.contains("tick")) m_context.showTick(Tick(memberOr(wanted, "tick", std::int64_t{0})));
  Focus focus = m_context.focus();
  if (wanted.contains("layer")) focus.layer = CacheLayer(number("layer"));
  if (wanted.contains("head")) focus.head = Head(number("head"));
  m_context.setFocus(focus);
  if (wanted.contains("row")) m_context.focusPosition(Position(number("row")));
  if (wanted.contains("ledger")) m_context.focusLedger(LedgerId(number("ledger")));
  if (wanted.contains("rows")) m_context.select(std::move(selection));
  return ok();
}

Status MainWindow::setOptions(const QString& id, const json& options) {
  m_context.catchUp();
  InspectorView* view = m_docks->view(id);
  if (!view) return unknownView(id);
  if (!options.is_object())
    return Error("bad_argument", "view " + id.toStdString() + " was not changed", "the options are not an object",
                 "name them, as in {quantity: \"age\"}");
  for (const auto& [name, value] : options.items())
    if (Status set = view->setOption(name, value); !set) return set;
  return ok();
}

Result<json> MainWindow::options(const QString& view) const {
  return m_docks->view(view) ? Result<json>(m_docks->view(view)->options()) : Result<json>(unknownView(view));
}

Status MainWindow::setTheme(const QString& name) {
  if (name != "dark" && name != "light")
    return badArgument("the theme was not changed", "there is no theme " + name.toStdString(), "name dark or light",
                       "name", name.toStdString());
  m_settings.theme = name;
  Theme::apply(*qApp, name);
  refreshIcons();
  return ok();
}

Status MainWindow::setSize(QSize size) {
  if (size.width() < 320 || size.height() < 240 || size.width() > 8192 || size.height() > 8192)
    return Error("bad_argument", "the window was not resized", "the size is outside the limits",
                 "choose a size from 320x240 to 8192x8192");
  showNormal();
  resize(size);
  return ok();
}

Result<bool> MainWindow::readyFor(const PictureRequest& request) {
  m_context.catchUp();
  if (request.what == "window") {
    if (request.size.isValid() && !request.size.isEmpty() && size() != request.size)
      if (const Status sized = setSize(request.size); !sized) return sized.error();
    if (m_context.busy()) return false;
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    for (const QString& id : m_docks->ids())
      if (m_docks->visible(id) && !m_docks->view(id)->ready()) return false;
    return true;
  }
  InspectorView* view = m_docks->view(request.what);
  if (!view) return unknownView(request.what);
  const bool sized = request.size.isValid() && !request.size.isEmpty();
  if (sized) view->resize(request.size);
  else if (!m_docks->visible(request.what)) view->resize(960, 600);
  view->prepare();
  return view->ready() && !m_context.busy();
}

Result<QImage> MainWindow::picture(const PictureRequest& request) {
  if (request.what == "window") {
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    QImage image((QSizeF(size()) * request.dpr).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(request.dpr);
    render(&image);
    return image;
  }
  InspectorView* view = m_docks->view(request.what);
  if (!view) return unknownView(request.what);
  const QSize own = view->size();
  const bool sized = request.size.isValid() && !request.size.isEmpty();
  QImage image = view->picture(sized ? request.size : own, request.dpr);
  if (view->parentWidget() && view->parentWidget()->layout()) view->parentWidget()->layout()->invalidate();
  return image;
}

Result<QString> MainWindow::dump(const QString& what) {
  if (what != "window") {
    InspectorView* view = m_docks->view(what);
    return view ? Result<QString>(view->dump()) : Result<QString>(unknownView(what));
  }
  QString out = "status: " + m_status->texts().join("   ") + '\n';
  for (const QString& id : m_docks->ids())
    if (m_docks->visible(id)) out += '\n' + m_docks->view(id)->dump();
  return out;
}

Result<QWidget*> MainWindow::widgetOf(const QString& id) {
  if (id == "window") return static_cast<QWidget*>(this);
  InspectorView* view = m_docks->view(id);
  return view ? Result<QWidget*>(view) : Result<QWidget*>(unknownView(id));
}

Status MainWindow::bringUp(const QString& id) { return id == "window" || m_docks->visible(id) ? ok() : showView(id); }

Status MainWindow::mouse(const QString& id, const MouseAct& act) {
  QWidget* widget = KV_TRY(widgetOf(id));
  if (m_person.mouse(*widget, act)) return ok();
  return badArgument(
      "nothing was clicked", "the place lies outside of " + id.toStdString(),
      "name a place inside its " + std::to_string(widget->width()) + "x" + std::to_string(widget->height()) + " pixels",
      "place", json{act.from.x(), act.from.y()});
}

Status MainWindow::keys(const QString& id, const QKeySequence& keys) {
  m_person.keys(*KV_TRY(widgetOf(id)), keys);
  return ok();
}

Status MainWindow::type(const QString& id, const QString& text) {
  m_person.type(*KV_TRY(widgetOf(id)), text);
  return ok();
}

/// The engine answers questions in their order.
void MainWindow::whenAnswered(std::function<void()> then) {
  m_context.query("answered", "table", tableArgs("state", json::object(), {"tick"}), this,
                  [then = std::move(then)](const Result<json>&) { then(); });
}

Status MainWindow::runCommand(const QString& id, const json& args) {
  m_context.catchUp();
  return m_commands.run(*this, id, args);
}

std::vector<std::string> MainWindow::viewIds() const {
  std::vector<std::string> ids;
  for (const QString& id : m_docks->ids()) ids.push_back(id.toStdString());
  return ids;
}

void MainWindow::sweep(const json& request, SweepReply reply) {
  if (const Status started = m_sweep.start(request, reply); !started) return reply(started.error());
}

void MainWindow::cancelSweep() { m_sweep.stop(); }

Status MainWindow::openSweep(const QString& path) {
  if (const Status opened = m_sweep.open(path); !opened) return opened;
  return showView("sweep");
}

void MainWindow::caption(const QString& text, std::function<void()> resume) {
  if (text.isEmpty()) {
    m_banner->hide();
    return resume();
  }
  if (m_tour.passes()) return resume();
  m_banner->showCaption(text, m_settings.headless ? nullptr : resume, m_tour.shown() > 1);
  if (m_settings.headless) resume();
}

Status MainWindow::askPath(const PathQuestion& question, std::function<void(QString)> answer) {
  if (m_settings.headless)
    return badArgument(question.title.toStdString() + " was not done", "nobody is there to ask",
                       "give the argument " + question.argument.toStdString(), question.argument.toStdString(), {});
  askForPath(this, question, std::move(answer));
  return ok();
}

void MainWindow::showCommandHelp() { (new CommandHelpPanel(m_commands, this))->show(); }

void MainWindow::showAbout() {
  const SnapshotPtr shown = m_context.snapshot();
  const QString numerics = shown && shown->info ? QString::fromStdString(shown->info->numerics) : "";
  (new AboutPanel(m_settings.version, numerics, m_settings.backendNote, this))->show();
}

void MainWindow::showCheck() {
  auto* panel = findChild<CheckPanel*>();
  if (!panel) {
    panel = new CheckPanel(m_context.jobs(), listSelfTests(), QCoreApplication::applicationFilePath(), this);
    connect(panel, &CheckPanel::helpWanted, this, [this] { (void)showManual("checking-a-model"); });
  }
  const SnapshotPtr shown = m_context.snapshot();
  if (shown && shown->info)
    panel->setModel(QString::fromStdString(memberOr(shown->settings->manifest, "model", std::string("demo"))));
  else panel->setModel({});
  panel->show();
  panel->raise();
  panel->activateWindow();
}

Status MainWindow::showClinic() {
  if (auto* open = findChild<ClinicPanel*>()) return open->raise(), open->activateWindow(), ok();
  std::vector<ClinicCase> cases = KV_TRY(readClinic(resourceRoot().toStdString()));
  auto* panel = new ClinicPanel(std::move(cases), m_settings.schema.verbs, this);
  connect(panel, &ClinicPanel::opened, this, [this, panel](const QString& script) {
    const QString path = QDir::temp().filePath(QString("kvlab-clinic-%1.js").arg(QCoreApplication::applicationPid()));
    const auto open = [this, panel = QPointer(panel), script, path] {
      if (panel) panel->begun();
      if (const auto saved = saveFile(path, script.toUtf8() + '\n', "the case"); !saved)
        return emit m_context.failed(saved.error());
      if (const Status run = runScriptFile(path); !run) emit m_context.failed(run.error());
    };
    beforeOpening(tr("a case of the bug clinic"), open);
  });
  connect(panel, &ClinicPanel::helpWanted, this, [this] { (void)showManual("bug-clinic"); });
  panel->show();
  return ok();
}

/// Manual page of the view with the keyboard.
QString MainWindow::manualPageHere() const {
  const QWidget* at = isActiveWindow() || !QApplication::focusWidget() ? focusWidget() : QApplication::focusWidget();
  for (; at; at = at->parentWidget())
    if (qobject_cast<const InspectorView*>(at)) return "view-" + at->objectName();
  return "index";
}

Status MainWindow::showManual(const QString& page) {
  if (!m_manual) {
    auto pages = ManualPages::read(resourceRoot() + "/manual");
    if (!pages) return pages.error();
    m_manual = new ManualWindow(std::move(*pages), !m_settings.headless, this);
  }
  return m_manual->open(page.isEmpty() ? manualPageHere() : page);
}

ScriptSettings MainWindow::scriptSettings() {
  ScriptSettings settings;
  settings.schema = m_settings.schema;
  settings.manifest = m_settings.manifest;
  settings.resources = resourceRoot();
  settings.silentSeconds = 30;
  settings.log = [this](const QString& text) {
    m_scriptLog << text;
    emit m_context.logged(2, text);
  };
  return settings;
}

std::unique_ptr<ScriptHost> MainWindow::makeScript() {
  auto host = std::make_unique<ScriptHost>(*this, scriptSettings());
  connect(host.get(), &ScriptHost::runningChanged, this, &MainWindow::refreshActions);
  return host;
}

bool MainWindow::scriptRunning() const {
  return (m_script && m_script->running()) || (m_console && m_console->running());
}

ScriptResult MainWindow::runJob(ScriptHost& host, const QString& name, const QString& on, bool brief,
                                const std::function<ScriptResult()>& script) {
  if (host.running()) return script();  // refused
  const int job = m_scriptJob = m_context.jobs().begin({.name = name,
                                                        .on = on,
                                                        .rank = JobRank::Script,
                                                        .brief = brief,
                                                        .place = {.view = QStringLiteral("log")},
                                                        .cancel = [&host] { host.stop(); }});
  const ScriptResult result = script();
  m_scriptJob = 0;
  if (!result.failed) m_context.jobs().end(job, JobState::Done, brief ? QString() : tr("The script ended"));
  else if (result.error.code == "cancelled") m_context.jobs().end(job, JobState::Stopped, tr("Stopped by hand"));
  else m_context.jobs().end(job, JobState::Failed, brief ? QString() : result.message());
  return result;
}

Status MainWindow::runScriptFile(const QString& name) {
  QString path = name;
  if (!QFileInfo::exists(path) && !name.contains('/')) path = resourceRoot() + "/scripts/" + name;
  if (scriptRunning())
    return Error("busy", path.toStdString() + " was not run", "another script is running",
                 "stop it or wait for its end");
  m_script = makeScript();
  QMetaObject::invokeMethod(
      this,
      [this, path] {  // from the event loop, outside the menu's handler
        const ScriptResult result =
            runJob(*m_script, tr("Script"), path, false, [this, path] { return m_script->runFile(path); });
        m_banner->hide();
        scriptEnded(path, result);
      },
      Qt::QueuedConnection);
  return ok();
}

void MainWindow::scriptEnded(const QString& path, const ScriptResult& result) {
  m_tour.end(!result.failed);
  refreshActions();
  if (const int caption = m_tour.again()) return (void)beginTour(caption);
  if (!result.failed || result.error.code == "cancelled") return;
  Error error = result.error;
  if (error.code == "script_error") {
    error.what = path.toStdString() + " failed";
    error.why = result.message().toStdString();
  } else if (!result.file.isEmpty()) {
    error.why += " (" + result.place().toStdString() + ")";
  }
  emit m_context.failed(error);
}

Status MainWindow::runTour(bool resume) { return beginTour(resume ? std::max(1, m_tour.left()) : 1); }

Status MainWindow::beginTour(int caption) {
  KV_TRY(runScriptFile("tour.js"));
  m_tour.begin(caption);
  return ok();
}

void MainWindow::evaluate(const QString& line, LiveContext::Evaluated reply) {
  if (!m_console) m_console = makeScript();
  m_scriptLog.clear();
  const ScriptResult result =
      runJob(*m_console, tr("Console line"), line, true, [this, line] { return m_console->evaluateLine(line); });
  QStringList text = m_scriptLog;
  if (!result.text.isEmpty()) text << (result.file == "console" ? result.text : result.message());
  reply(text.join('\n'), result.failed);
}

void MainWindow::stopScript() {
  for (ScriptHost* host : {m_console.get(), m_script.get()})
    if (host) host->stop();
}

/// Copies from the view with the keyboard; text fields handle Ctrl+C themselves.
Status MainWindow::copySelection() {
  for (QWidget* at = QApplication::focusWidget(); at; at = at->parentWidget()) {
    if (auto* view = qobject_cast<InspectorView*>(at)) {
      view->copySelection();
      return ok();
    }
  }
  return Error("no_view", "nothing was copied", "no view has the keyboard", "click a view first");
}

QString MainWindow::sessionScript() const {
  const auto session = m_context.session();
  const SnapshotPtr shown = m_context.snapshot();
  if (!session || !shown) return {};
  QString out = session->script().text();
  for (const QString& id : m_docks->ids()) {
    const json options = m_docks->view(id)->options();
    if (options != m_firstOptions[id]) out += QString("view.set(\"%1\", %2);\n").arg(id, scriptText(options));
  }
  const Focus& focus = m_context.focus();
  json place{{"layer", focus.layer.value()}, {"head", focus.head.value()}};
  if (!m_context.following()) place["tick"] = shown->tick.value();
  if (focus.position.value() >= 0) place["row"] = focus.position.value();
  else if (focus.ledger.value() >= 0) place["ledger"] = focus.ledger.value();
  if (!m_context.selection().empty())
    for (const Position row : m_context.chosenRows()) place["rows"].push_back(row.value());
  return out + QString("view.focus(%1);\n").arg(scriptText(place));
}

Status MainWindow::showEdits(const char* verb) {
  const Command& command = *m_commands.find(verb);
  const std::string list = command.id.toStdString();
  m_context.query(
      "edits.list", "table", tableArgs("edits"), this, [this, list, title = command.title](const Result<json>& all) {
        if (!all) return emit m_context.failed(all.error());
        const QStringList titles = editTitles(*all, list);
        if (titles.isEmpty()) return;
        const QString to = QString::fromStdString(list) + "_to";
        auto* edits = new EditList(title, titles, this);
        connect(edits, &EditList::chosen, this, [this, to](int n) { m_context.runCommand(to, {{"edits", n}}); });
        const QWidget* button = findChild<QToolBar*>("toolbar")->widgetForAction(m_actions[to]);
        edits->openAt(button->mapToGlobal(button->rect().bottomLeft()));
      });
  return ok();
}

Status MainWindow::chatMode(std::optional<bool> on) {
  m_chat = on.value_or(!m_chat);
  m_actions["chat_mode"]->setChecked(m_chat);
  m_prompt->setPlaceholderText(m_chat ? tr("Message to the model (Alt+0), Enter")
                                      : tr("Append text to the context (Alt+0), Enter"));
  m_prompt->setAccessibleName(m_chat ? tr("Message") : tr("Prompt"));
  return ok();
}

Status MainWindow::typePrompt() {
  m_prompt->setFocus(Qt::ShortcutFocusReason);
  m_prompt->selectAll();
  return ok();
}

}  // namespace kvlab
