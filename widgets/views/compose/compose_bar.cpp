// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/compose_bar.h"
#include "core/api/read_json.h"
#include "widgets/base/button_use.h"

#include <QGridLayout>
#include <QGuiApplication>
#include <QRegularExpression>
#include <algorithm>

#include "widgets/base/elided_label.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/theme.h"
#include "widgets/base/tokens.h"

namespace kvlab {
namespace {
struct EditText {
  const char *text, *tip;
  bool words;  // needs replacement words
};
constexpr EditText kTexts[kEditVerbs] = {
    {"Replace &pair", "Queue: replace two rows (the two selected rows, or the focused row and the next) by the words",
     true},
    {"Rep&lace", "Queue: replace the rows by the words, at the position of the first row", true},
    {"&Insert before", "Queue: insert the words before the first of the rows", true},
    {"Add at e&nd", "Queue: append the words to the context, one add per token", true},
    {"&Delete", "Queue: delete the rows from the context", false},
    {"Evic&t", "Queue: evict the rows from the focused layer; their tokens stay in the context", false}};

bool needsWords(EditVerb verb) { return kTexts[static_cast<std::size_t>(verb)].words; }

/// "#12 #7" names vocabulary entries directly.
std::optional<std::vector<TokenId>> idsIn(const QString& words) {
  static const QRegularExpression kIds(QStringLiteral("^\\s*(#\\d+\\s*)+$"));
  if (!kIds.match(words).hasMatch()) return {};
  std::vector<TokenId> ids;
  for (const QString& part : words.split(QLatin1Char('#'), Qt::SkipEmptyParts))
    if (!part.trimmed().isEmpty()) ids.push_back(TokenId(part.trimmed().toInt()));
  return ids;
}
}  // namespace

ComposeBar::ComposeBar(InspectorContext& context, InspectorView* view)
    : QWidget(view),
      m_context(context),
      m_rows(new ElidedLabel(this)),
      m_tokens(new ElidedLabel(this)),
      m_words(new QLineEdit(this)),
      m_ask(context, view, "compose.tokenise") {
  m_words->setPlaceholderText(tr("Replacement words, or token ids as #12 #7"));
  m_words->setAccessibleName(tr("Replacement words"));
  m_words->setToolTip(tr("Words to insert; the model's tokeniser splits them into tokens"));
  m_rows->setAccessibleName(tr("Rows"));
  for (QLabel* one : {m_rows, m_tokens}) one->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  setFocusProxy(m_words);
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(Theme::kMedium, Theme::kMedium, Theme::kMedium, Theme::kMedium);
  grid->setSpacing(Theme::kSmall);
  grid->setColumnStretch(1, 1);
  grid->addWidget(new QLabel(tr("Rows"), this), 0, 0);
  grid->addWidget(m_rows, 0, 1);
  auto* words = new QLabel(tr("&Words"), this);
  words->setBuddy(m_words);
  grid->addWidget(words, 1, 0);
  grid->addWidget(m_words, 1, 1);
  grid->addWidget(m_tokens, 2, 1);
  makeButtons();
  connect(&context, &InspectorContext::selectionChanged, this, &ComposeBar::refresh);
  connect(m_words, &QLineEdit::textChanged, this, &ComposeBar::wordsChanged);
  connect(m_words, &QLineEdit::returnPressed, this, [this] {
    if (QGuiApplication::keyboardModifiers() & Qt::ControlModifier) return;  // the view's key for Apply
    build(m_context.chosenRows().size() == 2 ? EditVerb::ReplacePair : EditVerb::Replace);
  });
  refresh();
}

void ComposeBar::makeButtons() {
  auto* line = new StripLayout;
  line->setSpacing(Theme::kSmall);
  for (int i = 0; i < kEditVerbs; ++i) {
    m_verbs[i] = pushButton(tr(kTexts[i].text), tr(kTexts[i].tip), this);
    setCommand(m_verbs[i], "inject");
    connect(m_verbs[i], &QPushButton::clicked, this, [this, i] { build(static_cast<EditVerb>(i)); });
    m_verbs[i]->setMaximumWidth(m_verbs[i]->fontMetrics().horizontalAdvance(m_verbs[i]->accessibleName()) +
                                18);  // six per line of a dock
    line->addWidget(m_verbs[i]);
  }
  static_cast<QGridLayout*>(layout())->addLayout(line, 3, 0, 1, 2);
}

void ComposeBar::refresh() {
  const SnapshotPtr snapshot = m_context.snapshot();
  const std::vector<Position> list = m_context.chosenRows();
  std::vector<std::int64_t> numbers;
  QString texts;
  for (Position position : list) {
    numbers.push_back(position.value());
    texts += textAt(*snapshot, position);
  }
  const QString what = m_context.selection().empty() ? tr("focus") : tr("selected");
  m_rows->setFont(Theme::current()->mono);
  m_rows->setText(list.empty() ? tr("none: click a row in any view")
                               : QStringLiteral("%1 %2  “%3”").arg(what, ranges(numbers), texts));
  enable();
  showTokens();
}

/// A button whose words are missing is disabled; its tip names the missing words.
void ComposeBar::enable() {
  const bool rows = !m_context.chosenRows().empty(), words = !m_words->text().trimmed().isEmpty();
  for (int i = 0; i < kEditVerbs; ++i) {
    const auto verb = static_cast<EditVerb>(i);
    m_verbs[i]->setEnabled(m_context.snapshot() && (rows || verb == EditVerb::Append) && (words || !needsWords(verb)));
  }
}

void ComposeBar::showTokens() {
  m_tokens->setFont(Theme::current()->monoSmall);
  const SnapshotPtr snapshot = m_context.snapshot();
  QStringList texts;
  if (snapshot && m_idsOf == m_words->text())
    for (TokenId id : m_ids) texts << QStringLiteral("%1 #%2").arg(textOf(*snapshot, id)).arg(id.value());
  m_tokens->setFixedHeight(m_tokens->fontMetrics().height());  // its line is kept: the buttons below do not move
  m_tokens->setText(texts.join(QStringLiteral("  ")));
  m_tokens->setToolTip(tr("Tokens of the words"));
}

void ComposeBar::wordsChanged() {
  enable();
  const QString words = m_words->text();
  if (const auto ids = idsIn(words); ids || words.trimmed().isEmpty()) {
    m_ids = ids.value_or(std::vector<TokenId>());
    m_idsOf = words;
    m_ask.forget();
    return showTokens();
  }
  m_ask.query("tokenise", {{"text", words.toStdString()}}, [this, words](const Result<nlohmann::json>& reply) {
    m_ids.clear();
    m_idsOf = words;
    if (!reply) emit refused(QString::fromStdString(reply.error().text()));
    else if (reply->is_array())
      for (const nlohmann::json& id : *reply) m_ids.push_back(TokenId(jsonOr(id, -1)));
    showTokens();
    if (auto then = std::exchange(m_then, nullptr)) then();
  });
  showTokens();
}

void ComposeBar::withTokens(std::function<void()> then) {
  if (!m_ask.waiting() && m_idsOf == m_words->text()) return then();
  m_then = std::move(then);
}

QString ComposeBar::problem(EditVerb verb, const std::vector<Position>& list) const {
  if (needsWords(verb) && m_words->text().trimmed().isEmpty()) return tr("Type the words to write first");
  if (needsWords(verb) && m_ids.empty()) return tr("The words have no tokens; type other words");
  if (verb != EditVerb::Append && list.empty()) return tr("Click a row in the map, the text or the mirror first");
  if (verb == EditVerb::ReplacePair && list.size() != 2)
    return tr("A pair needs two rows: select two rows, or focus a row that another row follows");
  return {};
}

std::vector<Action> ComposeBar::actionsFor(EditVerb verb, const std::vector<Position>& list) const {
  const SnapshotPtr snapshot = m_context.snapshot();
  std::vector<Action> actions;
  std::vector<LedgerId> ledger;
  switch (verb) {
    case EditVerb::ReplacePair: return {ReplacePair{list[0], list[1], m_ids}};
    case EditVerb::Replace: return {Replace{list, m_ids}};
    case EditVerb::InsertBefore: return {Insert{list[0], m_ids}};
    case EditVerb::Append:
      for (TokenId id : m_ids) actions.push_back(Add{id});
      return actions;
    case EditVerb::Delete:
      for (Position position : list) actions.push_back(Delete{position});
      return actions;
    case EditVerb::Evict:
      for (Position position : list) ledger.push_back(snapshot->context[at(position.value())]);
      return {Evict{snapshot->info->cacheLayers.layerOf(m_context.focus().layer),
                    snapshot->info->cacheLayers.headOf(m_context.focus().layer), ledger}};
  }
  return actions;
}

void ComposeBar::build(EditVerb verb) {
  withTokens([this, verb] {
    std::vector<Position> list = m_context.chosenRows();
    const SnapshotPtr snapshot = m_context.snapshot();
    if (verb == EditVerb::ReplacePair && list.size() == 1 && list[0].value() + 1 < snapshot->length())
      list.push_back(Position(list[0].value() + 1));
    if (const QString why = problem(verb, list); !why.isEmpty()) {
      if (needsWords(verb) && m_ids.empty()) m_words->setFocus();
      return emit refused(why);
    }
    emit composed(actionsFor(verb, list));
    m_context.select({});
    m_words->setText({});  // clear() could be undone, and Ctrl+Z would not reach the session
    refresh();
  });
}

}  // namespace kvlab
