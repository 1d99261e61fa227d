// SPDX-License-Identifier: GPL-3.0-or-later
// The console's entry: grows with its lines, browses earlier lines, completes names. Return runs, Shift+Return starts a
// new line, Up and Down browse from the first and the last line, Tab completes. GUI thread.
#pragma once
#include <QCompleter>
#include <QPlainTextEdit>
#include <QStringListModel>

#include "widgets/base/line_history.h"

namespace kvlab {

class ScriptInput : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit ScriptInput(QWidget* parent);
  void setCompletions(const QStringList& names);
  LineHistory& past() { return m_past; }
  QCompleter* completer() const { return m_completer; }
  /// Runs the typed text, like Return.
  void run();

 signals:
  void entered(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  bool completionKey(const QKeyEvent& event);
  bool browse(const QKeyEvent& event);
  void complete(const QString& name);
  void suggest(bool asked);
  void grow();
  /// The dotted name before the cursor.
  QString word() const;
  void replaceAll(const QString& text);

  QStringListModel* m_names;
  QCompleter* m_completer;
  LineHistory m_past;
};

}  // namespace kvlab
