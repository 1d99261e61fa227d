// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/model_offer.h"

#include <QBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>

#include "app/model_fetch.h"
#include "app/resources.h"
#include "widgets/base/button_use.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {

QString mebibytes(qint64 bytes) { return QString::number(bytes >> 20); }

}  // namespace

ModelOffer::ModelOffer(QWidget* parent)
    : QWidget(parent),
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
  refresh();
}

ModelOffer::~ModelOffer() = default;

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
  if (m_fetch) return;  // what is being fetched stays in sight
  m_name = name;
  m_problem.clear();
  refresh();
}

void ModelOffer::refresh() {
  auto models = namedModels(resourceRoot().toStdString());
  if (models) m_models = models.take();
  else m_problem = QString::fromStdString(models.error().text());
  const NamedModel* model = chosen();
  setVisible(model || !m_problem.isEmpty());
  m_bar->setVisible(m_fetch != nullptr);
  m_button->setVisible(model && (m_fetch || !model->fetched));
  m_button->setText(m_fetch ? tr("Stop") : tr("Fetch"));
  QString line;
  if (model)
    line =
        tr("%1 · licence: %2 · %3 MiB · %4")
            .arg(QString::fromStdString(model->title), QString::fromStdString(model->licence), mebibytes(model->bytes),
                 model->fetched ? tr("on this machine")
                     : m_fetch  ? tr("being fetched")
                                : tr("not on this machine yet"));
  m_label->setText(m_problem.isEmpty() ? line : line + (line.isEmpty() ? "" : "\n") + m_problem);
  m_label->setStyleSheet(m_problem.isEmpty() ? QString() : "color:" + Theme::current()->error.name());
}

void ModelOffer::fetch() {
  if (m_fetch) return m_fetch->cancel();
  const NamedModel* model = chosen();
  if (!model) return;
  m_problem.clear();
  m_fetch = std::make_unique<ModelFetch>(*model, "python3");
  m_bar->setRange(0, 0);
  connect(m_fetch.get(), &ModelFetch::progress, this, [this](qint64 done, qint64 total, const QString& what) {
    m_bar->setRange(0, 1000);
    m_bar->setValue(static_cast<int>(1000 * done / std::max<qint64>(1, total)));
    m_bar->setFormat(tr("%1 of %2 MiB").arg(mebibytes(done), mebibytes(total)));
    m_bar->setToolTip(what);
  });
  connect(m_fetch.get(), &ModelFetch::finished, this, &ModelOffer::fetched);
  refresh();
  m_fetch->start();
}

void ModelOffer::fetched(const Result<std::string>& path) {
  m_fetch.release()->deleteLater();
  if (!path && path.error().code != "cancelled") m_problem = QString::fromStdString(path.error().text());
  refresh();
}

}  // namespace kvlab
