// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/job_list.h"

#include <QCoreApplication>
#include <algorithm>
#include <set>
#include <tuple>

#include "widgets/base/format.h"

namespace kvlab {

namespace {
constexpr qint64 kEndless = 1'000'000;  // a run of so many ticks ends with its text, and has no end to count to
constexpr qint64 kFirstMs = 1000;

/// What the step of a job counts; empty: its own things.
QString countedBy(const QString& step) { return step == QLatin1String("running") ? JobList::tr("tokens") : QString(); }

QString trRate(const char* text) { return QCoreApplication::translate("ProgressRate", text); }

}  // namespace

QString ProgressRate::textAfter(qint64 ms, qint64 done, qint64 total) {
  if (ms < kFirstMs || done <= 0) return {};
  const double rate = 1000.0 * static_cast<double>(done) / static_cast<double>(ms);
  if (total <= 0) return trRate("%1/s").arg(rate, 0, 'g', rate < 100 ? 2 : 4);
  const auto left = static_cast<qint64>(static_cast<double>(total - done) / rate + 0.5);
  return trRate("%1/s, %2 left").arg(rate, 0, 'g', rate < 100 ? 2 : 4).arg(formatDuration(left));
}

QString ProgressRate::text(const QString& what, qint64 done, qint64 total) {
  if (what != m_what || done < m_last || !m_timer.isValid()) {
    m_what = what;
    m_first = done;
    m_timer.start();
  }
  m_last = done;
  return textAfter(m_timer.elapsed(), done - m_first, total > 0 ? total - m_first : 0);
}

JobList& JobList::of(InspectorContext& context) {
  auto* found = context.findChild<JobList*>({}, Qt::FindDirectChildrenOnly);
  return found ? *found : *new JobList(context);
}

std::vector<Job>::iterator JobList::place(int number) { return std::ranges::find(m_jobs, number, &Job::number); }

const Job* JobList::find(int number) const {
  const auto found = std::ranges::find(m_jobs, number, &Job::number);
  return found == m_jobs.end() ? nullptr : &*found;
}

std::vector<const Job*> JobList::running() const {
  std::vector<const Job*> out;
  for (const Job& job : m_jobs)
    if (job.runs()) out.push_back(&job);
  return out;
}

const Job* JobList::front() const {
  const std::vector<const Job*> all = running();
  const auto place = [](const Job* job) { return std::tuple(job->rank, job->state == JobState::Running, job->number); };
  const auto found = std::ranges::max_element(all, {}, place);
  return found == all.end() ? nullptr : *found;
}

/// The first job of a queue runs, the others wait. Old ended jobs leave.
void JobList::settle() {
  std::set<const void*> taken;
  for (Job& job : m_jobs)
    if (job.runs()) job.state = !job.queue || taken.insert(job.queue).second ? JobState::Running : JobState::Waiting;
  auto over = std::ranges::count(m_jobs, false, &Job::runs) - static_cast<std::ptrdiff_t>(kEnded);
  std::erase_if(m_jobs, [&](const Job& job) { return !job.runs() && over-- > 0; });
  emit changed();
}

int JobList::begin(Job job) {
  const int number = job.number = ++m_last;
  m_jobs.push_back(std::move(job));
  settle();
  return number;
}

void JobList::report(int number, const QString& step, qint64 done, qint64 total) {
  const auto job = place(number);
  if (job == m_jobs.end() || !job->runs()) return;
  if (total == 1 && !job->step.isEmpty() && job->step != step)
    return;  // a pass over one row, within the ticks of a run
  if (total >= kEndless) total = 0;
  job->step = step;
  job->done = done;
  job->total = total;
  job->rate = m_rates[number].text(step, done, total);
  if (const QString unit = countedBy(step); !unit.isEmpty()) job->rate.replace("/s", ' ' + unit + "/s");
  emit progressed(number);
}

void JobList::report(const void* queue, const QString& step, qint64 done, qint64 total) {
  for (const Job& job : m_jobs)
    if (job.queue == queue && job.state == JobState::Running) return report(job.number, step, done, total);
}

void JobList::end(int number, JobState state, const QString& how, const QDateTime& at) {
  const auto job = place(number);
  if (job == m_jobs.end() || !job->runs()) return;
  job->state = state;
  job->how = how;
  job->ended = at.isValid() ? at : m_context.now();
  job->cancel = nullptr;
  m_rates.erase(number);
  const Job over = *job;
  if (over.brief) m_jobs.erase(job);
  settle();
  emit ended(over);
}

void JobList::endQueue(const void* queue, const QString& how) {
  for (const Job* job : running())
    if (job->queue == queue) return end(job->number, JobState::Stopped, how), endQueue(queue, how);
}

void JobList::setPlace(int number, JobPlace where) {
  if (const auto job = place(number); job != m_jobs.end()) job->place = std::move(where);
}

bool JobList::cancel(int number) {
  const Job* job = find(number);
  if (!job || !job->runs()) return false;
  if (const auto stop = job->cancel) stop();  // the job may end in this call
  return true;
}

QString stateName(JobState state) {
  switch (state) {
    case JobState::Waiting: return JobList::tr("waiting");
    case JobState::Running: return JobList::tr("running");
    case JobState::Done: return JobList::tr("done");
    case JobState::Stopped: return JobList::tr("stopped");
    case JobState::Failed: return JobList::tr("failed");
  }
  return {};
}

QString progressText(const Job& job) {
  if (!job.runs()) return {};
  const QString unit = countedBy(job.step), counts = unit.isEmpty() ? QString() : ' ' + unit;
  if (job.total > 0) return JobList::tr("%1 of %2").arg(job.done).arg(job.total) + counts;
  return job.done > 0 ? QString::number(job.done) + counts : QString();
}

}  // namespace kvlab
