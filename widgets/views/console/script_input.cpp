// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/console/script_input.h"

#include <QAbstractItemView>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTextBlock>

#include "widgets/base/theme.h"

namespace kvlab {
namespace {
constexpr int kPromptRoom = 26;  // room for the prompt sign at the left
constexpr int kMostLines = 8;    // height at which the entry starts to scroll
}  // namespace

ScriptInput::ScriptInput(QWidget* parent)
    : QPlainTextEdit(parent), m_names(new QStringListModel(this)), m_completer(new QCompleter(m_names, this)) {
  setAccessibleName(tr("Script line"));
  setToolTip(tr("Return runs, Shift+Return starts a new line, Up and Down browse, Tab completes"));
  setPlaceholderText(tr("s.step() — Tab completes, Up recalls"));
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFrameShape(QFrame::NoFrame);
  setViewportMargins(kPromptRoom, 3, 0, 0);
  setFont(Theme::current()->mono);
  m_completer->setWidget(this);
  m_completer->setCaseSensitivity(Qt::CaseSensitive);
  m_completer->setMaxVisibleItems(12);
  m_completer->popup()->setFont(Theme::current()->mono);
  m_completer->popup()->setAccessibleName(tr("Completions"));
  connect(m_completer, qOverload<const QString&>(&QCompleter::activated), this, &ScriptInput::complete);
  connect(this, &QPlainTextEdit::textChanged, this, &ScriptInput::grow);
  grow();
}

void ScriptInput::setCompletions(const QStringList& names) {
  QStringList sorted = names;
  sorted.removeDuplicates();
  sorted.sort();
  m_names->setStringList(sorted);
}

void ScriptInput::grow() {
  const int lines = std::clamp(blockCount(), 1, kMostLines);
  setFixedHeight(lines * fontMetrics().lineSpacing() + 16);
}

void ScriptInput::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  ensureCursorVisible();
}

QString ScriptInput::word() const {
  const QTextCursor cursor = textCursor();
  const QString before = cursor.block().text().left(cursor.positionInBlock());
  static const QRegularExpression kName(QStringLiteral("[A-Za-z_][\\w.]*$"));
  return kName.match(before).captured();
}

void ScriptInput::complete(const QString& name) {
  QTextCursor cursor = textCursor();
  cursor.movePosition(QTextCursor::Left, QTextCursor::KeepAnchor, static_cast<int>(word().size()));
  cursor.insertText(name);
  setTextCursor(cursor);
  m_completer->popup()->hide();
}

void ScriptInput::suggest(bool asked) {
  const QString typed = word();
  m_completer->setCompletionPrefix(typed);
  const int found = m_completer->completionCount();
  const bool done = found == 1 && m_completer->currentCompletion() == typed;
  if (found == 0 || done || (!asked && typed.size() < 2)) return m_completer->popup()->hide();
  if (asked && found == 1) return complete(m_completer->currentCompletion());
  QRect at = cursorRect().translated(kPromptRoom, 0);
  at.setWidth(m_completer->popup()->sizeHintForColumn(0) + 40);
  m_completer->complete(at);
  if (asked) m_completer->popup()->setCurrentIndex(m_completer->completionModel()->index(0, 0));
}

bool ScriptInput::completionKey(const QKeyEvent& event) {
  const bool open = m_completer->popup()->isVisible();
  const bool picked = open && m_completer->popup()->currentIndex().isValid();
  switch (event.key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (!picked) return false;
      complete(m_completer->popup()->currentIndex().data().toString());
      return true;
    case Qt::Key_Tab:
      if (picked) complete(m_completer->popup()->currentIndex().data().toString());
      else if (word().isEmpty()) return false;
      else suggest(true);
      return true;
    default: return false;
  }
}

void ScriptInput::replaceAll(const QString& text) {
  selectAll();
  insertPlainText(text);
  moveCursor(QTextCursor::End);
}

bool ScriptInput::browse(const QKeyEvent& event) {
  if (event.modifiers() & ~Qt::KeypadModifier) return false;
  const int line = textCursor().blockNumber();
  if (event.key() == Qt::Key_Up && line == 0) replaceAll(m_past.older(toPlainText()));
  else if (event.key() == Qt::Key_Down && line == blockCount() - 1) replaceAll(m_past.newer(toPlainText()));
  else return false;
  return true;
}

void ScriptInput::run() {
  const QString text = toPlainText();
  m_completer->popup()->hide();
  if (text.trimmed().isEmpty()) return;
  m_past.add(text);
  clear();
  emit entered(text);
}

void ScriptInput::keyPressEvent(QKeyEvent* event) {
  if (completionKey(*event) || browse(*event)) return;
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && !(event->modifiers() & Qt::ShiftModifier)) return run();
  if (event->key() == Qt::Key_Tab || event->key() == Qt::Key_Backtab) {
    focusNextPrevChild(event->key() == Qt::Key_Tab);
    return;
  }
  QPlainTextEdit::keyPressEvent(event);
  if (!event->text().isEmpty()) suggest(false);
}

}  // namespace kvlab
