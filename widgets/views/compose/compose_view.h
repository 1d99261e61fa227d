// SPDX-License-Identifier: GPL-3.0-or-later
// Compose: the queue of actions, in words and with its plan. The text below is the same list as JSON. While a person
// has not changed the text, it follows the queue, and every change of the list is a change of the queue. A changed text
// is planned, but queued or applied only on request. GUI thread.
#pragma once
#include <QSplitter>
#include <QTimer>

#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/views/compose/compose_bar.h"
#include "widgets/views/compose/json_editor.h"
#include "widgets/views/compose/plan_model.h"
#include "widgets/views/compose/queue_list.h"

namespace kvlab {

class ComposeView : public InspectorView {
  Q_OBJECT
 public:
  ComposeView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return m_plan->rowCount() ? m_list->table().tsv() : QString(); }
  bool ready() const override { return InspectorView::ready() && !m_planSoon.isActive(); }
  void setDraft(const QString& text) { m_editor->replaceText(text); }
  QString draft() const { return m_editor->toPlainText(); }

 protected:
  void onSnapshot() override;
  void onFocus() override { m_bar->refresh(); }
  void onTheme() override;
  void onSession() override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QWidget* makeEditor();
  QWidget* makeFooter();
  void makeList();
  /// Sets the text from the option's text or list. Returns the allowed values, or nothing.
  std::string takeDraft(const nlohmann::json& value);
  /// The queue of the shown snapshot.
  nlohmann::json queue() const;
  /// True if the text equals the queue.
  bool isQueue() const;
  void followQueue();
  /// Takes another list in place of the old one: as the queue, or while the text is changed, as the text.
  void change(const nlohmann::json& list);
  void compose(const std::vector<Action>& actions);
  void move(int line, int by);
  void remove(const std::vector<int>& lines);
  void edit(int line);
  void takeWords(int line, const QString& words);
  void refresh();
  void showQueue();
  void showText();
  void askPlan();
  void planned(const Result<nlohmann::json>& reply);
  void showError(const Error& error);
  void mark();
  void say(const QString& text, Tone tone);
  /// Says it unless the message of a command still stands.
  void tell(const QString& text, Tone tone);
  void run(const char* command, const nlohmann::json& args, const QString& done);
  /// Shows the effect of a command, until the session goes on.
  void sayDone(const QString& text);
  void buttons();

  PlanModel* m_plan;
  ComposeBar* m_bar = nullptr;
  JsonEditor* m_editor = nullptr;
  QueueList* m_list = nullptr;
  QSplitter* m_split = nullptr;
  QLabel* m_message = nullptr;
  QWidget* m_content = nullptr;
  QPushButton *m_apply = nullptr, *m_queue = nullptr, *m_drop = nullptr, *m_clear = nullptr;
  QTimer m_planSoon;
  DraftCheck m_check;
  QString m_read;              // the text when last looked at
  bool m_clean = true;         // isQueue() when last looked at
  std::optional<int> m_wrong;  // index of the action that the engine refused
  Tone m_tone = Tone::Muted;
  std::optional<std::uint64_t> m_doneAt;  // serial of the snapshot that the message is about
  EngineAsk m_askPlan, m_askWords, m_edit;
};

}  // namespace kvlab
