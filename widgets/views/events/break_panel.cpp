// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/break_panel.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>

#include "widgets/base/button_use.h"
#include "widgets/base/theme.h"

namespace kvlab {

BreakPanel::BreakPanel(InspectorContext& context, QWidget* parent)
    : QWidget(parent),
      m_context(context),
      m_edit(new QComboBox(this)),
      m_add(pushButton(tr("Add"), tr("Stop runs when this condition becomes true (Return)"), this)),
      m_remove(pushButton(tr("Remove"), tr("Remove the selected condition (Del)"), this)),
      m_clear(pushButton(tr("Clear"), tr("Remove every condition"), this)),
      m_list(new QListWidget(this)) {
  m_edit->setEditable(true);
  m_edit->addItems({QStringLiteral("invariant"), QStringLiteral("error"), QStringLiteral("kl > 0.05"),
                    QStringLiteral("evicted(ledger==12)"), QStringLiteral("changed(ledger==3)"),
                    QStringLiteral("stale(ledger==3)"), QStringLiteral("read(ledger==3)"),
                    QStringLiteral("wrap(layer==3)"), QStringLiteral("rows(layer==0) > 700"),
                    QStringLiteral("changed(rows)"), QStringLiteral("tick == 40"), QStringLiteral("length >= 900"),
                    QStringLiteral("stage(plan)")});
  m_edit->setCurrentText({});
  m_edit->lineEdit()->setPlaceholderText(tr("Break when…"));
  m_edit->setInsertPolicy(QComboBox::NoInsert);
  m_edit->setAccessibleName(tr("Break condition"));
  m_edit->setToolTip(
      tr("Condition that stops a run, such as invariant, evicted(ledger==12), kl > 0.05, wrap(layer==3)"));
  m_edit->setMinimumContentsLength(12);
  m_edit->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  m_list->setAccessibleName(tr("Break conditions"));
  m_list->setToolTip(tr("Conditions that stop a run; Del removes the selected condition"));
  m_list->setFont(Theme::current()->mono);
  m_list->setFrameShape(QFrame::NoFrame);
  m_hint = new QLabel(tr("None: a run goes on until Stop.\nTry kl > 0.05 or invariant."), m_list->viewport());
  m_hint->setWordWrap(true);
  m_hint->setForegroundRole(QPalette::PlaceholderText);
  m_hint->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  m_hint->setMargin(Theme::kSmall);
  auto* over = new QVBoxLayout(m_list->viewport());
  over->setContentsMargins(0, 0, 0, 0);
  over->addWidget(m_hint);
  over->addStretch(1);
  setBackgroundRole(QPalette::Button);
  setAutoFillBackground(true);
  m_list->installEventFilter(this);
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kMedium);
  grid->setSpacing(Theme::kSmall);
  auto* title = new QLabel(tr("Breakpoints"), this);
  title->setFont(Theme::current()->smallStrong);
  grid->addWidget(title, 0, 0, 1, 3);
  m_add->setMaximumWidth(56);
  grid->addWidget(m_edit, 1, 0, 1, 2);
  grid->addWidget(m_add, 1, 2);
  grid->addWidget(m_list, 2, 0, 1, 3);
  grid->addWidget(m_remove, 3, 0);
  grid->addWidget(m_clear, 3, 1);
  grid->setColumnStretch(0, 1);
  grid->setColumnStretch(1, 1);
  connect(m_edit->lineEdit(), &QLineEdit::returnPressed, this, &BreakPanel::addTyped);
  connect(m_add, &QPushButton::clicked, this, &BreakPanel::addTyped);
  connect(m_remove, &QPushButton::clicked, this, &BreakPanel::removeSelected);
  setCommand(m_add, "break_add");
  setCommand(m_remove, "break_set");
  runsCommand(m_clear, context, "break_clear");
  connect(&context, &InspectorContext::commandReplied, this, &BreakPanel::take);
  connect(&context, &InspectorContext::sessionChanged, this, [this] {
    m_list->clear();
    buttons();
  });
  connect(m_edit, &QComboBox::editTextChanged, this, &BreakPanel::buttons);
  connect(m_list, &QListWidget::itemSelectionChanged, this, &BreakPanel::buttons);
  buttons();
}

QStringList BreakPanel::conditions() const {
  QStringList list;
  for (int i = 0; i < m_list->count(); ++i) list << m_list->item(i)->text();
  return list;
}

void BreakPanel::buttons() {
  m_add->setEnabled(!m_edit->currentText().trimmed().isEmpty());
  m_remove->setEnabled(!m_list->selectedItems().isEmpty());
  m_clear->setEnabled(m_list->count() > 0);
  m_hint->setVisible(m_list->count() == 0);
}

void BreakPanel::addTyped() { add(m_edit->currentText().trimmed()); }

void BreakPanel::add(const QString& condition) {
  if (condition.isEmpty() || conditions().contains(condition)) return;
  m_context.runCommand(QStringLiteral("break_add"), {{"condition", condition.toStdString()}});
}

void BreakPanel::removeSelected() {
  if (m_list->selectedItems().isEmpty()) return;
  nlohmann::json kept = nlohmann::json::array();
  for (const QString& condition : conditions())
    if (condition != m_list->selectedItems().front()->text()) kept.push_back(condition.toStdString());
  m_context.runCommand(QStringLiteral("break_set"), {{"conditions", kept}});
}

/// Takes conditions that the engine accepted, whoever set them.
void BreakPanel::take(const CommandReply& command) {
  if (!command.reply || !command.id.startsWith(QLatin1String("break_"))) return;
  const auto text = [](const nlohmann::json& one) { return QString::fromStdString(one.get<std::string>()); };
  if (command.id == QLatin1String("break_add")) {
    if (!conditions().contains(text(command.args["condition"]))) m_list->addItem(text(command.args["condition"]));
    m_edit->setCurrentText({});
  } else {
    m_list->clear();
    for (const nlohmann::json& one : command.args.value("conditions", nlohmann::json::array()))
      m_list->addItem(text(one));
  }
  buttons();
}

bool BreakPanel::eventFilter(QObject* watched, QEvent* event) {
  const bool pressed = watched == m_list && event->type() == QEvent::KeyPress;
  const int key = pressed ? static_cast<QKeyEvent*>(event)->key() : 0;
  if (key != Qt::Key_Delete && key != Qt::Key_Backspace) return QWidget::eventFilter(watched, event);
  removeSelected();
  return true;
}

}  // namespace kvlab
