// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/compose_view.h"

#include <QKeyEvent>

#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/tokens.h"
#include "widgets/base/view_registry.h"
#include "widgets/base/word_edit.h"

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
      m_plan(new PlanModel(this)),
      m_askPlan(context, this, "compose.plan"),
      m_askWords(context, this, "compose.words"),
      m_edit(context, this) {
  m_content = new QWidget(this);
  m_content->setBackgroundRole(QPalette::Base);
  m_content->setAutoFillBackground(true);
  auto* column = tightColumn(m_content);
  m_bar = new ComposeBar(context, this);
  m_split = new TurningSplitter(
      kWide, [](int width) { return width * 3 / 5; }, [](int height) { return height * 3 / 5; }, m_content);
  makeList();
  m_split->addWidget(m_list);
  m_split->addWidget(makeEditor());
  m_split->setStretchFactor(0, 1);
  column->addWidget(m_bar);
  column->addWidget(m_split, 1);
  column->addWidget(makeFooter());
  setContent(m_content);
  setMainControl(m_bar);
  m_planSoon.setSingleShot(true);
  m_planSoon.setInterval(kPlanDelay);
  connect(&m_planSoon, &QTimer::timeout, this, &ComposeView::askPlan);
  connect(m_bar, &ComposeBar::composed, this, &ComposeView::compose);
  connect(m_bar, &ComposeBar::refused, this, [this](const QString& why) { say(why, Tone::Warning); });
  addOption({"draft", [this] { return m_clean ? std::string() : draft().toStdString(); },
             [this](const json& value) { return takeDraft(value); }});
  followQueue();
  refresh();
}

void ComposeView::makeList() {
  m_list = new QueueList(*m_plan, m_split);
  connect(m_list, &QueueList::currentChanged, this, &ComposeView::mark);
  connect(m_list, &QueueList::moveAsked, this, &ComposeView::move);
  connect(m_list, &QueueList::removeAsked, this, &ComposeView::remove);
  connect(m_list, &QueueList::editAsked, this, &ComposeView::edit);
}

QWidget* ComposeView::makeEditor() {
  auto* box = new QWidget(m_split);
  auto* column = tightColumn(box);
  auto* label = new QLabel(tr("As JSON"), box);
  label->setFont(theme()->smallStrong);
  label->setBackgroundRole(QPalette::Button);
  label->setAutoFillBackground(true);
  label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  label->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kSmall);
  m_editor = new JsonEditor(box);
  m_editor->setPlaceholderText(QString::fromLatin1(kExample));
  m_editor->setAccessibleName(tr("Actions as JSON"));
  m_editor->setToolTip(tr("The list as JSON; a changed text is planned, and Queue puts it in place of the queue"));
  m_editor->setMinimumHeight(60);
  connect(m_editor, &QPlainTextEdit::textChanged, this, [this] {
    if (draft() == m_read) return;  // only its colours are others
    m_doneAt.reset();
    refresh();
  });
  column->addWidget(label);
  column->addWidget(m_editor, 1);
  return box;
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
  m_apply = pushButton(tr("&Apply now"), tr("Apply the list now, without generating (Ctrl+Return)"), this);
  m_queue = pushButton(tr("&Queue"), tr("Put the changed text in place of the queue"), this);
  m_drop = pushButton(tr("Drop chan&ges"), tr("Show the queue again, without the changes of the text"), this);
  m_clear = pushButton(tr("&Clear queue"), tr("Remove all actions from the queue"), this);
  for (QPushButton* one : {m_apply, m_queue, m_drop}) line->addWidget(one);
  line->addStretch(1);
  line->addWidget(m_clear);
  column->addWidget(m_message);
  column->addLayout(line);
  connect(m_apply, &QPushButton::clicked, this, [this] {
    m_clean ? run("apply", json::object(), tr("Applied; Ctrl+Z takes it back"))
            : run("inject", {{"actions", m_check.list}, {"now", true}, {"instead", true}},
                  tr("Applied; Ctrl+Z takes it back"));
  });
  connect(m_queue, &QPushButton::clicked, this, [this] {
    m_check.empty() ? run("clear_pending", json::object(), tr("The queue is empty"))
                    : run("inject", {{"actions", m_check.list}, {"instead", true}}, tr("Queued for the next tick"));
  });
  setOwn({m_drop});
  connect(m_drop, &QPushButton::clicked, this, &ComposeView::followQueue);
  runsCommand(m_clear, context(), "clear_pending");
  return box;
}

std::string ComposeView::takeDraft(const json& value) {
  if (!value.is_string() && !value.is_array()) return "give a list of actions or its text";
  if (value.is_array()) return setDraft(draftText(value)), std::string();
  const QString text = QString::fromStdString(value.get<std::string>());
  text.isEmpty() ? followQueue() : setDraft(text);
  return {};
}

