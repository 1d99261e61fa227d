// SPDX-License-Identifier: GPL-3.0-or-later
// The main window: views in docks, commands in menus, one context. Everything it does is a command or a call of the
// script language. Reaches sessions only through the context. Made by main, with and without a display. GUI thread.
#pragma once
#include <QMainWindow>
#include <QTimer>
#include <memory>

#include "app/commands/command_registry.h"
#include "app/engine/engine_factory.h"
#include "app/engine/recovery_store.h"
#include "app/forms/memory_line.h"
#include "app/help/manual_window.h"
#include "app/help/tour_place.h"
#include "app/jobs/sweep_job.h"
#include "app/script/script_host.h"
#include "app/window/banner.h"
#include "app/window/dock_set.h"
#include "app/window/find_bar.h"
#include "app/window/palette.h"
#include "app/window/person_input.h"
#include "app/window/prompt_line.h"
#include "app/window/row_tools.h"
#include "app/window/status_strip.h"

namespace kvlab {

struct WindowSettings {
  EngineFactory engines;
  Schema schema;
  nlohmann::json manifest = nlohmann::json::object();  // command line's manifest: defaults of new sessions
  bool headless = false;  // no user: nothing is asked, no layout is saved, captions continue at once
  QString theme = "dark";
  QString backendNote = {};
  QString version = {};
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
  DockSet& docks() { return *m_docks; }
  bool scriptRunning() const;
  /// Null before the manual is opened.
  ManualWindow* manual() { return m_manual; }
  /// Asks whether to restore the session that a window has left without a word, if there is one.
  void offerLeftSession();

  // WindowPort
  void openSession(const nlohmann::json& request, Opened opened) override;
  SessionPtr session() const override { return m_context.session(); }
  void showSession(const SessionPtr& session) override;
  void closeSession(const SessionPtr& session) override;
  Status showView(const QString& id) override;
  Status setFocus(const nlohmann::json& focus) override;
  Status setOptions(const QString& id, const nlohmann::json& options) override;
  Status setTheme(const QString& name) override;
  void freezeClock() override { m_context.freezeClock(); }
  bool clockFrozen() const override { return m_context.clockFrozen(); }
  Status setSize(QSize size) override;
  Result<bool> readyFor(const PictureRequest& request) override;
  Result<QImage> picture(const PictureRequest& request) override;
  Result<QString> dump(const QString& what) override;
  Status bringUp(const QString& id) override;
  Status mouse(const QString& id, const MouseAct& act) override;
  Status keys(const QString& id, const QKeySequence& keys) override;
  Status type(const QString& id, const QString& text) override;
  void whenAnswered(std::function<void()> then) override;
  Status runCommand(const QString& id, const nlohmann::json& args) override;
  std::vector<std::string> viewIds() const override;
  bool interactive() const override { return !m_settings.headless; }
  void sweep(const nlohmann::json& request, SweepReply reply) override;
  void cancelSweep() override;
  Status openSweep(const QString& path) override;
  void caption(const QString& text, std::function<void()> resume) override;

  // CommandHost
  LiveContext& context() override { return m_context; }
  const LiveContext& context() const override { return m_context; }
  Status askPath(const PathQuestion& question, std::function<void(QString)> answer) override;
  QString theme() const override { return m_settings.theme; }
  void resetLayout() override;
  void arrangeViews(const TaskLayout& layout) override;
  void showRowTools(std::optional<bool> on) override;
  QString viewWithKeyboard() const override { return m_docks->visible(m_keyboardView) ? m_keyboardView : QString(); }
  bool sweeping() const override { return m_sweep.running(); }
  Status closeView(const QString& id) override;
  Status floatView(const QString& id) override;
  void showNeighbour(bool forward) override { m_docks->showNeighbour(forward); }
  void showPalette() override { m_palette->open(); }
  void showFind() override { m_find->open(); }
  FocusTrail& trail() override { return *m_trail; }
  const FocusTrail& trail() const override { return *m_trail; }
  void beforeOpening(const QString& what, std::function<void()> open) override;
  void showNewSession(const nlohmann::json& manifest) override;
  Result<nlohmann::json> options(const QString& view) const override;
  void showLaneForm() override;
  void showSweepForm(const nlohmann::json& spec) override;
  Result<nlohmann::json> sweepCell(std::int64_t cell) const override;
  void showSettings() override;
  void showCommandHelp() override;
  void showAbout() override;
  Status showClinic() override;
  void showCheck() override;
  Status showManual(const QString& page) override;
  Status runScriptFile(const QString& path) override;
  Status runTour(bool resume) override;
  int tourLeft() const override { return m_tour.left(); }
  Status copySelection() override;
  QString sessionScript() const override;
  Status showEdits(const char* verb) override;
  Status typePrompt() override;
  Status chatMode(std::optional<bool> on) override;
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
  void buildRowTools();
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
  Status beginTour(int caption);
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
  QStringList jobsThatEnd(bool besides) const;
  /// The shown session has work that is in no file of the person's.
  bool hasWork() const;
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
  ScriptSettings scriptSettings();
  std::unique_ptr<ScriptHost> makeScript();
  /// A view, or "window": this.
  Result<QWidget*> widgetOf(const QString& id);
  Error unknownView(const QString& id) const;
  /// The view that is named, else the one with the keyboard.
  Result<QString> viewFor(const QString& id, const char* refused) const;
  void sayViewCommand(const char* command, const QString& view);
  void showViewMenu(const QString& id, const QPoint& at);
  QString manualPageHere() const;

  WindowSettings m_settings;
  LiveContext m_context;
  SweepJob m_sweep{m_context};
  CommandRegistry m_commands;
  QHash<QString, QAction*> m_actions;
  DockSet* m_docks = nullptr;
  Banner* m_banner = nullptr;
  StatusStrip* m_status = nullptr;
  Palette* m_palette = nullptr;
  FindBar* m_find = nullptr;
  FocusTrail* m_trail = nullptr;
  ManualWindow* m_manual = nullptr;
  PromptLine* m_prompt = nullptr;
  RowTools* m_rowTools = nullptr;
  PersonInput m_person;
  TourPlace m_tour;
  bool m_chat = false;     // the prompt field sends messages
  bool m_closing = false;  // the person has answered
  bool m_reading = false;  // the session reads the text that it begins with
  QTimer m_noteSoon;
  RecoveryStore m_recovery;
  std::optional<LeftSession> m_left;       // until the person has answered
  std::weak_ptr<LiveSession> m_recovered;  // the session that m_recovery follows
  nlohmann::json m_noted;                  // note that was written last
  QString m_keyboardView;                  // has the keyboard, or gets it back when palette or Find close
  std::unique_ptr<ScriptHost> m_console, m_script;
  QStringList m_scriptLog;
  int m_scriptJob = 0;                                 // job of the running script
  QHash<QString, nlohmann::json> m_firstOptions;       // [view id] options of a new window
  std::vector<LiveContext::LiveSessionPtr> m_opening;  // until they are shown or refused
};

}  // namespace kvlab
