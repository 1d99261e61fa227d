// SPDX-License-Identifier: GPL-3.0-or-later
// The main window's panels: forms of sessions and what they end, of settings, lanes and sweeps; self-tests, clinic,
// manual, the list of commands, About.
#include <QApplication>
#include <QDir>
#include <QHeaderView>
#include <QLabel>
#include <QTableWidget>
#include <QToolBar>
#include <QVBoxLayout>

#include "app/base/icons.h"
#include "app/forms/lane_panel.h"
#include "app/forms/new_session_panel.h"
#include "app/forms/settings_panel.h"
#include "app/forms/sweep_panel.h"
#include "app/plain/core_sweep.h"
#include "app/plain/resources.h"
#include "app/window/check_panel.h"
#include "app/window/clinic_panel.h"
#include "app/window/edit_list.h"
#include "app/window/main_window.h"
#include "core/api/read_json.h"
#include "core/lists/lists.h"
#include "widgets/base/format.h"
#include "widgets/base/save_file.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// "demo, tick 4, 12 tokens; no capture has all of it. Still working: Run (3 of 10)."
QString workThatEnds(const QString& session, const QStringList& jobs) {
  const QString work = MainWindow::tr("%1; no capture has all of it.").arg(session);
  return jobs.isEmpty() ? work : work + ' ' + MainWindow::tr("Still working: %1.").arg(jobs.join(", "));
}

/// A window that deletes itself when closed.
QDialog* smallWindow(const QString& title, QWidget* parent) {
  auto* window = new QDialog(parent);
  window->setAttribute(Qt::WA_DeleteOnClose);
  window->setWindowTitle(title);
  return window;
}

/// The list of commands.
QDialog* commandList(const CommandRegistry& registry, QWidget* parent) {
  QDialog* window = smallWindow(MainWindow::tr("Commands and Shortcuts"), parent);
  window->resize(860, 680);
  auto* table = new QTableWidget(0, 4, window);
  table->setHorizontalHeaderLabels({MainWindow::tr("Command"), MainWindow::tr("Keys"), MainWindow::tr("Script name"),
                                    MainWindow::tr("What it does")});
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setAlternatingRowColors(true);
  table->setShowGrid(false);
  table->verticalHeader()->hide();
  for (const Command& command : registry.all()) {
    const int row = table->rowCount();
    table->insertRow(row);
    const QStringList cells{command.title, command.keys.join(", "), command.id, command.help};
    for (int column = 0; column < cells.size(); ++column)
      table->setItem(row, column, new QTableWidgetItem(cells[column]));
  }
  table->resizeColumnsToContents();
  table->horizontalHeader()->setStretchLastSection(true);
  (new QVBoxLayout(window))->addWidget(table);
  return window;
}

QDialog* aboutWindow(const QString& numerics, const QString& backends, QWidget* parent) {
  QDialog* window = smallWindow(MainWindow::tr("About kvlab"), parent);
  auto* icon = new QLabel(window);
  icon->setPixmap(programIcon().pixmap(96, 96));
  auto* text = new QLabel(window);
  text->setWordWrap(true);
  text->setMinimumWidth(420);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  text->setText(MainWindow::tr("<h3>kvlab %1</h3><p>Inspector and experiment workbench for transformer KV caches.</p>"
                               "<p>Numerics of this session: %2<br>%3</p>"
                               "<p>The program is GPL-3.0-or-later; engine and kernels are Apache-2.0. It uses Qt, "
                               "QCustomPlot, spdlog, nlohmann/json, CLI11, Highway, xxHash, PCRE2 and SentencePiece; "
                               "fonts: Inter and JetBrains Mono (OFL).</p>")
                    .arg(KVLAB_VERSION, numerics.isEmpty() ? MainWindow::tr("none") : numerics, backends));
  auto* row = new QHBoxLayout(window);
  row->setContentsMargins(24, 24, 24, 24);
  row->setSpacing(24);
  row->addWidget(icon, 0, Qt::AlignTop);
  row->addWidget(text);
  return window;
}

}  // namespace

Status MainWindow::open(WindowPanel panel, const json& args) {
  const auto text = [&](const char* name) { return QString::fromStdString(memberOr(args, name, std::string())); };
  switch (panel) {
    case WindowPanel::About: showAbout(); break;
    case WindowPanel::Check: showCheck(); break;
    case WindowPanel::Clinic: return showClinic();
    case WindowPanel::Commands: commandList(m_commands, this)->show(); break;
    case WindowPanel::Edits: showEdits(text("verb")); break;
    case WindowPanel::Find: m_find->open(); break;
    case WindowPanel::Lane: showLaneForm(); break;
    case WindowPanel::Manual: return showManual(text("page"));
    case WindowPanel::NewSession: showNewSession(member(args, "manifest")); break;
    case WindowPanel::Palette: m_palette->open(); break;
    case WindowPanel::Prompt:
      m_prompt->setFocus(Qt::ShortcutFocusReason);
      m_prompt->selectAll();
      break;
    case WindowPanel::Settings: showSettings(); break;
    case WindowPanel::Sweep: showSweepForm(member(args, "spec")); break;
  }
  return ok();
}

