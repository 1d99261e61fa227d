// SPDX-License-Identifier: GPL-3.0-or-later
// The context that all views of a window share, over whichever live session is shown. Replies go
// only to receivers that still exist; failures without a reader go to failed(). GUI thread only.
#pragma once
#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>

#include "app/live_session.h"
#include "widgets/base/inspector_context.h"

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
  const LiveSessionPtr& session() const { return m_session; }
  void setCommandRunner(CommandRunner runner) { m_runner = std::move(runner); }
  void setEvaluator(Evaluator evaluator) { m_evaluator = std::move(evaluator); }
  /// Runs the verb of a command: whoever asked for the command gets the reply. Where nobody did, `unasked` gets it, or
  /// a failure is shown.
  void submit(const std::string& verb, const nlohmann::json& args, Reply unasked = {});
  /// Runs a command: the verbs that `run` submits at once are the command's.
  Status within(const QString& id, const nlohmann::json& args, const std::function<Status()>& run);
  /// Whoever asked for the command that is being run waits for the reply.
  bool asked() const { return m_running.asker.reply != nullptr; }
  void cancel();

  SnapshotPtr snapshot() const override { return m_shown; }
  const std::vector<SnapshotPtr>& history() const override;
  void submit(const std::string& verb, const nlohmann::json& args, QObject* receiver, Reply reply) override;
  void query(const std::string& tag, const std::string& verb, const nlohmann::json& args, QObject* receiver,
             Reply reply) override;
  void fetch(const std::string& tag, const TileRequest& request, QObject* receiver, TileReply reply) override;
  void showTick(Tick tick) override;
  void freezeClock() override;
  /// Shows the newest snapshot now. Views follow an engine at the pace of a screen, so that what a
  /// script steps through a thousand times a second is drawn sixty times.
  void catchUp();
  /// After showing a snapshot views rest for so many times as long as they took with it, if that is longer than a frame
  /// of the screen: the event loop is also there for input, or for a script that nobody watches. 1 unless set.
  void setRest(int times) { m_rest = times; }
  void runCommand(const QString& id, const nlohmann::json& args, QObject* receiver = nullptr,
                  Reply reply = {}) override;
  void evaluate(const QString& line, QObject* receiver, Evaluated reply) override;
  bool busy() const override { return m_session && m_session->busy(); }

 signals:
  /// Work was told to stop; jobs of several commands end after the present one.
  void cancelled();

 private:
  /// Who asked for a command; nobody where the reply is empty.
  struct Asker {
    QPointer<QObject> receiver;
    Reply reply;
  };
  struct Running {
    QString id;
    nlohmann::json args;
    Asker asker;
  };

  void follow();
  void showSnapshot(SnapshotPtr snapshot);

  LiveSessionPtr m_session;
  SnapshotPtr m_shown;
  QTimer m_pace;          // until the next one may be shown
  QElapsedTimer m_since;  // the last one was shown
  int m_rest = 1;
  bool m_behind = false;
  CommandRunner m_runner;
  Asker m_asker;      // of the command that starts next
  Running m_running;  // the command that is being run
  Evaluator m_evaluator;
};

}  // namespace kvlab
