// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/sweep_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QDir>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPointer>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QScrollArea>
#include <QTabWidget>
#include <QThreadPool>

#include "app/base/ask_path.h"
#include "app/base/manifest_path.h"
#include "app/forms/session_form.h"
#include "app/forms/sweep_axes.h"
#include "app/plain/read_file.h"
#include "app/plain/resources.h"
#include "core/api/guarded.h"
#include "core/api/read_json.h"
#include "core/api/sweep_table.h"
#include "core/lists/lists.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/save_file.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr int kWait = 200;  // ms after the last change
constexpr const char* kSpecs = "Specifications (*.json)";
constexpr const char* kTask = "task:";
constexpr int kTaskLength = 1024;  // tokens, where the specification says none

QStringList promptSets() {
  QStringList out;
  for (const QString& file :
       QDir(QString::fromStdString(resourceRoot() + "/prompts")).entryList({"*.json"}, QDir::Files))
    out << "resource:prompts/" + file;
  for (const json& task : listTasks()) out << kTask + QString::fromStdString(task["id"].get<std::string>());
  return out;
}

/// Sets a key, or takes it out where the value says nothing.
void put(json& object, const char* key, const json& value) {
  if (value.is_null() || value == "" || value == json::array() || value == json::object()) object.erase(key);
  else object[key] = value;
}

}  // namespace

SweepPanel::SweepPanel(SweepForm form, QWidget* parent)
    : QDialog(parent),
      m_form(std::move(form)),
      m_json(new QPlainTextEdit(this)),
      m_problem(new QLabel(this)),
      m_cells(new QLabel(this)),
      m_axes(new SweepAxes(this)),
      m_base(new SessionForm({"demo", "synthetic:tiny"}, this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("New Sweep"));
  resize(940, 640);
  m_json->setAccessibleName(tr("Specification"));
  m_json->setToolTip(tr("The specification as JSON; the form follows what is typed here"));
  m_json->setFont(Theme::current()->mono);
  m_problem->setObjectName("problem");
  m_cells->setObjectName("cells");
  m_cells->setAccessibleName(tr("Cells of the sweep"));
  for (QLabel* line : {m_problem, m_cells}) {
    line->setWordWrap(true);
    line->setTextFormat(Qt::PlainText);
  }
  m_problem->setStyleSheet("color:" + Theme::current()->error.name());
  auto* pages = new QTabWidget(this);
  pages->addTab(sweepPage(), tr("Sweep"));
  pages->addTab(m_base, tr("What all cells share"));
  auto* right = new QVBoxLayout;
  right->addWidget(new QLabel(tr("Specification (everything else has its default)"), this));
  right->addWidget(m_json, 1);
  auto* sides = new QHBoxLayout;
  sides->addWidget(pages, 3);
  sides->addLayout(right, 2);
  auto* column = new QVBoxLayout(this);
  column->addLayout(sides, 1);
  column->addWidget(m_problem);
  column->addWidget(m_cells);
  addButtons();
  m_wait.setSingleShot(true);
  connect(&m_wait, &QTimer::timeout, this, &SweepPanel::count);
  connect(m_axes, &SweepAxes::edited, this, &SweepPanel::take);
  connect(m_base, &SessionForm::edited, this, [this](const QString& key, const json& value) {
    json now = spec();
    if (now.is_null()) return;
    json& base = now["base"];
    if (!base.is_object()) base = {{"model", "demo"}};
    setManifestValue(base, key, value);
    setSpec(now);
  });
  connect(m_json, &QPlainTextEdit::textChanged, this, &SweepPanel::follow);
  setSpec(m_form.spec);
}

QWidget* SweepPanel::sweepPage() {
  auto* page = new QWidget(this);
  auto* form = new QFormLayout(page);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  m_name = addText(*form, "name", tr("Name"), tr("For people; also names the folder of the results"), tr("sweep"));
  form->addRow(tr("Axes"), m_axes);
  m_seeds = addText(*form, "seeds", tr("Seeds"),
                    tr("Which stories are read; also the seed of sampling and of policies that take one"), tr("1"));
  addPrompts(*form);
  addMeasures(*form);
  auto* place = new QHBoxLayout;
  m_out = makeText("out", tr("Folder"), tr("Where the results are saved; a folder with a part of this sweep goes on"),
                   QString());
  auto* browse = pushButton(tr("Browse…"), tr("Look for the folder of the results"), page);
  browse->setAutoDefault(false);
  connect(browse, &QPushButton::clicked, this, [this] {
    askForPath(this, {tr("Folder of the Results"), QString()}, [this](const QString& path) { m_out->setText(path); });
  });
  place->addWidget(m_out, 1);
  place->addWidget(browse);
  form->addRow(tr("Folder"), place);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(page);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  return scroll;
}

QLineEdit* SweepPanel::makeText(const char* key, const QString& label, const QString& tip, const QString& empty) {
  auto* line = new QLineEdit(this);
  line->setObjectName(key);
  line->setAccessibleName(label);
  line->setToolTip(tip);
  line->setPlaceholderText(empty);
  return line;
}

