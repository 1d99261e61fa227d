// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/queue_list.h"

#include <QAction>
#include <QHBoxLayout>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/panes.h"
#include "widgets/base/theme.h"

namespace kvlab {

QueueList::QueueList(PlanModel& model, QWidget* parent)
    : QWidget(parent),
      m_model(model),
      m_table(new DataTable(this, &model, tr("Queue"),
                            tr("What each queued action does; Del removes it, Return edits it, Alt and an arrow key "
                               "move it"))),
      m_notice(new EmptyNotice(this)),
      m_stack(new QStackedWidget(this)) {
  m_table->stretch({"what"});
  m_table->setMinimumHeight(60);
  setFocusPolicy(Qt::ClickFocus);  // a click on a button of the list gives the keyboard to the lines
  setFocusProxy(m_table);
  m_notice->say(tr("Nothing is queued"),
                tr("Choose rows in any view and press a button above; or write a list of actions as JSON."));
  m_stack->addWidget(m_table);
  m_stack->addWidget(m_notice);
  auto* column = tightColumn(this);
  column->addWidget(makeHead());
  column->addWidget(m_stack, 1);
  makeKeys();
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    enable();
    emit currentChanged();
  });
  connect(m_table, &QAbstractItemView::doubleClicked, m_edit, &QAbstractButton::click);
  connect(&model, &QAbstractItemModel::modelReset, this, &QueueList::enable);
  enable();
}

QToolButton* QueueList::button(const QString& sign, const QString& name, const QString& tip) {
  auto* made = new QToolButton(this);
  made->setText(sign);
  made->setAccessibleName(name);
  made->setToolTip(tip);
  made->setAutoRaise(true);
  made->setFocusPolicy(Qt::TabFocus);
  return made;
}

QWidget* QueueList::makeHead() {
  auto* head = new QWidget(this);
  head->setBackgroundRole(QPalette::Button);
  head->setAutoFillBackground(true);
  auto* line = new QHBoxLayout(head);
  line->setContentsMargins(Theme::kMedium, 0, Theme::kSmall, 0);
  line->setSpacing(Theme::kTight);
  m_title = new QLabel(head);
  m_title->setFont(Theme::current()->smallStrong);
  m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  m_up = button(QStringLiteral("↑"), tr("Move up"), tr("Move the chosen action up (Alt+Up)"));
  m_down = button(QStringLiteral("↓"), tr("Move down"), tr("Move the chosen action down (Alt+Down)"));
  m_edit = button(QStringLiteral("✎"), tr("Edit action"),
                  tr("Type other words for the chosen action, or edit it in the text (Return)"));
  m_remove = button(QStringLiteral("✕"), tr("Remove action"), tr("Remove the chosen actions from the list (Del)"));
  for (QToolButton* one : {m_up, m_down, m_remove}) setCommand(one, "inject");
  setOwn({m_edit});
  line->addWidget(m_title, 1);
  for (QToolButton* one : {m_up, m_down, m_edit, m_remove}) line->addWidget(one);
  connect(m_up, &QToolButton::clicked, this, [this] { emit moveAsked(current(), -1); });
  connect(m_down, &QToolButton::clicked, this, [this] { emit moveAsked(current(), 1); });
  connect(m_edit, &QToolButton::clicked, this, [this] { emit editAsked(current()); });
  connect(m_remove, &QToolButton::clicked, this, [this] { emit removeAsked(selected()); });
  return head;
}

/// A key or a menu entry is a click on its button.
QAction* QueueList::key(const QString& text, QList<QKeySequence> keys, QToolButton* button) {
  auto* action = new QAction(text, m_table);
  action->setShortcuts(keys);
  action->setShortcutContext(Qt::WidgetShortcut);
  action->setToolTip(button->toolTip());
  connect(action, &QAction::triggered, button, &QAbstractButton::click);
  m_table->addAction(action);
  return action;
}

void QueueList::makeKeys() {
  m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
  key(tr("Edit action"), {Qt::Key_Return, Qt::Key_Enter, Qt::Key_F2}, m_edit);
  key(tr("Move up"), {QKeySequence(Qt::ALT | Qt::Key_Up)}, m_up);
  key(tr("Move down"), {QKeySequence(Qt::ALT | Qt::Key_Down)}, m_down);
  key(tr("Remove action"), {QKeySequence::Delete}, m_remove);
}

std::vector<int> QueueList::selected() const {
  std::vector<int> out;
  for (const QModelIndex& one : m_table->selectionModel()->selectedRows()) out.push_back(one.row());
  if (out.empty() && current() >= 0) out.push_back(current());
  std::sort(out.begin(), out.end());
  return out;
}

void QueueList::enable() {
  const int lines = m_model.rowCount(), line = current();
  const bool chosen = m_editable && line >= 0 && line < lines;
  m_stack->setCurrentWidget(lines > 0 ? static_cast<QWidget*>(m_table) : m_notice);
  m_up->setEnabled(chosen && line > 0);
  m_down->setEnabled(chosen && line + 1 < lines);
  m_edit->setEnabled(chosen);
  m_remove->setEnabled(chosen);
  setCommand(m_remove, static_cast<int>(selected().size()) == lines ? "clear_pending" : "inject");
}

void QueueList::setEditable(bool on) {
  m_editable = on;
  enable();
}

QRect QueueList::placeOf(int line) const {
  const QRect cell = m_table->visualRect(m_model.index(line, m_model.columnOf("what")));
  return {m_table->viewport()->mapTo(this, cell.topLeft()), cell.size()};
}

void QueueList::choose(int line) {
  if (line >= 0 && line < m_model.rowCount()) m_table->selectRow(line);
}

}  // namespace kvlab
