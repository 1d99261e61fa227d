// SPDX-License-Identifier: GPL-3.0-or-later
// The main window's forms: new sessions and the sessions that they end, settings of the living session, lanes.
#include <QFileInfo>

#include "app/base/resources.h"
#include "app/engine/core_sweep.h"
#include "app/forms/lane_panel.h"
#include "app/forms/new_session_panel.h"
#include "app/forms/settings_panel.h"
#include "app/forms/sweep_panel.h"
#include "app/window/main_window.h"
#include "widgets/base/format.h"
#include "widgets/base/sweep_source.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// "demo, tick 4, 12 tokens; no capture has all of it. Still working: Run (3 of 10)."
QString workThatEnds(const QString& session, const QStringList& jobs) {
  const QString work = MainWindow::tr("%1; no capture has all of it.").arg(session);
  return jobs.isEmpty() ? work : work + ' ' + MainWindow::tr("Still working: %1.").arg(jobs.join(", "));
}

}  // namespace

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

QStringList MainWindow::jobsThatEnd(bool besides) const {
  QStringList names;
  for (const Job* job : const_cast<LiveContext&>(m_context).jobs().running()) {
    const QString far = progressText(*job);
    if (!job->brief && (besides || job->rank != JobRank::Beside))
      names << (far.isEmpty() ? job->name : tr("%1 (%2)").arg(job->name, far));
  }
  return names;
}

bool MainWindow::hasWork() const {
  const auto session = m_context.session();
  if (!session || !m_context.snapshot() || m_reading) return false;
  return !session->isKept() || (session->busy() && !const_cast<LiveContext&>(m_context).jobs().running().empty());
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
  settings.saveCapture = [this] { m_context.runCommand("save_capture", json::object()); };
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
  auto* panel = new SweepPanel({spec.empty() ? first : spec, sweepSize, m_sweep.pace()}, this);
  connect(panel, &SweepPanel::chosen, this,
          [this](const QString& request) { m_context.runCommand("run_sweep", json::parse(request.toStdString())); });
  panel->show();
}

Result<json> MainWindow::sweepCell(std::int64_t cell) const {
  const SweepShownPtr shown = SweepSource::of(const_cast<LiveContext&>(m_context)).sweep();
  if (!shown) return Error("blocked", "the cell was not opened", "no sweep is shown", "open one with Open Sweep");
  const QFileInfo place(QString::fromStdString(shown->place));
  const QString folder = place.isDir() ? place.filePath() : place.path();
  return sweepCellRequest(folder.toStdString(), cell, resourceRoot().toStdString());
}

}  // namespace kvlab