QLineEdit* SweepPanel::addText(QFormLayout& form, const char* key, const QString& label, const QString& tip,
                               const QString& empty) {
  QLineEdit* line = makeText(key, label, tip, empty);
  form.addRow(label, line);
  connect(line, &QLineEdit::textEdited, this, &SweepPanel::take);
  return line;
}

/// The form has the first prompt set; further ones are in the JSON.
void SweepPanel::addPrompts(QFormLayout& form) {
  m_prompts = new QComboBox(this);
  m_prompts->setObjectName("prompts");
  m_prompts->setEditable(true);
  m_prompts->addItems(promptSets());
  m_prompts->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_prompts->setAccessibleName(tr("Prompt set"));
  m_prompts->setToolTip(
      tr("Stories and questions: a file, resource: and a file that comes with the program, or task: and "
         "a task that is written for the model"));
  m_ask = new QComboBox(this);
  m_ask->setObjectName("ask");
  m_ask->addItems({"after", "inside"});
  m_ask->setAccessibleName(tr("When questions are asked"));
  m_ask->setToolTip(tr("after: the story is pruned before the question; inside: a policy sees the question"));
  form.addRow(tr("Prompts"), m_prompts);
  form.addRow(tr("Ask"), m_ask);
  connect(m_prompts, &QComboBox::currentTextChanged, this, &SweepPanel::take);
  connect(m_ask, &QComboBox::currentTextChanged, this, &SweepPanel::take);
  m_stories = addText(form, "stories", tr("Stories"), tr("Most stories of each seed"), tr("all"));
  m_questions = addText(form, "questions", tr("Questions"), tr("Most questions of each story"), tr("all"));
}

void SweepPanel::addMeasures(QFormLayout& form) {
  auto* row = new QHBoxLayout;
  for (const std::string& name : sweepGroups()) {
    const QString group = QString::fromStdString(name);
    auto* box = new QCheckBox(group, this);
    box->setToolTip(tr("Measure %1 of every cell").arg(group));
    box->setAccessibleName(tr("Measure %1").arg(group));
    connect(box, &QCheckBox::clicked, this, &SweepPanel::take);
    row->addWidget(box);
    m_measures.push_back(box);
  }
  row->addStretch(1);
  form.addRow(tr("Measure"), row);
  m_expressions = addText(form, "expressions", tr("Expressions"),
                          tr("What else is measured of every cell, with ; between two: rows(layer==3); "
                             "brightness(ledger==0). The manual's page Expressions lists what can be asked"),
                          tr("none"));
}

void SweepPanel::addButtons() {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
  m_run =
      pushButton(tr("Run"), tr("Run the sweep beside the session; the view Sweep shows its cells as they come"), this);
  m_run->setDefault(true);
  buttons->addButton(m_run, QDialogButtonBox::ApplyRole);
  const auto add = [&](const QString& text, const QString& tip, auto does) {
    QPushButton* button = pushButton(text, tip, this);
    button->setAutoDefault(false);
    buttons->addButton(button, QDialogButtonBox::ResetRole);
    connect(button, &QPushButton::clicked, this, does);
  };
  add(tr("Open Specification…"), tr("Read a specification into this form"), [this] { openFile(); });
  add(tr("Save Specification…"), tr("Write this specification to a file"), [this] { saveFile(); });
  connect(m_run, &QPushButton::clicked, this, &SweepPanel::run);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  layout()->addWidget(buttons);
}

json SweepPanel::spec() const {
  json read = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
  return read.is_object() ? read : json();
}

void SweepPanel::setSpec(const json& spec) { m_json->setPlainText(QString::fromStdString(spec.dump(2))); }

json SweepPanel::prompts(json all) const {
  if (!all.is_array() || all.empty() || !all[0].is_object()) all = json::array({json::object()});
  json& first = all[0];
  const QString file = m_prompts->currentText();
  first["ask"] = m_ask->currentText().toStdString();
  if (file.startsWith(kTask) || (file.isEmpty() && first.contains("task"))) {
    for (const char* key : {"set", "file", "stories", "questions"}) first.erase(key);
    if (!file.isEmpty() && !first.contains("task")) first.erase("name");
    if (!file.isEmpty()) first["task"] = file.mid(QLatin1String(kTask).size()).toStdString();
    if (!first.contains("length")) first["length"] = kTaskLength;
    return all;
  }
  if (!first.contains("set") || !file.isEmpty()) {
    for (const char* key : {"set", "task", "length", "depth", "samples"}) first.erase(key);
    first.update({{"file", file.toStdString()}, {"name", file.section('/', -1).section('.', 0, 0).toStdString()}});
  }
  for (const auto& [key, line] : {std::pair{"stories", m_stories}, {"questions", m_questions}})
    put(first, key, line->text().isEmpty() ? json() : valuesOf(line->text())[0]);
  return all;
}

/// Texts of the list, with ; between two.
QString SweepPanel::expressionsText(const json& list) {
  QStringList out;
  for (const json& one : list) out << manifestText(one);
  return out.join(QStringLiteral("; "));
}

