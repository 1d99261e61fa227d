// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/panels.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/icons.h"
#include "app/manifest_path.h"
#include "app/model_offer.h"
#include "app/session_form.h"
#include "core/api/manifest.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

namespace {

struct Preset {
  const char *name, *manifest;
};
constexpr Preset kPresets[] = {
    {"Plain", R"({"model":"demo"})"},
    {"Ring of 64 rows, V in int8", R"({"model":"demo","layout":"ring_fused","ring":{"window":64},"kv":{"v":"int8"}})"},
    {"Sinks and the last rows (StreamingLLM)",
     R"({"model":"demo","policy":{"name":"streaming_llm","sinks":4,"window":60}})"},
    {"SmartKV at 25 %", R"({"model":"demo","policy":{"name":"smartkv","ratio":0.25}})"},
    {"wLOD, 512 entries", R"({"model":"demo","wlod":{"budget":512,"gist":"trained"}})"},
    {"Brightness and culling", R"({"model":"demo","brightness":{"compressor":"nearest","target":500}})"}};

}  // namespace

NewSessionPanel::NewSessionPanel(const json& manifest, JobList& jobs, QWidget* parent)
    : QDialog(parent), m_json(new QPlainTextEdit(this)), m_problem(new QLabel(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("New Session"));
  resize(900, 620);
  m_json->setAccessibleName(tr("Manifest"));
  m_json->setToolTip(tr("The manifest as JSON; the form follows what is typed here"));
  m_json->setFont(Theme::current()->mono);
  m_problem->setWordWrap(true);
  m_problem->setTextFormat(Qt::PlainText);
  m_problem->setStyleSheet("color:" + Theme::current()->error.name());
  auto* offer = new ModelOffer(jobs, this);
  const QStringList models =
      QStringList{"demo"} + offer->names() + QStringList{"synthetic:tinyllama-1.1b", "synthetic:smollm-135m"};
  m_form = new SessionForm(models, this);
  auto* model = qobject_cast<QComboBox*>(m_form->control("model"));
  connect(model, &QComboBox::currentTextChanged, offer, &ModelOffer::show);
  connect(m_form, &SessionForm::edited, this, &NewSessionPanel::set);
  connect(m_json, &QPlainTextEdit::textChanged, this, &NewSessionPanel::follow);
  auto* presets = new QComboBox(this);
  presets->setObjectName("presets");
  presets->setAccessibleName(tr("Preset"));
  presets->setToolTip(tr("A manifest to begin with; the model stays"));
  presets->setPlaceholderText(tr("Begin with a preset…"));
  for (const Preset& one : kPresets) presets->addItem(tr(one.name));
  presets->setCurrentIndex(-1);
  connect(presets, &QComboBox::activated, this, [this](int index) {
    json chosenOne = json::parse(kPresets[index].manifest);
    const json now = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
    if (now.is_object() && now.contains("model")) chosenOne["model"] = now["model"];
    setManifest(chosenOne);
  });
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Open | QDialogButtonBox::Cancel, this);
  connect(buttons, &QDialogButtonBox::accepted, this, &NewSessionPanel::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* left = new QVBoxLayout;
  left->addWidget(presets);
  left->addWidget(offer);
  left->addWidget(m_form, 1);
  auto* right = new QVBoxLayout;
  right->addWidget(new QLabel(tr("Manifest (everything else has its default)"), this));
  right->addWidget(m_json, 1);
  auto* sides = new QHBoxLayout;
  sides->addLayout(left, 3);
  sides->addLayout(right, 2);
  auto* column = new QVBoxLayout(this);
  column->addLayout(sides, 1);
  column->addWidget(m_problem);
  column->addWidget(buttons);
  setManifest(manifest.empty() ? json{{"model", "demo"}} : manifest);
}

void NewSessionPanel::setManifest(const json& manifest) {
  m_json->setPlainText(QString::fromStdString(manifest.dump(2)));  // the form follows
}

/// Keys that the form has no control for stay as they are.
void NewSessionPanel::set(const QString& key, const json& value) {
  json manifest = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
  if (!manifest.is_object()) return m_problem->setText(tr("Correct the JSON first; the form cannot change it."));
  setManifestValue(manifest, key, value);
  setManifest(manifest);
}

void NewSessionPanel::follow() {
  std::string place;
  json manifest;
  try {
    manifest = json::parse(m_json->toPlainText().toStdString());
  } catch (const json::parse_error& error) {
    place = "byte " + std::to_string(error.byte);
  }
  m_form->mark({});
  if (!place.empty()) return m_problem->setText(tr("This is not JSON: see %1.").arg(QString::fromStdString(place)));
  if (!manifest.is_object()) return m_problem->setText(tr("This is not a JSON object."));
  m_form->setManifest(manifest);
  const auto checked = Manifest::fromJson(manifest);
  m_problem->setText(checked ? QString() : QString::fromStdString(checked.error().text()));
  if (!checked) m_form->mark(QString::fromStdString(checked.error().field));
}

void NewSessionPanel::accept() {
  const json manifest = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
  if (!manifest.is_object() || !Manifest::fromJson(manifest)) return follow();
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
