// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/jobs/jobs_view.h"

#include <QHeaderView>
#include <QToolButton>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/view_registry.h"

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

JobsView::JobsView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_jobs(JobList::of(context)),
      m_model(new JobsModel([&context] { return !context.clockFrozen(); }, this)) {
  m_state = stripLabel({}, 1);
  QAction* cancel = addViewAction(
      tr("Cancel Job"), tr("Stop the job of the line at its next safe point"), [this] { cancelCurrent(); },
      Qt::Key_Delete);
  QAction* go = addViewAction(
      tr("Go to Outcome"), tr("Show the view, the tick or the folder where the outcome of the job is"),
      [this] { goToCurrent(); }, Qt::Key_Return);
  makeTable();
  setObstacle(cancel, [this] {
    const Job* job = current();
    return !job ? tr("no job is chosen") : job->runs() ? QString() : tr("the job has ended");
  });
  setObstacle(go, [this] {
    const Job* job = current();
    if (!job) return tr("no job is chosen");
    return job->runs() ? tr("the job still works") : job->place.empty() ? tr("no view shows what it left") : QString();
  });
  const auto again = [this] {
    m_old = true;
    takeAgain();
  };
  connect(&m_jobs, &JobList::changed, this, again);
  connect(&m_jobs, &JobList::progressed, this, [this, again](int number) {
    if (!inUse()) again();
    else if (const Job* job = m_jobs.find(number)) m_model->update(*job);
  });
  showState();
}

void JobsView::makeTable() {
  m_table = new DataTable(this, m_model, tr("Jobs"),
                          tr("Return or a double click shows the outcome of a job, Del cancels one that runs"));
  m_table->stretch({"how"});
  setContent(m_table);
  setMainControl(m_table);
  connect(m_table, &QAbstractItemView::doubleClicked, this, &JobsView::goToCurrent);
  connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &JobsView::showState);
}

void JobsView::onSnapshot() {
  if (std::exchange(m_old, false)) take();
}

void JobsView::take() {
  const Job* chosen = current();
  const int number = chosen ? chosen->number : 0;
  m_model->show(m_jobs.jobs());
  addButtons();
  if (const int row = m_model->rowOf(number); row >= 0) m_table->showRow(row);
  showState();
}

void JobsView::addButtons() {
  const int column = m_table->columnOf("cancel");
  for (int row = 0; row < m_model->rowCount(); ++row) {
    const Job& job = m_model->lines()[static_cast<std::size_t>(row)];
    if (!job.runs()) break;
    auto* button = new QToolButton(m_table);
    button->setText(tr("Cancel"));
    button->setAccessibleName(tr("Cancel %1").arg(job.name));
    button->setToolTip(tr("Stop this job at its next safe point (Del)"));
    button->setFocusPolicy(Qt::NoFocus);
    setCommand(button, "cancel_job");
    connect(button, &QToolButton::clicked, this, [this, job] { runFor("cancel_job", job); });
    m_table->setIndexWidget(m_model->index(row, column), button);
  }
}

const Job* JobsView::current() const {
  const QModelIndex at = m_table->currentIndex();
  return at.isValid() ? &m_model->at(at) : nullptr;
}

void JobsView::runFor(const char* command, const Job& job) {
  context().runCommand(QLatin1String(command), {{"job", job.number}});
}

void JobsView::cancelCurrent() {
  if (const Job* job = current(); job && job->runs()) runFor("cancel_job", *job);
}

void JobsView::goToCurrent() {
  if (const Job* job = current(); job && !job->runs() && !job->place.empty()) runFor("go_to_job", *job);
}

void JobsView::showState() {
  const auto& lines = m_model->lines();
  const auto running = std::count_if(lines.begin(), lines.end(), [](const Job& job) { return job.runs(); });
  const auto ended = static_cast<qint64>(lines.size()) - running;
  m_state->setText(tr("%1 at work, %2 ended").arg(counted(running, tr("job"), tr("jobs"))).arg(ended));
  setEmpty(
      lines.empty() ? tr("No job has been started yet") : QString(),
      tr("Runs, prompts, rebuilds, measurements, sweeps, downloads and scripts appear here, with their progress and "
         "how they ended."));
}

QString JobsView::dump() const {
  QString out = QStringLiteral("jobs: %1\n").arg(m_state->text());
  for (const Job& job : m_model->lines())
    out += QStringLiteral("%1\t%2\t%3\t%4\t%5\n")
               .arg(stateName(job.state), job.name, job.on, progressText(job), job.runs() ? job.step : job.how);
  return out;
}

QString JobsView::tsv() const { return m_model->rowCount() ? m_table->tsv() : QString(); }

}  // namespace kvlab

KVLAB_DEFINE_VIEW(JobsView)