/// The list that the line says; the given one while the line says that.
json SweepPanel::expressions(json given) const {
  if (expressionsText(given) == m_expressions->text()) return given;
  json out;
  for (const QString& one : m_expressions->text().split(';'))
    if (const QString text = one.trimmed(); !text.isEmpty()) out.push_back(text.toStdString());
  return out;
}

void SweepPanel::take() {
  if (m_filling) return;
  json now = spec();
  if (now.is_null()) return m_problem->setText(tr("Correct the JSON first; the form cannot change it."));
  json measures = json::array();
  for (const QCheckBox* box : m_measures)
    if (box->isChecked()) measures.push_back(box->text().toStdString());
  put(now, "name", m_name->text().toStdString());
  put(now, "axes", m_axes->axes());
  put(now, "seeds", valuesOf(m_seeds->text()));
  put(now, "measure", measures.size() == m_measures.size() ? json() : measures);
  put(now, "expressions", expressions(member(now, "expressions")));
  now["prompts"] = prompts(member(now, "prompts"));
  setSpec(now);
}

void SweepPanel::follow() {
  const json now = spec();
  m_run->setEnabled(false);
  m_cells->clear();
  if (now.is_null()) return m_problem->setText(tr("This is not a JSON object."));
  m_problem->clear();
  fill(now);
  m_wait.start(kWait);
}

void SweepPanel::fill(const json& spec) {
  const QScopedValueRollback filling(m_filling, true);
  const auto show = [](QLineEdit* line, const QString& text) {
    if (line->text() != text) line->setText(text);
  };
  show(m_name, manifestText(member(spec, "name")));
  const json& seeds = member(spec, "seeds");
  if (valuesOf(m_seeds->text()) != (seeds.is_null() ? json::array() : seeds)) m_seeds->setText(valuesText(seeds));
  m_axes->show(member(spec, "axes"));
  const json& first = element(member(spec, "prompts"), 0);
  const json& task = member(first, "task");
  m_prompts->setEditText(task.is_string() ? kTask + manifestText(task) : manifestText(member(first, "file")));
  m_ask->setCurrentText(member(first, "ask").is_null() ? "after" : manifestText(member(first, "ask")));
  show(m_stories, manifestText(member(first, "stories")));
  show(m_questions, manifestText(member(first, "questions")));
  const json& measured = member(spec, "measure");
  for (QCheckBox* box : m_measures)
    box->setChecked(!measured.is_array() ||
                    std::find(measured.begin(), measured.end(), box->text().toStdString()) != measured.end());
  const json& asked = member(spec, "expressions");
  if (expressions(asked) != asked) m_expressions->setText(expressionsText(asked));
  const json base = spec.contains("base") ? member(spec, "base") : json{{"model", "demo"}};
  if (base.is_object()) m_base->setManifest(base);
  m_out->setPlaceholderText((m_name->text().isEmpty() ? m_name->placeholderText() : m_name->text()) + ".sweep");
}

/// Another thread counts: a sweep may have a million cells.
void SweepPanel::count() {
  QThreadPool::globalInstance()->start(
      [ask = m_form.count, now = spec(), number = ++m_question, self = QPointer<SweepPanel>(this)] {
        const auto cells =
            std::make_shared<Result<std::int64_t>>(guarded("the cells were not counted", [&] { return ask(now); }));
        QMetaObject::invokeMethod(
            qApp,
            [self, cells, number] {
              if (self && self->m_question == number && !self->m_wait.isActive()) self->say(*cells);
            },
            Qt::QueuedConnection);
      });
}

void SweepPanel::say(const Result<std::int64_t>& cells) {
  m_run->setEnabled(bool(cells));
  if (!cells) return m_problem->setText(QString::fromStdString(cells.error().text()));
  const QString text = counted(*cells, tr("cell"), tr("cells"));
  const double minutes = static_cast<double>(*cells) * m_form.pace / 60;
  m_cells->setText(m_form.pace < 0 ? tr("%1; the first ones will tell how long the sweep takes").arg(text)
                                   : tr("%1, about %2 min at the pace of the last sweep, %3 s a cell")
                                         .arg(text, QString::number(minutes, 'f', 1))
                                         .arg(m_form.pace, 0, 'g', 2));
}

void SweepPanel::openFile() {
  askForPath(this,
             {tr("Open Specification"), kSpecs, false, {}, "path", QString::fromStdString(resourceRoot() + "/sweeps")},
             [this](const QString& path) {
               const auto read = readManifest(path.toStdString());
               if (read) setSpec(*read);
               else m_problem->setText(QString::fromStdString(read.error().text()));
             });
}

void SweepPanel::saveFile() {
  askForPath(this, {tr("Save Specification"), kSpecs, true, ".json"}, [this](const QString& path) {
    const Status saved = kvlab::saveFile(path, m_json->toPlainText().toUtf8() + "\n", "the specification");
    if (!saved) m_problem->setText(QString::fromStdString(saved.error().text()));
  });
}

void SweepPanel::run() {
  json request{{"spec", spec()}};
  if (const QString out = m_out->text().trimmed(); !out.isEmpty()) request["out"] = out.toStdString();
  emit chosen(QString::fromStdString(request.dump()));
  close();
}

}  // namespace kvlab
