// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/check_panel.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <utility>

#include "core/api/read_json.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {

constexpr int kLineHeight = 22;

enum Field { kTest, kOutcome, kFigure, kSeconds, kSays, kColumns };

}  // namespace

CheckPanel::CheckPanel(JobList& jobs, const nlohmann::json& tests, QString program, QWidget* parent)
    : QDialog(parent),
      m_jobs(jobs),
      m_program(std::move(program)),
      m_state(new QLabel(this)),
      m_tests(new QTreeWidget(this)),
      m_detail(new QLabel(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("Check Model"));
  resize(1040, 480);
  m_state->setWordWrap(true);
  m_state->setObjectName("checkState");
  m_tests->setAccessibleName(tr("Tests"));
  m_tests->setColumnCount(kColumns);
  m_tests->setHeaderLabels(
      {tr("Test"), tr("Outcome"), tr("Figure"), tr("Seconds"), tr("What holds, and what was found")});
  m_tests->setRootIsDecorated(false);
  for (const auto& one : tests) {
    auto* line = new QTreeWidgetItem(m_tests);
    line->setText(kTest, QString::fromStdString(memberOr(one, "id", std::string())));
    line->setText(kSays, QString::fromStdString(memberOr(one, "title", std::string())));
    line->setSizeHint(kSays, {0, kLineHeight});
    line->setTextAlignment(kSeconds, Qt::AlignRight | Qt::AlignVCenter);
  }
  m_tests->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  m_tests->header()->setSectionResizeMode(kSays, QHeaderView::Stretch);
  m_detail->setWordWrap(true);
  m_detail->setMinimumHeight(2 * m_detail->fontMetrics().lineSpacing());
  m_detail->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_detail->setAccessibleName(tr("The chosen test"));
  connect(m_tests, &QTreeWidget::currentItemChanged, this, &CheckPanel::showDetail);
  m_tests->setCurrentItem(m_tests->topLevelItem(0));
  auto* column = new QVBoxLayout(this);
  column->addWidget(m_state);
  column->addWidget(m_tests, 1);
  column->addWidget(m_detail);
  addButtons();
}

void CheckPanel::addButtons() {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close | QDialogButtonBox::Help, this);
  const auto add = [&](const QString& text, const QString& tip, const char* name) {
    auto* button = buttons->addButton(text, QDialogButtonBox::ActionRole);
    button->setToolTip(tip);
    button->setObjectName(name);
    button->setAutoDefault(false);
    return button;
  };
  m_run = add(tr("Run Tests"), tr("Run all tests beside the session"), "runTests");
  m_stop = add(tr("Stop"), tr("Stop the tests; what is over stays in the list"), "stopTests");
  connect(m_run, &QPushButton::clicked, this, &CheckPanel::run);
  connect(m_stop, &QPushButton::clicked, this, [this] {
    if (m_job) m_job->stop();
  });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
  connect(buttons, &QDialogButtonBox::helpRequested, this, &CheckPanel::helpWanted);
  layout()->addWidget(buttons);
}

void CheckPanel::setModel(const QString& model) {
  m_model = model;
  showState();
}

void CheckPanel::showState() {
  const bool runs = m_job;
  m_run->setEnabled(!runs && !m_model.isEmpty());
  m_stop->setEnabled(runs);
  if (m_model.isEmpty()) return m_state->setText(tr("Open a session first: the tests run on its model."));
  if (m_passed + m_failed + m_skipped == 0)
    return m_state->setText(runs ? tr("The tests of %1 run.").arg(m_model)
                                 : tr("%1 tests of the engine and of the checkpoint on the model %2.")
                                       .arg(m_tests->topLevelItemCount())
                                       .arg(m_model));
  m_state->setText(tr("%1: %2 passed, %3 failed, %4 skipped%5")
                       .arg(m_model)
                       .arg(m_passed)
                       .arg(m_failed)
                       .arg(m_skipped)
                       .arg(runs ? tr("; the others run or wait") : QString()));
}

/// The text of a line is longer than the window is wide.
void CheckPanel::showDetail() {
  const QTreeWidgetItem* line = m_tests->currentItem();
  m_detail->setText(line ? line->text(kTest) + QStringLiteral(": ") + line->text(kSays) : QString());
}

void CheckPanel::run() {
  m_passed = m_failed = m_skipped = 0;
  for (int i = 0; i < m_tests->topLevelItemCount(); ++i)
    for (const int column : {kOutcome, kFigure, kSeconds}) m_tests->topLevelItem(i)->setText(column, {});
  m_job = checkJob(m_jobs, m_model);
  connect(m_job, &ProgramJob::said, this, [this](const QString& line) {
    if (const auto test = checkedTest(line)) take(*test);
  });
  connect(m_job, &ProgramJob::ended, this, [this] {
    m_job = nullptr;
    showState();
  });
  m_job->start(m_program, {"check", "--model", m_model});
  showState();
}

void CheckPanel::take(const CheckedTest& test) {
  int& count = test.outcome == "passed" ? m_passed : test.outcome == "FAILED" ? m_failed : m_skipped;
  ++count;
  for (QTreeWidgetItem* line : m_tests->findItems(test.id, Qt::MatchExactly, kTest)) {
    const bool failed = test.outcome == "FAILED";
    line->setText(kOutcome, failed ? tr("failed") : test.outcome == "passed" ? tr("passed") : tr("skipped"));
    line->setText(kFigure, test.figure);
    line->setText(kSeconds, test.seconds);
    line->setText(kSays, test.says);
    line->setToolTip(kSays, test.says);
    const QBrush ink = failed ? QBrush(Theme::current()->error) : QBrush();
    for (int column = 0; column < kColumns; ++column) line->setForeground(column, ink);
    if (failed && m_failed == 1) m_tests->setCurrentItem(line);
  }
  showDetail();
  showState();
}

}  // namespace kvlab
