// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/model_offer.h"

#include <QBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>

#include "app/jobs/model_fetch.h"
#include "app/plain/resources.h"
#include "widgets/base/button_use.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {

QString mebibytes(qint64 bytes) { return QString::number(bytes >> 20); }

}  // namespace

ModelOffer::ModelOffer(JobList& jobs, QWidget* parent)
    : QWidget(parent),
      m_jobs(jobs),
      m_label(new QLabel(this)),
      m_bar(new QProgressBar(this)),
      m_button(pushButton(tr("Fetch"), tr("Load the model with pip, and keep it on this machine"), this)) {
  m_label->setWordWrap(true);
  m_bar->setAccessibleName(tr("Progress of the fetch"));
  m_button->setAutoDefault(false);
  setOwn({m_button});
  auto* row = new QHBoxLayout;
  row->addWidget(m_bar, 1);
  row->addStretch();
  row->addWidget(m_button);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(m_label);
  column->addLayout(row);
  connect(m_button, &QPushButton::clicked, this, &ModelOffer::fetch);
  connect(&jobs, &JobList::changed, this, &ModelOffer::refresh);
  connect(&jobs, &JobList::progressed, this, &ModelOffer::showProgress);
  refresh();
}

QStringList ModelOffer::names() const {
  QStringList out;
  for (const NamedModel& model : m_models) out << QString::fromStdString(model.name);
  return out;
}

const NamedModel* ModelOffer::chosen() const {
  const auto found = std::find_if(m_models.begin(), m_models.end(), [&](const NamedModel& model) {
    return QString::fromStdString(model.name) == m_name;
  });
  return found == m_models.end() ? nullptr : &*found;
}

void ModelOffer::show(const QString& name) {
  if (fetching()) return;  // the model that is being fetched stays in sight
  m_name = name;
  refresh();
}

const Job* ModelOffer::job() const { return fetchJob(m_jobs, m_name); }
bool ModelOffer::fetching() const { return job() && job()->runs(); }

void ModelOffer::refresh() {
  auto models = namedModels(resourceRoot());
  if (models) m_models = models.take();
  else m_problem = QString::fromStdString(models.error().text());
  const NamedModel* model = chosen();
  const bool working = fetching();
  setVisible(model || !m_problem.isEmpty());
  m_bar->setVisible(working);
  m_button->setVisible(model && (working || !model->fetched));
  m_button->setText(working ? tr("Stop") : tr("Fetch"));
  QString line;
  if (model)
    line =
        tr("%1 · licence: %2 · %3 MiB · %4")
            .arg(QString::fromStdString(model->title), QString::fromStdString(model->licence), mebibytes(model->bytes),
                 model->fetched ? tr("on this machine")
                     : working  ? tr("being fetched")
                                : tr("not on this machine yet"));
  const bool failed = job() && job()->state == JobState::Failed && !model->fetched;
  const QString problem = failed ? job()->how : m_problem;
  m_label->setText(problem.isEmpty() ? line : line + (line.isEmpty() ? "" : "\n") + problem);
  m_label->setStyleSheet(problem.isEmpty() ? QString() : "color:" + Theme::current()->error.name());
  showProgress();
}

void ModelOffer::showProgress() {
  if (!fetching()) return;
  const Job& now = *job();
  m_bar->setRange(0, now.total > 0 ? 1000 : 0);
  if (now.total <= 0) return;
  m_bar->setValue(static_cast<int>(1000 * now.done / now.total));
  m_bar->setFormat(tr("%1 of %2 MiB").arg(mebibytes(now.done), mebibytes(now.total)));
  m_bar->setToolTip(now.step);
}

void ModelOffer::fetch() {
  if (fetching()) m_jobs.cancel(job()->number);
  else if (const NamedModel* model = chosen()) beginFetch(m_jobs, *model, QStringLiteral("python3"));
}

}  // namespace kvlab
