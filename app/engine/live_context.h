// SPDX-License-Identifier: GPL-3.0-or-later
// The context that all views of a window share; it shows one live session. Replies go only to receivers that still
// exist; errors without a receiver go to failed(). GUI thread only.
#pragma once
#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "app/engine/live_session.h"
#include "widgets/base/job_list.h"

namespace kvlab {

class LiveContext : public InspectorContext {
  Q_OBJECT
 public:
  using CommandRunner = std::function<Status(const QString& id, const nlohmann::json& args)>;
  using Evaluated = std::function<void(const QString& text, bool failed)>;
  using Evaluator = std::function<void(const QString& line, Evaluated reply)>;
  using LiveSessionPtr = std::shared_ptr<LiveSession>;

  explicit LiveContext(QObject* parent = nullptr);

  void show(LiveSessionPtr session);
  /// The same for scripts, at the pace of snapshots: of sessions that come faster than views can show them only the
  /// last one is shown.
  void showSoon(LiveSessionPtr session);
  /// Shows no session instead of this one: at once where views show it, because they keep its memory.
  void close(const LiveSessionPtr& session);
  const LiveSessionPtr& session() const { return m_session; }
  /// The session that showSoon() is about to show, or else the shown one.
  const LiveSessionPtr& coming() const { return m_coming ? *m_coming : m_session; }
  void setCommandRunner(CommandRunner runner) { m_runner = std::move(runner); }
  using Obstacles = std::function<QString(const QString& id)>;
  void setObstacles(Obstacles obstacles) { m_obstacles = std::move(obstacles); }
  QString obstacleOf(const QString& id) const override { return m_obstacles ? m_obstacles(id) : QString(); }
  void setEvaluator(Evaluator evaluator) { m_evaluator = std::move(evaluator); }
  /// Runs the verb of a command. The receiver of the command gets the reply. Without a receiver `unasked` gets the
  /// reply, or the error is shown.
  void submit(const std::string& verb, const nlohmann::json& args, Reply unasked = {});
  /// The same for a command that does something with a reply, whoever asked: `then` runs before the reply is handed on,
  /// unless the verb was refused.
  using Then = std::function<void(const nlohmann::json&)>;
  void submitThen(const std::string& verb, const nlohmann::json& args, Then then, Reply unasked = {});
  /// The facts about a command before it runs.
  struct Call {
    QString id;
    nlohmann::json args = nlohmann::json::object();
    QString title = {};
    QString view = {};  // shows what a long command did; empty = the command is brief
  };
  /// Runs a command: each verb that `run` submits before it returns is a job and belongs to the command.
  Status within(const Call& call, const std::function<Status()>& run);
  /// True if the running command has a receiver.
  bool asked() const { return m_running.asker.reply != nullptr; }
  /// Gives the reply of the running command, which may come later: to the receiver of the command; without a receiver
  /// to `unasked`, or the error is shown.
  Reply answer(Reply unasked = {});
  /// Cancels the job in front: work of the shown session before work beside it.
  void cancel();
  /// Ends a run that goes on at its next safe point, so that the command behind it need not wait. Who runs ticks asks
  /// takePause() at the run's end, and runs those that are left.
  void pauseRun();
  /// True once after pauseRun(), unless somebody has cancelled since.
  bool takePause();
  JobList& jobs() const { return m_jobs; }
  /// True if there is something that cancel() would stop.
  bool working() const { return busy() || m_jobs.front(); }

  SnapshotPtr snapshot() const override { return m_shown; }
  const std::vector<SnapshotPtr>& history() const override;
  void submit(const std::string& verb, const nlohmann::json& args, QObject* receiver, Reply reply) override {
    send(verb, args, receiver, std::move(reply));
  }
  /// The same; the ticket cancels this verb alone (LiveSession::cancel). 0 without a session.
  EngineThread::Ticket send(const std::string& verb, const nlohmann::json& args, QObject* receiver, Reply reply);
  void query(const std::string& tag, const std::string& verb, const nlohmann::json& args, QObject* receiver,
             Reply reply) override;
  void fetch(const std::string& tag, const TileRequest& request, QObject* receiver, TileReply reply) override;
  void showTick(Tick tick) override;
  bool following() const override { return !m_lookingBack; }
  bool arriving() const override { return m_arriving.has_value(); }
  void freezeClock() override;
  /// Shows the newest snapshot now. Usually views follow at the frame rate of the screen, so a script that steps a
  /// thousand times per second is drawn sixty times.
  void catchUp();
  /// Sets the pause after showing a snapshot, as a multiple of the time that views needed, or of a frame, whichever is
  /// longer. A pause leaves time for input and scripts. Default: 1. Returns the former one.
  int setRest(int times);
  int rest() const { return m_rest; }
  /// Runs `work`, which shows what follows every command, such as the actions that are possible: at once, or, where the
  /// rest is longer than 1, when the pause is over. Of works with one name only the last one waits.
  void whenRested(const char* name, QObject* receiver, std::function<void()> work);
  void runCommand(const QString& id, const nlohmann::json& args = nlohmann::json::object(), QObject* receiver = nullptr,
                  Reply reply = {}) override;
  void evaluate(const QString& line, QObject* receiver, Evaluated reply) override;
  bool busy() const override { return m_session && m_session->busy(); }
  qint64 programBytes() const override { return clockFrozen() ? 0 : m_programBytes; }

 signals:
  /// Something about the last command that its reply does not say.
  void noted(const QString& text);

 private:
  /// Receiver of a command; no receiver if the reply is empty.
  struct Asker {
    QPointer<QObject> receiver;
    Reply reply;
  };
  struct Running {
    Call call;
    Asker asker;
  };

  void follow();
  void restFor(std::chrono::milliseconds work);
  void endRest();
  void followJobs();
  int beginJob(const std::string& verb, std::shared_ptr<EngineThread::Ticket> ticket);
  void endJob(int number, const CommandReply& command);
  void showPast(Tick tick);
  void showSnapshot(SnapshotPtr snapshot);
  LedgerId heirOf(const Snapshot& before, const Snapshot& now) const;
  /// Says the line of a command that made ticks, with as many as it made: a run that was stopped stops there again.
  void sayTicks(const std::string& verb, const nlohmann::json& args, const nlohmann::json& reply);

  JobList& m_jobs;
  LiveSessionPtr m_session;
  std::optional<LiveSessionPtr> m_coming;  // for the next frame
  SnapshotPtr m_shown;
  qint64 m_programBytes = 0;  // when it was shown
  QTimer m_pace;              // until the next snapshot may be shown
  QElapsedTimer m_since;      // since the last snapshot was shown
  int m_rest = 1;
  std::map<std::string_view, std::pair<QPointer<QObject>, std::function<void()>>> m_waiting;  // for the end of a pause
  int m_run = 0;          // number of the last run's job
  bool m_paused = false;  // it ends to go on
  bool m_behind = false;
  bool m_lookingBack = false;      // showTick() chose an older tick
  std::optional<Tick> m_arriving;  // tick whose snapshot the engine was asked for
  CommandRunner m_runner;
  Obstacles m_obstacles;
  Asker m_asker;      // receiver of the next command
  Running m_running;  // the running command
  Evaluator m_evaluator;
};

}  // namespace kvlab
