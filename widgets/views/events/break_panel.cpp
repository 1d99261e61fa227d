// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/break_panel.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>

#include "widgets/base/button_use.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
constexpr int kId = Qt::UserRole;

QString textOf(const BreakpointView& one) {
  QStringList parts{QString::fromStdString(one.condition)};
  if (one.hits > 0) parts << QStringLiteral("×%1").arg(one.hits);
  if (one.logs) parts << BreakPanel::tr("log");
  if (one.once) parts << BreakPanel::tr("once");
  return parts.join(QStringLiteral("  "));
}

QString tipOf(const BreakpointView& one) {
  QString out = !one.enabled ? BreakPanel::tr("Off: it is not asked")
      : one.logs             ? BreakPanel::tr("It writes a line to the log when it holds")
                             : BreakPanel::tr("It stops a run when it holds");
  if (one.last) out += BreakPanel::tr(".\nIt has held %1 times, last at tick %2").arg(one.hits).arg(one.last->value());
  return out;
}
}  // namespace

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
                    QStringLiteral("stage(plan)"), QStringLiteral("stage(prune)")});
  m_edit->setCurrentText({});
  m_edit->lineEdit()->setPlaceholderText(tr("Break when…"));
  m_edit->setInsertPolicy(QComboBox::NoInsert);
  m_edit->setAccessibleName(tr("Break condition"));
  m_edit->setToolTip(
      tr("Condition that stops a run, such as invariant, evicted(ledger==12), kl > 0.05, wrap(layer==3)"));
  m_edit->setMinimumContentsLength(12);
  m_edit->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  m_list->setAccessibleName(tr("Break conditions"));
  m_list->setToolTip(
      tr("Conditions that stop a run; Space switches the selected one off or on, Del removes it, the menu has more"));
  m_list->setContextMenuPolicy(Qt::CustomContextMenu);
  m_list->setFont(Theme::current()->mono);
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setTextElideMode(Qt::ElideMiddle);  // the text behind the condition stays visible
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  outlineBoxes();
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
  setCommand(m_remove, "break_clear");
  runsCommand(m_clear, context, "break_clear");
  connect(&context, &InspectorContext::snapshotChanged, this, &BreakPanel::refresh);
  connect(&context, &InspectorContext::sessionChanged, this, &BreakPanel::refresh);
  connect(m_list, &QListWidget::customContextMenuRequested, this, &BreakPanel::showMenu);
  connect(m_list, &QListWidget::itemChanged, this, [this](const QListWidgetItem* item) {
    m_context.runCommand(QStringLiteral("break_change"),
                         {{"id", item->data(kId).toInt()}, {"enabled", item->checkState() == Qt::Checked}});
  });
  connect(m_edit, &QComboBox::editTextChanged, this, &BreakPanel::buttons);
  connect(m_list, &QListWidget::itemSelectionChanged, this, &BreakPanel::buttons);
  refresh();
  buttons();
}

QStringList BreakPanel::conditions() const {
  QStringList list;
  if (m_shown)
    for (const BreakpointView& one : *m_shown) list << QString::fromStdString(one.condition);
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

const BreakpointView* BreakPanel::selected() const {
  const int row = m_list->selectedItems().isEmpty() ? -1 : m_list->row(m_list->selectedItems().front());
  return row < 0 ? nullptr : &(*m_shown)[static_cast<std::size_t>(row)];
}

void BreakPanel::removeSelected() {
  if (const BreakpointView* one = selected()) m_context.runCommand(QStringLiteral("break_clear"), {{"id", one->id}});
}

void BreakPanel::toggle(const char* what, bool on) {
  if (const BreakpointView* one = selected())
    m_context.runCommand(QStringLiteral("break_change"), {{"id", one->id}, {what, on}});
}

void BreakPanel::showMenu(const QPoint& place) {
  const BreakpointView* one = selected();
  if (!one) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto entry = [&](const QString& text, const char* what, bool on) {
    QAction* action = menu->addAction(text);
    action->setCheckable(true);
    action->setChecked(on);
    connect(action, &QAction::toggled, this, [this, what](bool now) { toggle(what, now); });
  };
  entry(tr("On"), "enabled", one->enabled);
  entry(tr("Write to the log instead of stopping"), "log", one->logs);
  entry(tr("Forget it when it has stopped a run"), "once", one->once);
  menu->addSeparator();
  connect(menu->addAction(tr("Remove")), &QAction::triggered, this, &BreakPanel::removeSelected);
  menu->popup(m_list->viewport()->mapToGlobal(place));
}

/// Lists the breakpoints of the newest snapshot; the selection stays with its breakpoint.
void BreakPanel::refresh() {
  const auto& history = m_context.history();
  const auto now = history.empty() ? nullptr : history.back()->breakpoints;
  if (now == m_shown && m_list->count() == (now ? static_cast<int>(now->size()) : 0)) return;
  const int chosen = selected() ? selected()->id : -1;
  const QSignalBlocker quiet(m_list);
  m_shown = now;
  m_list->clear();
  for (const BreakpointView& one : now ? *now : std::vector<BreakpointView>()) {
    auto* item = new QListWidgetItem(textOf(one), m_list);
    item->setData(kId, one.id);
    item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
    item->setCheckState(one.enabled ? Qt::Checked : Qt::Unchecked);
    item->setToolTip(tipOf(one));
    item->setSelected(one.id == chosen);
  }
  if (conditions().contains(m_edit->currentText().trimmed())) m_edit->setCurrentText({});  // the engine took it
  buttons();
}

/// The style draws the boxes' outlines darker than the colour of a window, which in the dark theme cannot be seen.
void BreakPanel::outlineBoxes() {
  QPalette colours = m_list->palette();
  colours.setColor(QPalette::Window, Theme::current()->muted);
  m_list->setPalette(colours);
}

bool BreakPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_list && event->type() == QEvent::PaletteChange) outlineBoxes();
  const bool pressed = watched == m_list && event->type() == QEvent::KeyPress;
  const int key = pressed ? static_cast<QKeyEvent*>(event)->key() : 0;
  if (key != Qt::Key_Delete && key != Qt::Key_Backspace) return QWidget::eventFilter(watched, event);
  removeSelected();
  return true;
}

}  // namespace kvlab
