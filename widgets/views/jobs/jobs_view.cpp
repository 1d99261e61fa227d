// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/jobs/jobs_view.h"

#include <QHeaderView>
#include <QToolButton>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/view_registry.h"
#include "widgets/views/jobs/jobs_model.h"

namespace kvlab {

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
