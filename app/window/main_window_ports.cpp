// SPDX-License-Identifier: GPL-3.0-or-later
// The main window's implementation of the interfaces for commands and scripts: sessions, scripts, prompts.
#include <QApplication>
#include <QFileInfo>
#include <algorithm>

#include "app/base/ask_path.h"
#include "app/base/manifest_path.h"
#include "app/base/session_request.h"
#include "app/commands/command_rules.h"
#include "app/plain/read_file.h"
#include "app/plain/resources.h"
#include "app/window/main_window.h"
#include "core/api/read_json.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr int kScriptRest = 4;  // while a script runs: a fifth of the time is for drawing

}  // namespace

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

Status MainWindow::runCommand(const QString& id, const json& args) {
  m_context.catchUp();
  return m_commands.run(*this, id, args);
}

void MainWindow::caption(const QString& text, std::function<void()> resume) {
  if (text.isEmpty()) {
    m_banner->hide();
    return resume();
  }
  if (m_tour.passes()) return resume();
  const QString place = m_tour.shown() > 0 ? tr("%1 of %2 · ").arg(m_tour.shown()).arg(m_tour.captions()) : QString();
  m_banner->showCaption(place + text, m_settings.headless ? nullptr : resume, m_tour.shown() > 1);
  if (m_settings.headless) resume();
}

Status MainWindow::askPath(const PathQuestion& question, std::function<void(QString)> answer) {
  if (m_settings.headless)
    return badArgument(question.title.toStdString() + " was not done", "nobody is there to ask",
                       "give the argument " + question.argument.toStdString(), question.argument.toStdString(), {});
  askForPath(this, question, std::move(answer));
  return ok();
}

std::unique_ptr<ScriptHost> MainWindow::makeScript() {
  ScriptSettings settings;
  settings.schema = m_settings.schema;
  settings.manifest = m_settings.manifest;
  settings.resources = QString::fromStdString(resourceRoot());
  settings.silentSeconds = 30;
  settings.log = [this](const QString& text) {
    m_scriptLog << text;
    emit m_context.logged(2, text);
  };
  auto host = std::make_unique<ScriptHost>(*this, std::move(settings));
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
  const int rest = m_context.setRest(std::max(kScriptRest, m_context.rest()));
  const ScriptResult result = script();
  m_context.setRest(rest);
  m_scriptJob = 0;
  if (!result.failed) m_context.jobs().end(job, JobState::Done, brief ? QString() : tr("The script ended"));
  else if (result.error.code == "cancelled") m_context.jobs().end(job, JobState::Stopped, tr("Stopped by hand"));
  else m_context.jobs().end(job, JobState::Failed, brief ? QString() : result.message());
  return result;
}

Status MainWindow::runScriptFile(const QString& name) {
  QString path = name;
  if (!QFileInfo::exists(path) && !name.contains('/'))
    path = QString::fromStdString(resourceRoot() + "/scripts/") + name;
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
  if (path == clinicPath() && m_context.session()) m_context.session()->markKept();  // it can be opened again
  refreshActions();
  if (const int caption = m_tour.again()) return (void)runTour(caption);
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

Status MainWindow::runTour(int caption) {
  const std::string text = KV_TRY(readBounded(resourceRoot() + "/scripts/tour.js", "the tour was not begun"));
  const QByteArray script = QByteArray::fromStdString(text);
  KV_TRY(runScriptFile("tour.js"));
  m_tour.begin(caption, static_cast<int>(script.count("\nshow(")));
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

void MainWindow::sendPrompt() {
  const QString text = m_prompt->text();
  const json args{{"text", text.toStdString()}};
  if (text.isEmpty()) return;
  if (!m_chat) {
    m_prompt->used(text);
    const auto newest = [this] { return m_context.history().empty() ? nullptr : m_context.history().back(); };
    const int before = newest() ? newest()->length() : 0;
    return m_context.runCommand("prompt", args, this, [=, this](const Result<json>& reply) {
      const std::optional<Error> refused = refusalOf(reply);
      if (!refused) return;
      emit m_context.failed(*refused);
      const bool took = newest() && newest()->length() > before;  // a part of a cancelled prompt may have been taken
      if (!took) m_prompt->giveBack(text);
    });
  }
  const Status sent = runCommand("chat", args);
  if (!sent) return m_banner->showError(sent.error());  // the model still speaks: the message stays
  m_prompt->used(text);
}

void MainWindow::chatMode(std::optional<bool> on) {
  m_chat = on.value_or(!m_chat);
  m_actions["chat_mode"]->setChecked(m_chat);
  m_prompt->setPlaceholderText(m_chat ? tr("Message to the model (Alt+0), Enter")
                                      : tr("Append text to the context (Alt+0), Enter"));
  m_prompt->setAccessibleName(m_chat ? tr("Message") : tr("Prompt"));
}

}  // namespace kvlab
