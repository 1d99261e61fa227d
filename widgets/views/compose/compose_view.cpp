// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/compose_view.h"

#include <QHeaderView>
#include <QKeyEvent>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/tight_column.h"
#include "widgets/base/turning_splitter.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
using nlohmann::json;
constexpr int kPlanDelay = 120;  // milliseconds after the last key press
constexpr int kWide = 820;       // text and plan are side by side from this width on
constexpr const char* kExample =
    "[\n  {\"action\":\"replace_pair\",\"original_pos1\":8,\n   \"original_pos2\":9,\"new_token_ids\":[319]},\n"
    "  {\"action\":\"add\",\"token_id\":13}\n]";

}  // namespace

ComposeView::ComposeView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_plan(new PlanModel(PlanModel::Of::Draft, this)),
      m_pendingModel(new PlanModel(PlanModel::Of::Pending, this)),
      m_askPlan(context, this, "compose.plan"),
      m_edit(context, this) {
  m_content = new QWidget(this);
  m_content->setBackgroundRole(QPalette::Base);
  m_content->setAutoFillBackground(true);
  auto* column = tightColumn(m_content);
  m_bar = new ComposeBar(context, m_content);
  m_split = new TurningSplitter(
      kWide, [](int width) { return width * 2 / 5; }, [](int height) { return height * 2 / 5; }, m_content);
  m_split->addWidget(makeEditor());
  m_split->addWidget(makePlan());
  m_split->setStretchFactor(1, 1);
  column->addWidget(m_bar);
  column->addWidget(m_split, 1);
  column->addWidget(makePending());
  column->addWidget(makeFooter());
  setContent(m_content);
  setMainControl(m_bar);
  m_planSoon.setSingleShot(true);
  m_planSoon.setInterval(kPlanDelay);
  connect(&m_planSoon, &QTimer::timeout, this, &ComposeView::askPlan);
  connect(m_bar, &ComposeBar::composed, this, &ComposeView::compose);
  connect(m_bar, &ComposeBar::refused, this, [this](const QString& why) { say(why, Tone::Warning); });
  connect(m_bar, &ComposeBar::settled, this, &InspectorView::readyChanged);
  addOption(
      {"draft", [this] { return draft().toStdString(); }, [this](const json& value) { return takeDraft(value); }});
  draftChanged();
}

QWidget* ComposeView::titled(const QString& title, QWidget* content, QWidget* parent) {
  auto* box = new QWidget(parent);
  auto* column = tightColumn(box);
  auto* label = new QLabel(title, box);
  label->setObjectName(QStringLiteral("title"));
  label->setFont(theme()->smallStrong);
  label->setBackgroundRole(QPalette::Button);
  label->setAutoFillBackground(true);
  label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  label->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kSmall);
  column->addWidget(label);
  column->addWidget(content, 1);
  return box;
}

QWidget* ComposeView::makeEditor() {
  m_editor = new JsonEditor(m_split);
  m_editor->setPlaceholderText(QString::fromLatin1(kExample));
  m_editor->setAccessibleName(tr("Actions as JSON"));
  m_editor->setToolTip(tr("The action list; the bar above appends to this list"));
  m_editor->setMinimumHeight(60);
  connect(m_editor, &QPlainTextEdit::textChanged, this, &ComposeView::draftChanged);
  return titled(tr("Actions"), m_editor, m_split);
}

QWidget* ComposeView::makePlan() {
  m_table = new DataTable(m_split, m_plan, tr("Plan"), tr("Effect of each action; Del removes the selected action"));
  m_table->stretch({"removes", "writes"});
  m_table->setMinimumHeight(60);
  auto* remove = new QAction(tr("Remove action"), m_table);
  remove->setShortcut(QKeySequence::Delete);
  remove->setShortcutContext(Qt::WidgetShortcut);
  m_table->addAction(remove);
  m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(remove, &QAction::triggered, this, &ComposeView::removeSelected);
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &ComposeView::mark);
  QWidget* box = titled(tr("Plan"), m_table, m_split);
  m_planTitle = box->findChild<QLabel*>(QStringLiteral("title"));
  return box;
}

QWidget* ComposeView::makePending() {
  m_pendingTable = new DataTable(m_content);
  m_pendingTable->setModel(m_pendingModel);
  m_pendingTable->stretch({"removes", "writes"});
  m_pendingTable->setAccessibleName(tr("Pending actions"));
  m_pendingTable->setToolTip(tr("Actions that the next tick or Apply commits"));
  m_pendingTable->horizontalHeader()->hide();
  m_pendingTable->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_pending = titled(tr("Pending"), m_pendingTable, m_content);
  m_pendingTitle = m_pending->findChild<QLabel*>(QStringLiteral("title"));
  return m_pending;
}

