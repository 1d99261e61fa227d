// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/expression_edit.h"

#include <QAbstractItemView>
#include <QEvent>
#include <QLineEdit>
#include <QStandardItemModel>

#include "core/api/read_json.h"

namespace kvlab {
namespace {

QString textOf(const nlohmann::json& fact, const char* field) {
  return QString::fromStdString(memberOr(fact, field, std::string()));
}

}  // namespace

ExpressionEdit::ExpressionEdit(InspectorContext& context, QLineEdit& line)
    : QCompleter(&line), m_context(context), m_line(line), m_words(new QStandardItemModel(this)) {
  setModel(m_words);
  setWidget(&line);
  setCompletionMode(QCompleter::PopupCompletion);
  setCaseSensitivity(Qt::CaseInsensitive);
  setMaxVisibleItems(9);
  line.installEventFilter(this);
  connect(&line, &QLineEdit::textEdited, this, &ExpressionEdit::suggest);
  connect(this, qOverload<const QString&>(&QCompleter::activated), this, &ExpressionEdit::take);
}

bool ExpressionEdit::eventFilter(QObject* watched, QEvent* event) {
  if (watched == &m_line && event->type() == QEvent::FocusIn) ask();
  return QCompleter::eventFilter(watched, event);
}

void ExpressionEdit::ask() {
  if (!m_context.snapshot() || m_session == m_context.sessionNumber() + 1) return;
  m_session = m_context.sessionNumber() + 1;
  m_context.query("facts", "table", tableArgs("facts"), this, [this](const Result<nlohmann::json>& reply) {
    if (reply) fill(recordsOf(*reply));
  });
}

void ExpressionEdit::fill(const nlohmann::json& facts) {
  m_words->clear();
  for (const nlohmann::json& fact : facts) {
    auto* word = new QStandardItem(textOf(fact, "name"));
    const QString keys = textOf(fact, "keys");
    word->setToolTip(textOf(fact, "help") + (keys.isEmpty() ? QString() : tr("\nTakes: %1").arg(keys)));
    m_words->appendRow(word);
  }
  for (const char* word : {"and", "or", "not", "before(", "changed("}) m_words->appendRow(new QStandardItem(word));
  m_words->sort(0);
}

int ExpressionEdit::wordBegin() const {
  int begin = m_line.cursorPosition();
  const QString text = m_line.text();
  while (begin > 0 && (text[begin - 1].isLetter() || text[begin - 1] == u'_')) --begin;
  return begin;
}

void ExpressionEdit::suggest() {
  const QString word = m_line.text().mid(wordBegin(), m_line.cursorPosition() - wordBegin());
  setCompletionPrefix(word);
  const bool whole = completionCount() == 1 && currentCompletion() == word;
  if (word.isEmpty() || completionCount() == 0 || whole) return popup()->hide();
  complete();
}

void ExpressionEdit::take(const QString& word) {
  const int begin = wordBegin(), end = m_line.cursorPosition();
  m_line.setText(m_line.text().left(begin) + word + m_line.text().mid(end));
  m_line.setCursorPosition(begin + static_cast<int>(word.size()));
}

}  // namespace kvlab
