// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sweep_job.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "app/base/outcome.h"
#include "app/plain/core_sweep.h"
#include "app/plain/read_file.h"
#include "app/plain/resources.h"
#include "core/api/guarded.h"
#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/sweep_source.h"

namespace kvlab {

using nlohmann::json;

namespace {

Error refused(const std::string& why, const std::string& field, const json& value) {
  return {"bad_argument", "the sweep was not started", why, "see lab.sweep in script_api.d.ts", field, value};
}

std::string nameOf(const json& spec) {
  if (spec.is_string())
    return QFileInfo(QString::fromStdString(jsonOr(spec, std::string()))).completeBaseName().toStdString();
  return memberOr(spec, "name", std::string("sweep"));
}

}  // namespace

SweepJob::SweepJob(LiveContext& context) : m_context(context) {}

SweepJob::~SweepJob() {
  m_stop = true;
  if (m_thread.joinable()) m_thread.join();
}

void SweepJob::start(const json& request, Reply reply) {
  if (m_running)
    return reply(Error("busy", "the sweep was not started", "another one is running", "wait for it or cancel it"));
  for (const auto& [key, value] : request.items())
    if (key != "spec" && key != "out" && key != "jobs" && key != "resume")
      return reply(refused(key + " is no option", key, value));
  const json spec = member(request, "spec");
  if (!spec.is_object() && !spec.is_string())
    return reply(refused("spec is neither an object nor a file name", "spec", spec));
  const json &jobs = member(request, "jobs"), &resume = member(request, "resume"), &out = member(request, "out");
  const int threads = jobs.is_null() ? 0 : jsonOr(jobs, -1);
  if (threads < 0 || threads > 1024) return reply(refused("jobs is not a number of threads", "jobs", jobs));
  if (!resume.is_null() && !resume.is_boolean()) return reply(refused("resume is not true or false", "resume", resume));
  if (!out.is_null() && !out.is_string()) return reply(refused("out is not a folder name", "out", out));
  if (m_thread.joinable()) m_thread.join();
  SweepOptions options;
  options.out = jsonOr(out, std::string());
  options.resources = resourceRoot();
  options.jobs = threads;
  options.resume = jsonOr(resume, false);
  options.progress = [this](const SweepProgress& progress) { return took(progress); };
  m_name = nameOf(spec);
  m_place = options.out;
  m_reply = std::move(reply);
  m_rows.clear();
  m_stop = false;
  m_running = true;
  const QString name = QString::fromStdString(m_name);
  m_job = m_context.jobs().begin({.name = tr("Sweep %1").arg(name),
                                  .on = spec.is_string() ? QString::fromStdString(jsonOr(spec, std::string())) : name,
                                  .rank = JobRank::Beside,
                                  .place = {.view = QStringLiteral("sweep")},
                                  .cancel = [this] { stop(); }});
  show({}, 0, true, -1);
  constexpr const char* kStopped = "the sweep was stopped";
  const Status started = guarded(kStopped, [&] {
    m_thread = std::thread([this, spec, options]() mutable {
      const Result<SweepOutcome> outcome = guarded(kStopped, [&] { return sweep(spec, options); });
      QMetaObject::invokeMethod(
          this, [this, outcome, out = options.out] { finish(outcome, out); }, Qt::QueuedConnection);
    });
    return ok();
  });
  if (!started)
    QMetaObject::invokeMethod(
        this, [this, error = started.error(), out = options.out] { finish(error, out); }, Qt::QueuedConnection);
}

/// Called on a worker thread.
bool SweepJob::took(const SweepProgress& progress) {
  std::optional<SweepRow> row;
  if (progress.row) row = *progress.row;
  QMetaObject::invokeMethod(
      this,
      [this, row, done = progress.done, total = progress.total, left = progress.left, seconds = progress.seconds] {
        if (row) m_pace = seconds / static_cast<double>(m_rows.size() + 1);
        if (row) m_rows.push_back(*row);
        m_context.jobs().report(m_job, tr("cells"), done, total);
        std::vector<SweepRow> rows = m_rows;
        std::sort(rows.begin(), rows.end(), [](const SweepRow& a, const SweepRow& b) { return a.index < b.index; });
        show(std::move(rows), total, true, left);
      },
      Qt::QueuedConnection);
  return !m_stop;
}

void SweepJob::finish(const Result<SweepOutcome>& outcome, const std::string& out) {
  m_running = false;
  m_place = out;
  if (outcome) {
    show(outcome->rows, static_cast<std::int64_t>(outcome->rows.size()), false, -1);
  } else if (const SweepShownPtr shown = SweepSource::of(m_context).sweep()) {
    show(shown->rows, shown->total, false, -1);
  }
  endJob(outcome);
  if (const Reply reply = std::exchange(m_reply, nullptr))
    reply(outcome ? Result<json>(sweepAnswer(m_name, m_place, *outcome)) : Result<json>(outcome.error()));
}

/// Says where the results are, by the whole path.
void SweepJob::endJob(const Result<SweepOutcome>& outcome) {
  const QString place = QFileInfo(QString::fromStdString(m_place)).absoluteFilePath();
  if (!outcome) {
    const JobOutcome how = endOf(outcome.error());
    const bool byHand = how.state == JobState::Stopped;
    const QString found = counted(static_cast<qint64>(m_rows.size()), tr("cell"), tr("cells"));
    return m_context.jobs().end(
        m_job, how.state,
        byHand ? tr("Stopped by hand after %1; Run Sweep goes on from %2").arg(found, place) : how.how);
  }
  const QString cells = counted(static_cast<qint64>(outcome->rows.size()), tr("cell"), tr("cells"));
  m_context.jobs().end(m_job, JobState::Done,
                       tr("%1, %2 failed; results in %3").arg(cells).arg(outcome->failed).arg(place));
}

void SweepJob::show(std::vector<SweepRow> rows, std::int64_t total, bool running, double left) {
  SweepSource::of(m_context).setSweep(
      std::make_shared<const SweepShown>(SweepShown{m_name, m_place, std::move(rows), total, running, left}));
}

Status SweepJob::open(const QString& path) {
  if (m_running) return Error("busy", "the results were not opened", "a sweep is running", "wait for it or cancel it");
  QString file = path;
  if (const QDir folder(path); folder.exists())
    file = folder.filePath(folder.exists("results.jsonl") ? "results.jsonl" : "journal.jsonl");
  const std::string text = KV_TRY(readBounded(file.toStdString(), "results " + path.toStdString() + " were not read"));
  std::vector<SweepRow> rows = KV_TRY(sweepRows(text, file.toStdString()));
  m_name = QFileInfo(QFileInfo(file).absolutePath()).completeBaseName().toStdString();
  m_place = file.toStdString();
  const auto total = static_cast<std::int64_t>(rows.size());
  show(std::move(rows), total, false, -1);
  return ok();
}

}  // namespace kvlab
