// SPDX-License-Identifier: GPL-3.0-or-later
// Console: evaluates lines of the script language, and shows the script lines of clicks in the window. GUI thread.
#pragma once
#include <QPlainTextEdit>
#include <deque>

#include "widgets/base/inspector_view.h"
#include "widgets/views/console/script_input.h"

namespace kvlab {

class ConsoleView : public InspectorView {
  Q_OBJECT
  /// Entered lines, oldest first; the window saves them between runs.
  Q_PROPERTY(QStringList history READ history WRITE setHistory)
 public:
  enum class Kind { Entered, Result, Failure, Click };
  static constexpr int kLimit = 10000;  // entries kept

  ConsoleView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  bool ready() const override { return InspectorView::ready() && m_running == 0; }
  QStringList history() const { return m_input->past().lines(); }
  void setHistory(const QStringList& lines) { m_input->past().setLines(lines); }
  /// Names that Tab completes.
  void setCompletions(const QStringList& names) { m_input->setCompletions(names); }
  void clear();

 protected:
  void onTheme() override;

 private:
  struct Entry {
    Kind kind;
    QString text;
  };
  void makeStrip();
  void makeBody();
  void enter(const QString& text);
  void add(Kind kind, const QString& text);
  void print(const Entry& entry);
  void reprint();
  void refresh();
  bool isShown(const Entry& entry) const;
  /// The shown entries, each as `said` puts it.
  QString lines(const std::function<QString(const Entry& entry)>& said) const;
  QString script() const;

  std::deque<Entry> m_entries;
  QPlainTextEdit* m_output = nullptr;
  ScriptInput* m_input = nullptr;
  QWidget* m_rule = nullptr;
  QLabel *m_prompt = nullptr, *m_count = nullptr;
  QToolButton *m_clicks = nullptr, *m_copy = nullptr, *m_clear = nullptr;
  int m_running = 0;
};

}  // namespace kvlab
