// SPDX-License-Identifier: GPL-3.0-or-later
// The interface between the window and the engine: commands in, mail out. Owns the engine on its own thread. Neither
// side waits for the other. Commands run in order and are never coalesced; queries and tile requests are replaced by
// tag. Reads are served while no command runs, and when a running command reports a consistent state (Engine::setIdle);
// that call does not wait for a tile of the device. A query is a verb that reads or measures; measurements wait for the
// end of the running command. Exceptions of the engine become errors here. Owned by a LiveSession; one thread (the GUI
// thread) calls all public functions.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "app/engine/engine.h"

namespace kvlab {

struct ProgressNote {
  std::string what;
  std::int64_t done = 0, total = 0;
};

/// Mail for the reader: every snapshot since the last collect (above kMailSnapshots the oldest are dropped), finished
/// replies in order, and the newest progress. busy: a command ran or waited whose reply is not in this mail or an
/// earlier one.
struct EngineMail {
  std::vector<SnapshotPtr> snapshots;
  std::vector<std::function<void()>> replies;
  std::optional<ProgressNote> progress;
  bool busy = false;
};

class EngineThread {
 public:
  static constexpr std::size_t kMailSnapshots = 1024;
  /// Names a command that was submitted.
  using Ticket = std::uint64_t;
  template <class T>
  using ReplyOf = std::function<void(const Result<T>&)>;
  using Reply = ReplyOf<nlohmann::json>;
  using ForkReply = ReplyOf<EngineOpener>;
  using PastReply = ReplyOf<SnapshotPtr>;
  using TileReply = ReplyOf<std::shared_ptr<const Tile>>;

  /// Starts the thread and opens the engine on it. `opened` is the first reply: null, or the error that every later
  /// command gets. `wake` is called from the engine thread, at most once between two collects.
  EngineThread(EngineOpener opener, Reply opened, std::function<void()> wake);
  /// Cancels the running command, drops waiting ones (their replies never come), and joins.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  Ticket submit(std::string verb, nlohmann::json args, const Reply& reply);
  /// Like submit(): Engine::keepRecovery().
  void keepRecovery(std::string path, const Reply& reply);
  /// Like submit(): makes a second engine in the state after all earlier commands.
  void fork(const ForkReply& reply);
  /// Error not_a_query for a verb that does not only read or measure.
  void query(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply);
  void fetch(std::string tag, TileRequest request, TileReply reply);
  /// The snapshot of an earlier tick; a newer request replaces this one.
  void past(Tick tick, PastReply reply);
  /// Stops the command in progress at its next safe point; waiting commands answer `cancelled`.
  void cancel();
  /// The same for one command; others go on. Nothing happens if the command has ended.
  void cancel(Ticket ticket);
  /// True while a command (not a query) runs or waits.
  bool busy() const { return m_commands.load(std::memory_order_relaxed) > 0; }
  EngineMail collect();

 private:
  /// Runs on the engine thread, with null if no engine was opened; returns the reply as a closure for the reader.
  using Work = std::function<std::function<void()>(Engine*)>;
  template <class T>
  using Call = std::function<Result<T>(Engine&)>;
  /// A command, or a read with a tag, which a newer read of the same tag replaces.
  struct Job {
    std::string tag = {};
    Work work;
    std::function<void()> cancelled = {};
    bool tile = false;
    bool past = false;      // asks about an earlier tick
    std::string verb = {};  // for queries
    nlohmann::json args = {};
    Ticket ticket = 0;  // for commands
  };
  /// A tile that was requested and has not arrived.
  struct TileUnderWay {
    std::unique_ptr<PendingTile> tile;
    TileReply reply;
  };

  void runLoop();
  void open();
  void perform(Job& job);
  void serveReads();
  bool mustWait(const Job& read) const;
  static Result<nlohmann::json> ask(Engine& engine, const std::string& verb, const nlohmann::json& args);
  void putBack(Job job);
  void finishTile();
  static std::function<void()> answer(TileReply reply, PendingTile& tile);
  template <class T>
  Work workOf(ReplyOf<T> reply, Call<T> call) const;
  template <class T>
  Ticket command(const ReplyOf<T>& reply, Call<T> call);
  Ticket push(Job job);
  void replaceOrPush(Job job);
  void publish(SnapshotPtr snapshot);
  bool progress(const std::string& what, std::int64_t done, std::int64_t total);
  /// commands: how many have ended with this reply, which comes with the mail that tells so.
  void post(std::function<void()> reply, int commands = 0);
  void wakeOnce(std::unique_lock<std::mutex>& lock);

  EngineOpener m_opener;
  Reply m_opened;
  std::function<void()> m_wake;
  std::unique_ptr<Engine> m_engine;        // engine thread
  std::optional<TileUnderWay> m_underWay;  // engine thread
  Result<nlohmann::json> m_openError = nlohmann::json();

  mutable std::mutex m_mutex;  // guards the next members up to m_running
  std::condition_variable m_work;
  std::deque<Job> m_jobs, m_reads;
  EngineMail m_mail;
  bool m_wakePending = false;
  Ticket m_last = 0, m_running = 0;

  std::atomic<int> m_commands{0};
  std::atomic<bool> m_stop{false}, m_cancel{false};
  std::thread m_thread;
};

}  // namespace kvlab
