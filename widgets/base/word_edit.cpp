// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/word_edit.h"

#include <QApplication>
#include <QKeyEvent>
#include <algorithm>
#include <utility>

#include "widgets/base/theme.h"

namespace kvlab {

WordEdit* WordEdit::open(QWidget& view, const QRect& place, const QString& text, const QString& name,
                         std::function<void(const QString&)> done) {
  constexpr int kLeast = 240, kTall = 28;
  auto* edit = new WordEdit(&view);
  edit->m_done = std::move(done);
  edit->m_before = QApplication::focusWidget();
  edit->setAttribute(Qt::WA_DeleteOnClose);
  edit->setObjectName("wordEdit");
  edit->setAccessibleName(name);
  edit->setPlaceholderText(name);
  edit->setToolTip(tr("%1: Return does it, Esc closes the line").arg(name));
  edit->setFont(Theme::current()->ui);
  edit->setText(text);
  const int wide =
      std::min(view.width(), std::max({kLeast, place.width(), edit->fontMetrics().horizontalAdvance(text) + 48}));
  edit->setGeometry(std::clamp(place.left() - Theme::kSmall, 0, view.width() - wide),
                    std::clamp(place.center().y() - kTall / 2, 0, std::max(0, view.height() - kTall)), wide, kTall);
  const QString inner = text.trimmed();
  edit->setSelection(static_cast<int>(text.indexOf(inner)), static_cast<int>(inner.size()));
  edit->show();
  edit->raise();
  edit->setFocus(Qt::PopupFocusReason);
  return edit;
}

/// No shortcut of the window takes a key from the line.
bool WordEdit::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) return event->accept(), true;
  return QLineEdit::event(event);
}

void WordEdit::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return end(false);
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return end(true);
  QLineEdit::keyPressEvent(event);
}

/// The line's own menu takes the keyboard only for a while.
void WordEdit::focusOutEvent(QFocusEvent* event) {
  QLineEdit::focusOutEvent(event);
  if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason)
    end(m_keeps && isModified() && !text().trimmed().isEmpty());
}

void WordEdit::end(bool take) {
  const auto done = std::exchange(m_done, nullptr);
  if (!done) return;
  const QString words = text();
  if (hasFocus() && m_before) m_before->setFocus(Qt::OtherFocusReason);
  close();
  if (take) done(words);
}

}  // namespace kvlab