QString MainWindow::sessionThatEnds() const {
  const SnapshotPtr now = m_context.snapshot();
  if (!now || !now->info) return {};
  const QString name = m_context.session()->name();
  return tr("%1, tick %2, %3")
      .arg(name.isEmpty() ? QString::fromStdString(now->info->model) : name)
      .arg(now->tick.value())
      .arg(counted(now->length(), tr("token"), tr("tokens")));
}

void MainWindow::beforeOpening(const QString& what, std::function<void()> open) {
  if (m_settings.headless || m_scriptJob || !hasWork()) return open();
  m_banner->ask({kOpening, tr("Opening %1 ends the shown session. Discard it?").arg(what),
                 workThatEnds(sessionThatEnds(), jobsThatEnd(false)), tr("Discard and Open"), tr("Keep Working"),
                 [this, open] {
                   m_banner->hide();
                   open();
                 },
                 tr("Save Capture and Open…"), [this, open] { saveCaptureThen(open); }});
}

QStringList MainWindow::jobsThatEnd(bool besides) {
  QStringList names;
  for (const Job* job : m_context.jobs().running()) {
    const QString far = progressText(*job);
    if (!job->brief && (besides || job->rank != JobRank::Beside))
      names << (far.isEmpty() ? job->name : tr("%1 (%2)").arg(job->name, far));
  }
  return names;
}

bool MainWindow::hasWork() {
  const auto session = m_context.session();
  if (!session || !m_context.snapshot() || m_reading) return false;
  return !session->isKept() || (session->busy() && !m_context.jobs().running().empty());
}

bool MainWindow::mayClose() {
  const QStringList jobs = jobsThatEnd(true);
  if (m_settings.headless || m_closing) return true;
  if (hasWork()) {
    m_banner->ask({kLosing, tr("Closing ends the session. Discard it?"), workThatEnds(sessionThatEnds(), jobs),
                   tr("Discard and Close"), tr("Keep Working"), [this] { closeNow(); }, tr("Save Capture and Close…"),
                   [this] { saveCaptureThen([this] { closeNow(); }); }});
    return false;
  }
  if (jobs.isEmpty() || m_banner->asks(kClosing)) return true;
  m_banner->ask({kClosing,
                 jobs.size() == 1 ? tr("A job is still working. Close and stop it?")
                                  : tr("%1 jobs are still working. Close and stop them?").arg(jobs.size()),
                 jobs.join(", "), tr("Close and Stop"), tr("Go On"), [this] { closeNow(); }});
  return false;
}

void MainWindow::closeNow() {
  m_closing = true;
  close();
}

void MainWindow::saveCaptureThen(std::function<void()> then) {
  const auto save = [this, then = std::move(then)](const QString& path) {
    const json args{{"path", path.toStdString()}};
    stopScript();
    m_context.session()->cancel();  // else the save would wait for the running command
    emit m_context.scripted(m_context.session()->script().line("saveCapture", args));
    m_context.submit("saveCapture", args, [this, then](const Result<json>& saved) {
      if (!saved) return emit m_context.failed(saved.error());
      then();
    });
  };
  m_banner->hide();
  if (const Status asked = askPath(kSaveCapture, save); !asked) emit m_context.failed(asked.error());
}

void MainWindow::showNewSession(const json& manifest) {
  NewSessionSettings settings;
  settings.manifest = manifest.empty() ? m_settings.manifest : manifest;
  settings.kept = !m_settings.headless;
  settings.ends = m_context.snapshot() && m_context.snapshot()->tick.value() > 0 ? sessionThatEnds() : QString();
  settings.saveCapture = [this] { m_context.runCommand("save_capture"); };
  settings.memory = m_settings.memory;
  auto* panel = new NewSessionPanel(std::move(settings), m_context.jobs(), this);
  connect(panel, &NewSessionPanel::chosen, this,
          [this](const QString& request) { m_context.runCommand("new_session", json::parse(request.toStdString())); });
  panel->show();
}

