// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/panels.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/icons.h"
#include "app/model_offer.h"
#include "core/api/manifest.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

NewSessionPanel::NewSessionPanel(const json& manifest, QWidget* parent)
    : QDialog(parent), m_json(new QPlainTextEdit(this)), m_problem(new QLabel(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("New Session"));
  resize(520, 520);
  m_json->setAccessibleName(tr("Manifest"));
  m_json->setFont(Theme::current()->mono);
  m_json->setPlainText(QString::fromStdString((manifest.empty() ? json{{"model", "demo"}} : manifest).dump(2)));
  m_problem->setWordWrap(true);
  m_problem->setStyleSheet("color:" + Theme::current()->error.name());
  auto* form = new QFormLayout;
  auto* offer = new ModelOffer(this);
  QComboBox* model = addChoice(
      form, tr("Model"), "model",
      QStringList{"demo"} + offer->names() + QStringList{"synthetic:tinyllama-1.1b", "synthetic:smollm-135m"}, true);
  form->addRow(QString(), offer);
  offer->show(model->currentText());
  connect(model, &QComboBox::currentTextChanged, offer, &ModelOffer::show);
  addChoice(form, tr("Layout"), "layout", {"indirection", "contiguous_splice"}, false);
  addChoice(form, tr("Positions"), "position", {"context", "absolute", "cache"}, false);
  addChoice(form, tr("After an edit"), "after_edit", {"keep", "recompute", "selective"}, false);
  addChoice(form, tr("Executor"), "executor", {"batch", "descending"}, false);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Open | QDialogButtonBox::Cancel, this);
  connect(buttons, &QDialogButtonBox::accepted, this, &NewSessionPanel::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* column = new QVBoxLayout(this);
  column->addLayout(form);
  column->addWidget(new QLabel(tr("Manifest (everything else has its default)"), this));
  column->addWidget(m_json, 1);
  column->addWidget(m_problem);
  column->addWidget(buttons);
}

QComboBox* NewSessionPanel::addChoice(QFormLayout* form, const QString& label, const QString& key,
                                      const QStringList& values, bool editable) {
  auto* box = new QComboBox(this);
  box->setEditable(editable);
  box->addItems(values);
  box->setAccessibleName(label);
  const json now = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
  const std::string name = key.toStdString();
  if (now.contains(name) && now[name].is_string()) box->setCurrentText(QString::fromStdString(now[name]));
  connect(box, &QComboBox::currentTextChanged, this, [this, key](const QString& v) { set(key, v); });
  form->addRow(label, box);
  return box;
}

void NewSessionPanel::set(const QString& key, const QString& value) {
  json manifest = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
  if (!manifest.is_object()) return;
  manifest[key.toStdString()] = value.toStdString();
  m_json->setPlainText(QString::fromStdString(manifest.dump(2)));
}

void NewSessionPanel::accept() {
  const json manifest = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
  if (!manifest.is_object()) return m_problem->setText(tr("This is not a JSON object."));
  if (const auto checked = Manifest::fromJson(manifest); !checked)
    return m_problem->setText(QString::fromStdString(checked.error().text()));
  emit chosen(QString::fromStdString(manifest.dump()));
  QDialog::accept();
}

CommandHelpPanel::CommandHelpPanel(const CommandRegistry& registry, QWidget* parent) : QDialog(parent) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("Commands and Shortcuts"));
  resize(860, 680);
  auto* table = new QTableWidget(0, 4, this);
  table->setHorizontalHeaderLabels({tr("Command"), tr("Keys"), tr("Script name"), tr("What it does")});
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
  (new QVBoxLayout(this))->addWidget(table);
}

AboutPanel::AboutPanel(const QString& version, const QString& numerics, const QString& backends, QWidget* parent)
    : QDialog(parent) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("About kvlab"));
  auto* icon = new QLabel(this);
  icon->setPixmap(programIcon().pixmap(96, 96));
  auto* text = new QLabel(this);
  text->setWordWrap(true);
  text->setMinimumWidth(420);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  text->setText(tr("<h3>kvlab %1</h3><p>Inspector and experiment workbench for transformer KV caches.</p>"
                   "<p>Numerics of this session: %2<br>%3</p>"
                   "<p>The program is GPL-3.0-or-later; engine and kernels are Apache-2.0. It uses Qt, "
                   "QCustomPlot, spdlog, nlohmann/json, CLI11, Highway, xxHash, PCRE2 and SentencePiece; "
                   "fonts: Inter and JetBrains Mono (OFL).</p>")
                    .arg(version, numerics.isEmpty() ? tr("none") : numerics, backends));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(24, 24, 24, 24);
  row->setSpacing(24);
  row->addWidget(icon, 0, Qt::AlignTop);
  row->addWidget(text);
}

}  // namespace kvlab
