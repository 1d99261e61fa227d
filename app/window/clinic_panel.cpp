// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/clinic_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QDir>
#include <QHBoxLayout>
#include <QIntValidator>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QRandomGenerator>
#include <QRegularExpression>
#include <QSplitter>
#include <QTextBrowser>
#include <QVBoxLayout>
#include <algorithm>

#include "app/plain/script_lines.h"

namespace kvlab {

namespace {

QString inLines(const std::vector<std::string>& lines) {
  QStringList all;
  for (const std::string& one : lines) all << QString::fromStdString(one);
  return all.join('\n');
}
constexpr int kNumbers = 1'000'000;  // blind cases have numbers below

QString escaped(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

/// "ml-explore/mlx#3856", as a link where the text names the owner.
QString threadLink(const std::string& thread) {
  static const QRegularExpression full(QStringLiteral("^([\\w.-]+/[\\w.-]+)(?: PR)?#(\\d+)$"));
  const QRegularExpressionMatch match = full.match(QString::fromStdString(thread));
  if (!match.hasMatch()) return escaped(thread);
  return QStringLiteral("<a href=\"https://github.com/%1/issues/%2\">%3</a>")
      .arg(match.captured(1), match.captured(2), escaped(thread));
}

/// "layer 1, row 24"
QString placeText(const ClinicCase& one) {
  QStringList out;
  if (one.found.layer) out << QString("layer %1").arg(one.found.layer->value());
  if (one.found.row) out << QString("row %1").arg(one.found.row->value());
  return out.join(", ");
}

}  // namespace

ClinicPanel::ClinicPanel(std::vector<ClinicCase> cases, std::vector<VerbInfo> verbs, QWidget* parent)
    : QDialog(parent),
      m_cases(std::move(cases)),
      m_verbs(std::move(verbs)),
      m_list(new QListWidget(this)),
      m_page(new QTextBrowser(this)),
      m_state(new QLabel(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("Bug Clinic"));
  resize(980, 620);
  m_list->setAccessibleName(tr("Cases"));
  for (const ClinicCase& one : m_cases) {
    auto* item = new QListWidgetItem(QString::fromStdString(one.bug), m_list);
    item->setToolTip(QString::fromStdString(one.title));
  }
  m_page->setAccessibleName(tr("The case"));
  m_page->setOpenExternalLinks(true);
  m_state->setWordWrap(true);
  m_state->setObjectName("clinicState");
  auto* split = new QSplitter(this);
  split->addWidget(m_list);
  split->addWidget(m_page);
  split->setStretchFactor(1, 1);
  split->setSizes({240, 740});
  auto* column = new QVBoxLayout(this);
  column->addWidget(split, 1);
  column->addWidget(m_state);
  addButtons();
  connect(m_list, &QListWidget::currentRowChanged, this, &ClinicPanel::showCase);
  connect(m_list, &QListWidget::itemActivated, this, &ClinicPanel::openCase);
  m_list->setCurrentRow(0);
  m_list->setFocus();
  m_state->setText(
      tr("Open a case, and look for its cause in the window. A blind case does not say which bug it has."));
}

void ClinicPanel::addButtons() {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close | QDialogButtonBox::Help, this);
  const auto add = [&](const QString& text, const QString& tip, const char* name, void (ClinicPanel::*does)()) {
    auto* button = buttons->addButton(text, QDialogButtonBox::ActionRole);
    button->setToolTip(tip);
    button->setObjectName(name);
    button->setAutoDefault(false);
    connect(button, &QPushButton::clicked, this, does);
    return button;
  };
  add(tr("Open Case"), tr("Open a session in which the bug is planted and its condition is met"), "openCase",
      &ClinicPanel::openCase);
  add(tr("Open Blind Case"), tr("Open a case that is drawn; find the bug with the window"), "openBlind",
      &ClinicPanel::openBlind);
  m_number = new QLineEdit(this);
  m_number->setObjectName("blindNumber");
  m_number->setPlaceholderText(tr("drawn"));
  m_number->setAccessibleName(tr("Number of the blind case"));
  m_number->setToolTip(tr("The number of a blind case, to open it again; without one it is drawn"));
  m_number->setValidator(new QIntValidator(0, kNumbers - 1, m_number));
  m_number->setMaximumWidth(90);
  m_reveal = add(tr("Reveal"), tr("Say which bug the blind case has"), "reveal", &ClinicPanel::reveal);
  m_reveal->setEnabled(false);
  add(tr("Copy Script"), tr("Copy the script of the case"), "copyScript", &ClinicPanel::copyScript);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
  connect(buttons, &QDialogButtonBox::helpRequested, this, &ClinicPanel::helpWanted);
  auto* row = new QHBoxLayout;
  auto* label = new QLabel(tr("&Blind case"), this);
  label->setBuddy(m_number);
  row->addWidget(label);
  row->addWidget(m_number);
  row->addWidget(buttons, 1);
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
}

const ClinicCase& ClinicPanel::chosen() const {
  return m_cases[static_cast<std::size_t>(std::max(0, m_list->currentRow()))];
}

void ClinicPanel::showCase(int at) {
  if (at >= 0) m_page->setHtml(page(m_cases[static_cast<std::size_t>(at)]));
}

QString ClinicPanel::page(const ClinicCase& one) const {
  QStringList threads;
  for (const std::string& thread : one.threads) threads << threadLink(thread);
  const QString script = inLines(clinicScript(one, m_verbs)).toHtmlEscaped();
  return tr("<h3>%1</h3><p>%2</p><p><b>Where people met it:</b> %3</p><p><b>Found by</b> %4 (%5)</p>"
            "<p><b>Where to look:</b> view %6. %7</p><p><b>Script</b></p><pre style=\"white-space: pre-wrap\">%8</pre>")
      .arg(escaped(one.title), escaped(one.story), threads.join(", "), escaped(one.found.check), placeText(one),
           escaped(one.view), escaped(one.look), script);
}

void ClinicPanel::open(const QString& script, const QString& open) {
  m_opening = open;
  m_reveal->setEnabled(false);
  m_state->setText(tr("The case waits: the window asks whether the shown session may end."));
  emit opened(script);
}

void ClinicPanel::begun() {
  m_state->setText(m_opening);
  m_reveal->setEnabled(m_blind.has_value());
}

void ClinicPanel::openCase() {
  m_blind.reset();
  open(inLines(clinicScript(chosen(), m_verbs, {}, QDir::tempPath().toStdString())),
       tr("Open: %1. The lamp at the lower edge of the window leads to what was found.")
           .arg(QString::fromStdString(chosen().bug)));
}

void ClinicPanel::openBlind() {
  m_blind = m_number->text().isEmpty() ? QRandomGenerator::global()->bounded(kNumbers) : m_number->text().toInt();
  const auto drawn = std::ranges::find(m_cases, drawnBug(*m_blind), &ClinicCase::bug);
  open(inLines(clinicScript(*drawn, m_verbs, m_blind, QDir::tempPath().toStdString())),
       tr("Blind case %1 is open. Which bug is it, in which layer, at which row? Reveal tells.").arg(*m_blind));
}

void ClinicPanel::reveal() {
  if (!m_blind) return;
  const std::string name = drawnBug(*m_blind);
  const auto drawn = std::ranges::find(m_cases, name, &ClinicCase::bug);
  m_list->setCurrentRow(static_cast<int>(drawn - m_cases.begin()));
  m_state->setText(tr("Blind case %1 was %2. %3 finds it (%4).")
                       .arg(QString::number(*m_blind), QString::fromStdString(name),
                            QString::fromStdString(drawn->found.check), placeText(*drawn)));
  m_blind.reset();
  m_reveal->setEnabled(false);
}

void ClinicPanel::copyScript() { QApplication::clipboard()->setText(inLines(clinicScript(chosen(), m_verbs)) + '\n'); }

}  // namespace kvlab