void MainWindow::showLaneForm() {
  auto* panel = new LanePanel({m_context.session()->snapshot()->settings->manifest, !m_settings.headless},
                              m_context.jobs(), this);
  connect(panel, &LanePanel::chosen, this, [this](const QString& changes) {
    m_context.runCommand("add_lane", {{"changes", json::parse(changes.toStdString())}});
  });
  connect(&m_context, &InspectorContext::sessionChanged, panel, &QDialog::close);
  panel->show();
}

void MainWindow::showSettings() {
  const json now = m_context.session()->snapshot()->settings->manifest;
  if (auto* open = findChild<SettingsPanel*>()) return open->follow(now), open->raise(), open->activateWindow();
  LivingSession living{now};
  living.line = [this](const json& change) {
    const auto session = m_context.session();
    return session ? session->script().line("settings", change) : QString();
  };
  living.memory = m_settings.memory;
  auto* panel = new SettingsPanel(std::move(living), m_context.jobs(), this);
  connect(panel, &SettingsPanel::wanted, this, [this, panel](const QString& text) {
    m_context.runCommand("session_settings", {{"manifest", json::parse(text.toStdString())}}, panel,
                         [panel](const Result<json>& reply) { panel->answered(reply); });
  });
  connect(panel, &SettingsPanel::another, this,
          [this](const QString& text) { showNewSession(json::parse(text.toStdString())); });
  panel->addActions({m_actions["undo"], m_actions["redo"]});
  connect(&m_context, &InspectorContext::sessionChanged, panel, &QDialog::close);
  const auto follow = [this, panel] {
    const auto session = m_context.session();
    if (!m_context.busy() && session && session->snapshot()) panel->follow(session->snapshot()->settings->manifest);
  };
  connect(&m_context, &InspectorContext::snapshotChanged, panel, follow);
  connect(&m_context, &InspectorContext::busyChanged, panel, follow);
  panel->show();
}

void MainWindow::showSweepForm(const json& spec) {
  const json first{
      {"name", "policies"},
      {"base", {{"model", "demo"}}},
      {"axes",
       json::array({{{"name", "policy"}, {"key", "policy"}, {"values", {"h2o", "snapkv"}}},
                    {{"name", "budget"}, {"budget", "ratio"}, {"values", {0.25, 0.5}}}})},
      {"seeds", {1}},
      {"prompts",
       json::array({{{"name", "recall-256"}, {"file", "resource:prompts/recall-256.json"}, {"ask", "after"}}})}};
  auto* panel = new SweepPanel({spec.empty() ? first : spec, sweepSize, m_sweep->pace()}, this);
  connect(panel, &SweepPanel::chosen, this,
          [this](const QString& request) { m_context.runCommand("run_sweep", json::parse(request.toStdString())); });
  panel->show();
}

void MainWindow::showAbout() {
  const SnapshotPtr shown = m_context.snapshot();
  const QString numerics = shown && shown->info ? QString::fromStdString(shown->info->numerics) : "";
  aboutWindow(numerics, m_settings.backendNote, this)->show();
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

QString MainWindow::clinicPath() {
  return QDir::temp().filePath(QString("kvlab-clinic-%1.js").arg(QCoreApplication::applicationPid()));
}

Status MainWindow::showClinic() {
  if (auto* open = findChild<ClinicPanel*>()) return open->raise(), open->activateWindow(), ok();
  std::vector<ClinicCase> cases = KV_TRY(readClinic(resourceRoot()));
  auto* panel = new ClinicPanel(std::move(cases), m_settings.schema.verbs, this);
  connect(panel, &ClinicPanel::opened, this, [this, panel](const QString& script) {
    const QString path = clinicPath();
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
    ManualPages pages = KV_TRY(ManualPages::read(QString::fromStdString(resourceRoot() + "/manual")));
    m_manual = new ManualWindow(std::move(pages), !m_settings.headless, this);
  }
  return m_manual->open(page.isEmpty() ? manualPageHere() : page);
}

void MainWindow::showEdits(const QString& verb) {
  m_context.query("edits.list", "table", tableArgs("edits"), this, [this, verb](const Result<json>& all) {
    if (!all) return emit m_context.failed(all.error());
    const QStringList titles = editTitles(*all, verb.toStdString());
    if (titles.isEmpty()) return;
    const QString to = verb + "_to";
    auto* edits = new EditList(m_commands.find(verb)->title, titles, this);
    connect(edits, &EditList::chosen, this, [this, to](int n) { m_context.runCommand(to, {{"edits", n}}); });
    const QWidget* button = findChild<QToolBar*>("toolbar")->widgetForAction(m_actions[to]);
    edits->openAt(button->mapToGlobal(button->rect().bottomLeft()));
  });
}

}  // namespace kvlab
