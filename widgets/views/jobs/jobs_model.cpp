// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/jobs/jobs_model.h"

#include <algorithm>

namespace kvlab {

namespace {

/// By JobState.
constexpr struct {
  Tone tone;
  char16_t mark;
} kLooks[] = {{Tone::Muted, u'○'}, {Tone::Accent, u'▶'}, {Tone::Ok, u'✔'}, {Tone::Warning, u'■'}, {Tone::Error, u'✖'}};

const auto& lookOf(const Job& job) { return kLooks[static_cast<std::size_t>(job.state)]; }

QVariant shareOf(const Job& job) {
  if (!job.runs() || job.total <= 0) return {};
  return static_cast<double>(job.done) / static_cast<double>(job.total);
}

}  // namespace

JobsModel::JobsModel(std::function<bool()> timed, QObject* parent) : LineModel(parent), m_timed(std::move(timed)) {
  add("state", tr("State"), tr("running, waiting for other work of its session, or how the job ended"),
      {"✔ running", 0},
      [](const Job& job) { return QChar(lookOf(job).mark) + QStringLiteral(" ") + stateName(job.state); })
      .words()
      .toned([](const Job& job) { return lookOf(job).tone; });
  add("job", tr("Job"), tr("what is done"), {"Measure Quantisation", 0}, [](const Job& job) {
    return job.name;
  }).words();
  add("on", tr("Works on"), tr("the model, the file or the settings"), {"smollm2-135m.gguf", 3},
      [](const Job& job) { return job.on; })
      .words()
      .in(Tone::Muted)
      .tips([](const Job& job) { return job.on; });
  addNumber("progress", tr("Progress"), tr("done, of how much"), {"100000 of 1000000", 1},
            [](const Job& job) { return progressText(job); })
      .with(kBarRole, shareOf)
      .tips([](const Job& job) { return job.step; });
  add("time", tr("Time"), tr("how fast, and the time that is left; for ended jobs when they ended"),
      {"120/s, 10 min 59 s left", 2},
      [this](const Job& job) {
        if (!m_timed()) return QString();
        return job.runs() ? job.rate : job.ended.toString(QStringLiteral("HH:mm:ss"));
      })
      .words()
      .in(Tone::Muted);
  addOutcome();
}

void JobsModel::addOutcome() {
  add("how", tr("Outcome"), tr("what the job did, where it is saved, or why it stopped"), {QString(12, 'x'), 4},
      [](const Job& job) { return job.runs() ? job.step : job.how; })
      .words()
      .toned([](const Job& job) { return job.runs() ? Tone::Muted : Tone::Normal; })
      .tips([](const Job& job) { return job.how; });
  add("cancel", tr("Cancel"), tr("a button for each job that runs"), {"Cancel  ", 0},
      [](const Job&) { return QString(); });
  withLines(kBadRole, [](const Job& job) { return job.state == JobState::Failed; });
}

void JobsModel::show(const std::vector<Job>& jobs) {
  std::vector<Job> lines(jobs.rbegin(), jobs.rend());
  std::stable_partition(lines.begin(), lines.end(), [](const Job& job) { return job.runs(); });
  replace(std::move(lines));
}

int JobsModel::rowOf(int number) const {
  return find([&](const Job& job) { return job.number == number; });
}

void JobsModel::update(const Job& job) {
  const int row = rowOf(job.number);
  if (row < 0) return;
  m_lines[static_cast<std::size_t>(row)] = job;
  emit dataChanged(index(row, 0), index(row, columnCount() - 1));
}

}  // namespace kvlab