QWidget* ComposeView::makeFooter() {
  auto* box = new QWidget(m_content);
  box->setObjectName(QStringLiteral("footer"));
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kMedium);
  column->setSpacing(Theme::kSmall);
  m_message = new QLabel(box);
  m_message->setWordWrap(true);
  m_message->setMinimumHeight(2 * m_message->fontMetrics().lineSpacing());  // most messages: the panes do not move
  m_message->setForegroundRole(QPalette::WindowText);
  m_message->setAccessibleName(tr("State of the list"));
  auto* line = new StripLayout;
  line->setSpacing(Theme::kSmall);
  m_apply =
      pushButton(tr("&Apply now"), tr("Apply the list and all pending actions without generating (Ctrl+Return)"), this);
  m_queue = pushButton(tr("&Queue"), tr("Queue the list for the next tick"), this);
  m_clear = pushButton(tr("&Clear list"), tr("Clear the list; Ctrl+Z in the editor restores it"), this);
  m_clearPending = pushButton(tr("Forget pendin&g"), tr("Remove the pending actions"), this);
  for (QPushButton* one : {m_apply, m_queue, m_clear}) line->addWidget(one);
  line->addStretch(1);
  line->addWidget(m_clearPending);
  column->addWidget(m_message);
  column->addLayout(line);
  setCommand(m_queue, "inject");
  connect(m_apply, &QPushButton::clicked, this, [this] {
    m_check.ok() ? run("inject", {{"actions", m_check.list}, {"now", true}}) : run("apply", json::object());
  });
  connect(m_queue, &QPushButton::clicked, this, [this] { run("inject", {{"actions", m_check.list}}); });
  setOwn({m_clear});
  connect(m_clear, &QPushButton::clicked, this, [this] { m_editor->replaceText({}); });
  runsCommand(m_clearPending, context(), "clear_pending");
  return box;
}

bool ComposeView::ready() const {
  return InspectorView::ready() && !m_askPlan.waiting() && !m_planSoon.isActive() && !m_edit.waiting() &&
      !m_bar->waiting();
}

void ComposeView::setDraft(const QString& text) { m_editor->replaceText(text); }

std::string ComposeView::takeDraft(const json& value) {
  if (!value.is_string() && !value.is_array()) return "give a list of actions or its text";
  QString text;
  if (value.is_string()) text = QString::fromStdString(value.get<std::string>());
  else
    for (const json& action : value)
      text += (text.isEmpty() ? "[\n  " : ",\n  ") + QString::fromStdString(action.dump());
  setDraft(value.is_array() && !text.isEmpty() ? text + "\n]" : text);
  return {};
}

void ComposeView::compose(const std::vector<Action>& actions) {
  if (!m_check.list.is_null() && !m_check.list.is_array())
    return say(tr("The text is not a list; clear it first"), Tone::Warning);
  QString text = draft();
  if (m_check.offset) return say(tr("Correct the text first: %1").arg(m_check.problem), Tone::Warning);
  for (const Action& action : actions) text = appended(text, action);
  m_editor->replaceText(text);
}

void ComposeView::draftChanged() {
  m_check = checkDraft(draft());
  m_wrong = m_check.place;
  m_planSoon.stop();
  m_askPlan.forget();
  m_plan->setList(m_check.list, shown());
  if (!m_check.problem.isEmpty()) say(m_check.problem, Tone::Error);
  else if (m_check.empty())
    say(tr("Choose rows in any view and type words, or write the list as JSON; the plan comes before any change."),
        Tone::Faint);
  else if (shown()) {
    say(tr("planning…"), Tone::Faint);
    m_planSoon.start();
  }
  mark();
  buttons();
}

void ComposeView::askPlan() {
  if (!shown() || !m_check.ok()) return;
  m_askPlan.query("plan", {{"actions", m_check.list}}, [this](const Result<json>& reply) {
    planned(reply);
    buttons();
    emit readyChanged();
  });
}

void ComposeView::planned(const Result<json>& reply) {
  if (!reply) return showError(reply.error());
  if (!reply->is_object()) return say(tr("No plan was returned; see the log for the error"), Tone::Warning);
  m_wrong.reset();
  m_plan->setPlan(*reply);
  mark();
  const bool more = shown() && !shown()->pending.empty();
  say(m_plan->figures()->text() + (more ? tr("  ·  with what is pending") : QString()), Tone::Normal);
}

void ComposeView::showError(const Error& error) {
  m_wrong = error.action;
  m_plan->setError(error);
  mark();
  say(QString::fromStdString(error.text()), Tone::Error);
}

void ComposeView::mark() {
  const auto spanOf = [this](int place) -> std::optional<TextSpan> {
    if (place < 0 || at(place) >= m_check.spans.size()) return {};
    return m_check.spans[at(place)];
  };
  std::optional<TextSpan> wrong = m_wrong ? spanOf(*m_wrong) : std::nullopt;
  if (m_check.offset) wrong = TextSpan{std::max(0, *m_check.offset - (*m_check.offset >= draft().size() ? 1 : 0)), 1};
  m_editor->mark(wrong, spanOf(m_table->currentIndex().row()));
}

