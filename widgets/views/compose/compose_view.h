// SPDX-License-Identifier: GPL-3.0-or-later
// Compose: write an action list by choosing rows or as JSON, see its plan, then queue or apply it. The JSON text is the
// draft; the bar above only appends to it. GUI thread.
#pragma once
#include <QSplitter>
#include <QTimer>

#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/compose/compose_bar.h"
#include "widgets/views/compose/json_editor.h"
#include "widgets/views/compose/plan_model.h"

namespace kvlab {

class ComposeView : public InspectorView {
  Q_OBJECT
 public:
  ComposeView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  bool ready() const override;
  void setDraft(const QString& text);
  QString draft() const { return m_editor->toPlainText(); }

 protected:
  void onSnapshot() override;
  void onFocus() override;
  void onTheme() override;
  void onSession() override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QWidget* makeEditor();
  QWidget* makePlan();
  QWidget* makePending();
  QWidget* makeFooter();
  QWidget* titled(const QString& title, QWidget* content, QWidget* parent);
  /// Sets the draft from the option's text or list. Returns what is allowed, or nothing.
  std::string takeDraft(const nlohmann::json& value);
  void compose(const std::vector<Action>& actions);
  void draftChanged();
  void askPlan();
  void planned(const Result<nlohmann::json>& reply);
  void showError(const Error& error);
  void mark();
  void say(const QString& text, Tone tone);
  void run(const char* command, const nlohmann::json& args);
  /// Says what a command did, until the session goes on.
  void sayDone(const QString& text);
  void removeSelected();
  void buttons();

  PlanModel *m_plan, *m_pendingModel;
  ComposeBar* m_bar = nullptr;
  JsonEditor* m_editor = nullptr;
  DataTable *m_table = nullptr, *m_pendingTable = nullptr;
  QSplitter* m_split = nullptr;
  QLabel *m_message = nullptr, *m_planTitle = nullptr, *m_pendingTitle = nullptr;
  QWidget *m_content = nullptr, *m_pending = nullptr;
  QPushButton *m_apply = nullptr, *m_queue = nullptr, *m_clear = nullptr, *m_clearPending = nullptr;
  QTimer m_planSoon;
  DraftCheck m_check;
  std::optional<int> m_wrong;  // index of the action that the engine refused
  Tone m_tone = Tone::Muted;
  std::optional<std::uint64_t> m_doneAt;  // serial of the snapshot that the message is about
  EngineAsk m_askPlan, m_edit;
};

}  // namespace kvlab
