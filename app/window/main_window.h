// SPDX-License-Identifier: GPL-3.0-or-later
// The main window: views in docks, commands in menus, one context. Everything it does is a command or a call of the
// script language. Reaches sessions only through the context. Made by main, with and without a display. GUI thread.
#pragma once
#include <QMainWindow>
#include <QTimer>
#include <memory>

#include "app/commands/command_registry.h"
#include "app/engine/engine.h"
#include "app/engine/recovery_store.h"
#include "app/forms/memory_line.h"
#include "app/help/manual_window.h"
#include "app/help/tour.h"
#include "app/jobs/sweep_job.h"
#include "app/script/script_host.h"
#include "app/window/banner.h"
#include "app/window/find_bar.h"
#include "app/window/prompt_line.h"
#include "app/window/status_strip.h"
#include "app/window/window_views.h"

namespace kvlab {

struct WindowSettings {
  EngineFactory engines;
  Schema schema;
  nlohmann::json manifest = nlohmann::json::object();  // command line's manifest: defaults of new sessions
  bool headless = false;  // no user: nothing is asked, no layout is saved, captions continue at once
  QString theme = "dark";
  QString backendNote = {};
  MemoryAsk memory = {};  // memory that a session of a manifest takes
  QString recovery = {};  // folder for sessions that come back after a crash; empty = nothing is kept
};

class MainWindow : public QMainWindow, public CommandHost {
  Q_OBJECT
 public:
  explicit MainWindow(WindowSettings settings);
  ~MainWindow() override;

  const CommandRegistry& commands() const { return m_commands; }
  Banner& banner() { return *m_banner; }
  StatusStrip& status() { return *m_status; }
  Palette& commandPalette() { return *m_palette; }
  FindBar& findBar() { return *m_find; }
  DockSet& docks() const { return m_views->docks(); }
  bool scriptRunning() const;
  /// Null before the manual is opened.
  ManualWindow* manual() { return m_manual; }
  /// Asks whether to restore the session that a window has left without a word, if there is one.
  void offerLeftSession();

  // WindowPort
  WindowViews& views() const override { return *m_views; }
  SweepJob& sweeps() const override { return *m_sweep; }
  void openSession(const nlohmann::json& request, Opened opened) override;
  Status setTheme(const QString& name) override;
  Status setSize(QSize size) override;
  Status runCommand(const QString& id, const nlohmann::json& args) override;
  bool interactive() const override { return !m_settings.headless; }
  void caption(const QString& text, std::function<void()> resume) override;

  // CommandHost
  LiveContext& context() override { return m_context; }
  const LiveContext& context() const override { return m_context; }
  Status askPath(const PathQuestion& question, std::function<void(QString)> answer) override;
  Status open(WindowPanel panel, const nlohmann::json& args = {}) override;
  QString theme() const override { return m_settings.theme; }
  void beforeOpening(const QString& what, std::function<void()> open) override;
  Status runScriptFile(const QString& path) override;
  Status runTour(int caption) override;
  int tourLeft() const override { return m_tour.left(); }
  void chatMode(std::optional<bool> on) override;
  void quit() override { close(); }

 protected:
  /// Tab order follows the layout: the prompt, the views, the status bar.
  bool focusNextPrevChild(bool next) override;
  bool event(QEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void buildCentre();
  void buildActions();
  void buildToolBar();
  void connectContext();
  void refreshActions();
  /// An entry that cannot apply is grey, and its tip says why.
  void refreshAction(const Command& command);
  QString tipOf(const Command& command) const;
  /// The text of the prompt field goes to its command.
  void sendPrompt();
  /// Undo and redo name the edits that they go over.
  void nameUndo();
  void refreshIcons();
  void refreshRecent(QMenu* menu);
  void remember(const nlohmann::json& request);
  /// The session that was opened reads its starting text.
  void begin(const nlohmann::json& request, const QString& text);
  /// The shown session in words, if something was done in it.
  QString sessionThatEnds() const;
  /// Asks for a file, and runs `then` when the capture is there.
  void saveCaptureThen(std::function<void()> then);
  void offerTour();
  /// Handles the end of a script file: an error is shown, and the tour may begin anew.
  void scriptEnded(const QString& path, const ScriptResult& result);
  void evaluate(const QString& line, LiveContext::Evaluated reply);
  void stopScript();
  /// Runs `script` as a job; `brief` ones leave the list.
  ScriptResult runJob(ScriptHost& host, const QString& name, const QString& on, bool brief,
                      const std::function<ScriptResult()>& script);
  int beginOpening(const nlohmann::json& request, const std::weak_ptr<LiveSession>& session);
  /// Asks once whether to close while jobs work or while work is in no file; true if the window may close.
  bool mayClose();
  void closeNow();
  /// The jobs that would end with the session, in words.
  QStringList jobsThatEnd(bool besides);
  /// The shown session has work that is in no file of the person's.
  bool hasWork();
  /// The shown session comes back after a crash.
  void keepRecovery();
  void followWork();
  void noteWork();
  void noteRecovery();
  nlohmann::json recoveryNote() const;
  void restoreLeftSession();
  void restoreWindow(const nlohmann::json& window);
  /// Questions of the banner.
  inline static const QString kClosing = QStringLiteral("closing"), kOpening = QStringLiteral("opening"),
                              kLosing = QStringLiteral("losing"), kRestoring = QStringLiteral("restoring");
  std::unique_ptr<ScriptHost> makeScript();
  void showNewSession(const nlohmann::json& manifest);
  void showLaneForm();
  void showSweepForm(const nlohmann::json& spec);
  void showSettings();
  void showAbout();
  void showCheck();
  Status showClinic();
  /// The script of the opened case of the clinic.
  static QString clinicPath();
  Status showManual(const QString& page);
  void showEdits(const QString& verb);
  void showViewMenu(const QString& id, const QPoint& at);
  QString manualPageHere() const;

  WindowSettings m_settings;
  LiveContext m_context;
  std::unique_ptr<SweepJob> m_sweep = std::make_unique<SweepJob>(m_context);
  std::unique_ptr<WindowViews> m_views;
  CommandRegistry m_commands;
  QHash<QString, QAction*> m_actions;
  Banner* m_banner = nullptr;
  StatusStrip* m_status = nullptr;
  Palette* m_palette = nullptr;
  FindBar* m_find = nullptr;
  ManualWindow* m_manual = nullptr;
  PromptLine* m_prompt = nullptr;
  TourPlace m_tour;
  bool m_chat = false;     // the prompt field sends messages
  bool m_closing = false;  // the person has answered
  bool m_reading = false;  // the session reads the text that it begins with
  QTimer m_noteSoon;
  RecoveryStore m_recovery;
  std::optional<LeftSession> m_left;       // until the person has answered
  std::weak_ptr<LiveSession> m_recovered;  // the session that m_recovery follows
  nlohmann::json m_noted;                  // note that was written last
  std::unique_ptr<ScriptHost> m_console, m_script;
  QStringList m_scriptLog;
  int m_scriptJob = 0;                                 // job of the running script
  std::vector<LiveContext::LiveSessionPtr> m_opening;  // until they are shown or refused
};

}  // namespace kvlab
