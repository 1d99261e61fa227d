// SPDX-License-Identifier: GPL-3.0-or-later
// A line over a view to type in: Return gives its text, Esc or a click elsewhere closes it, unless it keeps its text.
// GUI thread.
#pragma once
#include <QLineEdit>
#include <QPointer>
#include <functional>

namespace kvlab {

class WordEdit : public QLineEdit {
  Q_OBJECT
 public:
  /// Opens a line at a place of `view`, as near as it fits. Blanks at the ends of `text` stay outside the selected
  /// part, so that typing keeps them. The keyboard goes back to where it was.
  static WordEdit* open(QWidget& view, const QRect& place, const QString& text, const QString& name,
                        std::function<void(const QString&)> done);
  /// Words that were typed are taken where the keyboard goes elsewhere, too.
  void keepText() { m_keeps = true; }

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  explicit WordEdit(QWidget* view) : QLineEdit(view) {}
  void end(bool take);

  std::function<void(const QString&)> m_done;
  QPointer<QWidget> m_before;  // had the keyboard
  bool m_keeps = false;
};

}  // namespace kvlab