void ComposeView::say(const QString& text, Tone tone) {
  m_tone = tone;
  m_doneAt.reset();
  const auto look = theme();
  QPalette colours = m_message->palette();
  colours.setColor(QPalette::WindowText,
                   tone == Tone::Error         ? look->error
                       : tone == Tone::Warning ? look->warning
                       : tone == Tone::Ok      ? look->ok
                       : tone == Tone::Faint   ? look->faint
                                               : look->text);
  m_message->setPalette(colours);
  const QString sign = tone == Tone::Error ? QStringLiteral("✗ ")
      : tone == Tone::Warning              ? QStringLiteral("⚠ ")
      : tone == Tone::Ok                   ? QStringLiteral("✓ ")
                                           : QString();
  m_message->setText(sign + text);
}

/// Clears the draft if the engine accepted the list, even if the tick failed: the actions are pending then.
void ComposeView::run(const char* command, const json& args) {
  m_edit.run(QLatin1String(command), args, [this, args](const Result<json>& reply) {
    if (reply && args.contains("actions")) {
      m_editor->replaceText({});
      m_editor->document()->clearUndoRedoStacks();  // the list was used: undo is the session's now
    }
    if (const std::optional<Error> refused = refusalOf(reply)) showError(*refused);
    else if (args.contains("actions") && !args.contains("now")) sayDone(tr("Queued for the next tick"));
    else sayDone(tr("Applied; Ctrl+Z takes it back"));
    buttons();
    emit readyChanged();
  });
  if (m_apply->hasFocus() || m_queue->hasFocus()) m_bar->setFocus();  // a button without use would lose the keyboard
  buttons();
}

void ComposeView::sayDone(const QString& text) {
  say(text, Tone::Ok);
  if (!context().history().empty()) m_doneAt = context().history().back()->serial;
}

void ComposeView::removeSelected() {
  const int row = m_table->currentIndex().row();
  if (row >= 0) m_editor->replaceText(without(draft(), row));
}

void ComposeView::buttons() {
  const bool pending = shown() && !shown()->pending.empty();
  const bool fine = m_check.ok() && !m_wrong && !m_edit.waiting() && shown();
  setCommand(m_apply, m_check.ok() ? "inject" : "apply");
  m_apply->setEnabled(fine || (m_check.empty() && pending && !m_edit.waiting()));
  m_queue->setEnabled(fine);
  m_clear->setEnabled(!draft().isEmpty());
  m_clearPending->setEnabled(pending);
  m_planTitle->setText(m_plan->rowCount() == 0
                           ? tr("Plan")
                           : tr("Plan: %1").arg(counted(m_plan->rowCount(), tr("action"), tr("actions"))));
}

void ComposeView::onSnapshot() {
  const SnapshotPtr snapshot = shown();
  setEmpty(snapshot ? QString() : tr("Write edits of the cache and see their plan"), noSessionHow());
  m_bar->refresh();
  const std::vector<Action> pending = snapshot ? snapshot->pending : std::vector<Action>();
  m_pendingModel->setActions(pending, snapshot);
  m_pending->setVisible(!pending.empty());
  m_pendingTitle->setText(tr("Pending: %1 for the next tick")
                              .arg(counted(static_cast<qint64>(pending.size()), tr("action"), tr("actions"))));
  const int tall = Theme::kRow * std::clamp(static_cast<int>(pending.size()), 1, 4) + 2;
  m_pendingTable->setFixedHeight(tall);
  m_pending->setFixedHeight(tall + m_pendingTitle->sizeHint().height());
  const bool over = m_doneAt && (context().history().empty() || context().history().back()->serial != *m_doneAt);
  if (m_check.ok() || over) draftChanged();  // the plan belongs to another context, or the message to another state
  buttons();
}

void ComposeView::onFocus() { m_bar->refresh(); }

void ComposeView::onSession() { draftChanged(); }

namespace {
bool applies(const QKeyEvent& key) {
  return (key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter) && key.modifiers() == Qt::ControlModifier;
}
}  // namespace

/// The key of the command that applies what is pending applies the list as well where the keyboard is here.
bool ComposeView::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && applies(*static_cast<QKeyEvent*>(event))) event->accept();
  return InspectorView::event(event);
}

void ComposeView::keyPressEvent(QKeyEvent* event) {
  if (!applies(*event)) return InspectorView::keyPressEvent(event);
  m_apply->click();
}

void ComposeView::onTheme() {
  if (!m_message) return;
  m_editor->follow();
  m_bar->refresh();
  mark();
  const QString text = m_message->text();
  const auto doneAt = m_doneAt;
  say({}, m_tone);
  m_message->setText(text);
  m_doneAt = doneAt;
}

QString ComposeView::dump() const {
  QString text = QStringLiteral("compose: %1\n%2\n").arg(m_message->text(), draft());
  if (m_plan->rowCount()) text += m_table->tsv();
  for (const PlanLine& line : m_pendingModel->lines())
    text += QStringLiteral("pending: %1 %2 “%3” → “%4”\n").arg(line.action, line.where, line.before, line.after);
  return text;
}

QString ComposeView::tsv() const { return m_plan->rowCount() ? m_table->tsv() : QString(); }

}  // namespace kvlab

KVLAB_DEFINE_VIEW(ComposeView)