json ComposeView::queue() const { return shown() ? listOf(shown()->pending) : json::array(); }

bool ComposeView::isQueue() const { return m_check.problem.isEmpty() && listOf(m_check.actions) == queue(); }

/// Shows the queue. Clears the editor's undo stack, because undo belongs to the session.
void ComposeView::followQueue() {
  const QString text = draftText(queue());
  if (text != m_read) m_editor->replaceText(text);
  else refresh();  // the text stays, its meaning has changed
  m_editor->document()->clearUndoRedoStacks();
}

void ComposeView::change(const json& list) {
  if (!m_clean) return m_editor->replaceText(draftText(list));
  if (list.empty()) return run("clear_pending", json::object(), tr("The queue is empty"));
  run("inject", {{"actions", list}, {"instead", true}}, tr("The queue has changed"));
}

void ComposeView::compose(const std::vector<Action>& actions) {
  if (m_clean) return run("inject", {{"actions", listOf(actions)}}, tr("Queued for the next tick"));
  if (!m_check.list.is_null() && !m_check.list.is_array())
    return say(tr("The text is not a list; drop the changes first"), Tone::Warning);
  if (m_check.offset) return say(tr("Correct the text first: %1").arg(m_check.problem), Tone::Warning);
  QString text = draft();
  for (const Action& action : actions) text = appended(text, action);
  m_editor->replaceText(text);
}

void ComposeView::move(int line, int by) {
  json list = m_check.list;
  if (!list.is_array() || line < 0 || line + by < 0 || at(std::max(line, line + by)) >= list.size()) return;
  std::swap(list[at(line)], list[at(line + by)]);
  m_list->choose(line + by);  // the line stays chosen where it goes
  change(list);
}

void ComposeView::remove(const std::vector<int>& lines) {
  json list = m_check.list;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (list.is_array() && *line >= 0 && at(*line) < list.size()) list.erase(at(*line));
  change(list);
}

/// Words are typed in the line; actions without words are edited in the text.
void ComposeView::edit(int line) {
  if (line < 0 || !shown()) return;
  QString text;
  if (at(line) < m_check.actions.size())
    for (TokenId id : tokensOf(m_check.actions[at(line)]))
      if (id.value() >= 0 && at(id.value()) < shown()->info->tokenTexts.size())
        text += QString::fromStdString(shown()->info->tokenTexts[at(id.value())]);
  if (text.isEmpty()) {
    if (at(line) >= m_check.spans.size()) return;
    QTextCursor cursor(m_editor->document());
    cursor.setPosition(m_check.spans[at(line)].begin);
    cursor.setPosition(m_check.spans[at(line)].begin + m_check.spans[at(line)].length, QTextCursor::KeepAnchor);
    m_editor->setTextCursor(cursor);
    return m_editor->setFocus();
  }
  const QRect place(m_list->mapTo(this, m_list->placeOf(line).topLeft()), m_list->placeOf(line).size());
  WordEdit::open(*this, place, text, tr("Words of action %1").arg(line),
                 [this, line](const QString& words) { takeWords(line, words); });
}

void ComposeView::takeWords(int line, const QString& words) {
  if (words.trimmed().isEmpty()) return say(tr("Type words, or remove the action with Del"), Tone::Warning);
  m_askWords.query("tokenise", {{"text", words.toStdString()}}, [this, line, list = m_check.list](const auto& reply) {
    if (!reply) return say(QString::fromStdString(reply.error().text()), Tone::Error);
    if (m_check.list != list) return say(tr("The list has changed since the words were typed"), Tone::Warning);
    std::vector<TokenId> ids;
    for (const json& id : *reply) ids.push_back(TokenId(jsonOr(id, -1)));
    std::vector<Action> actions = m_check.actions;
    const std::vector<Action> other = withTokens(actions[at(line)], ids);
    actions.erase(actions.begin() + line);
    actions.insert(actions.begin() + line, other.begin(), other.end());
    change(listOf(actions));
  });
}

void ComposeView::refresh() {
  const int line = m_list->current();
  m_read = draft();
  m_check = checkDraft(m_read);
  m_wrong = m_check.place;
  m_planSoon.stop();
  m_askPlan.forget();
  m_clean = isQueue();
  m_clean ? showQueue() : showText();
  m_list->choose(std::min(line, m_plan->rowCount() - 1));
  mark();
  buttons();
}

void ComposeView::showQueue() {
  const SnapshotPtr s = shown();
  m_plan->setList(m_check.list, s);
  if (m_check.actions.empty())
    return tell(tr("Choose rows in any view, type words and press a button; the plan comes before any change."),
                Tone::Faint);
  if (!s || !s->plan) return;
  if (s->plan->refused) return showError(*s->plan->refused);
  m_plan->setPlan(*s->plan);
  tell(m_plan->figures()->text(), Tone::Normal);
}

void ComposeView::showText() {
  m_plan->setList(m_check.list, shown());
  if (!m_check.problem.isEmpty()) return say(m_check.problem, Tone::Error);
  if (m_check.empty()) return say(tr("The text is empty; Queue would clear the queue"), Tone::Warning);
  if (!shown()) return;
  say(tr("planning…"), Tone::Faint);
  m_planSoon.start();
}

void ComposeView::askPlan() {
  if (!shown() || !m_check.ok()) return;
  m_askPlan.query("plan", {{"actions", m_check.list}, {"instead", true}}, [this](const Result<json>& reply) {
    planned(reply);
    buttons();
  });
}

void ComposeView::planned(const Result<json>& reply) {
  if (!reply) return showError(reply.error());
  if (!reply->is_object()) return say(tr("No plan was returned; see the log for the error"), Tone::Warning);
  m_wrong.reset();
  m_plan->setPlan(*reply);
  mark();
  say(tr("Not queued yet  ·  ") + m_plan->figures()->text(), Tone::Normal);
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
  m_editor->mark(wrong, spanOf(m_list->current()));
}

void ComposeView::say(const QString& text, Tone tone) {
  m_tone = tone;
  m_doneAt.reset();
  tint(m_message, toneColour(tone, *theme()));
  const QString sign = tone == Tone::Error ? QStringLiteral("✗ ")
      : tone == Tone::Warning              ? QStringLiteral("⚠ ")
      : tone == Tone::Ok                   ? QStringLiteral("✓ ")
                                           : QString();
  m_message->setText(sign + text);
}

void ComposeView::tell(const QString& text, Tone tone) {
  if (!m_doneAt) say(text, tone);
}

/// If the engine took the list, the text follows the queue again, even if the tick failed: the actions are queued then.
void ComposeView::run(const char* command, const json& args, const QString& done) {
  m_edit.run(QLatin1String(command), args, [this, done](const Result<json>& reply) {
    const std::optional<Error> refused = refusalOf(reply);
    if (reply) followQueue();
    if (refused) showError(*refused);
    else sayDone(done);
    buttons();
  });
  if (m_apply->hasFocus() || m_queue->hasFocus()) m_bar->setFocus();  // a button without use would lose the keyboard
  buttons();
}

/// With the effect of the queue, if it is not empty.
void ComposeView::sayDone(const QString& text) {
  const auto& figures = m_plan->figures();
  say(figures ? text + QStringLiteral("  ·  ") + figures->text() : text, Tone::Ok);
  if (!context().history().empty()) m_doneAt = context().history().back()->serial;
}

void ComposeView::buttons() {
  const bool pending = shown() && !shown()->pending.empty(), idle = !m_edit.waiting() && shown();
  const bool fine = m_check.ok() && !m_wrong && idle;
  setCommand(m_apply, m_clean ? "apply" : "inject");
  setCommand(m_queue, m_check.empty() ? "clear_pending" : "inject");
  m_apply->setEnabled(fine);
  m_queue->setEnabled(!m_clean && (fine || (m_check.empty() && idle)));
  m_drop->setEnabled(!m_clean);
  m_clear->setEnabled(pending);
  m_list->setEditable(idle && m_check.list.is_array());
  const QString count = counted(m_plan->rowCount(), tr("action"), tr("actions"));
  m_list->setTitle(!m_clean                      ? tr("Text: %1, not queued yet").arg(count)
                       : m_plan->rowCount() == 0 ? tr("Queue")
                                                 : tr("Queue: %1 for the next tick").arg(count));
}

void ComposeView::onSnapshot() {
  const SnapshotPtr snapshot = shown();
  setEmpty(snapshot ? QString() : tr("The queue of edits, and what they would do"), noSessionHow());
  m_bar->refresh();
  if (m_doneAt && (context().history().empty() || context().history().back()->serial != *m_doneAt)) m_doneAt.reset();
  m_clean && !isQueue() ? followQueue() : refresh();
}

/// A text that was not queued stays; a queue is that of its session.
void ComposeView::onSession() {
  m_doneAt.reset();
  m_clean ? followQueue() : refresh();
}

namespace {
bool applies(const QKeyEvent& key) {
  return (key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter) && key.modifiers() == Qt::ControlModifier;
}
}  // namespace

/// The key of the command that applies pending actions applies the list as well if the keyboard focus is here.
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
  tint(m_message, toneColour(m_tone, *theme()));
}

QString ComposeView::dump() const {
  QString text = QStringLiteral("compose: %1\n%2\n").arg(m_message->text(), draft());
  return m_plan->rowCount() ? text + m_list->table().tsv() : text;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(ComposeView)
