// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine/engine_thread.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/api/guarded.h"

namespace kvlab {

namespace {

constexpr const char* kStopped = "the engine stopped this command";

/// The closure that `make` makes of a reply, or one that says why there is none: what comes of the work may be too
/// large to be handed on.
template <class Reply, class Make>
std::function<void()> closureOf(const Reply& reply, const Make& make) {
  try {
    return make();
  } catch (...) {
    return [reply, error = caught(kStopped)] { reply(error); };
  }
}

Error cancelledError() {
  return {"cancelled", "the command was cancelled", "the command was still waiting when work was cancelled",
          "run it again"};
}

}  // namespace

EngineThread::EngineThread(EngineOpener opener, Reply opened, std::function<void()> wake)
    : m_opener(std::move(opener)), m_opened(std::move(opened)), m_wake(std::move(wake)) {
  m_commands = 1;  // opening counts as a command
  try {
    m_thread = std::thread([this] { runLoop(); });
  } catch (const std::exception&) {
    m_openError = caught("the session was not opened");
    post([reply = std::exchange(m_opened, {}), result = m_openError] { reply(result); }, 1);
  }
}

EngineThread::~EngineThread() {
  {
    const std::lock_guard lock(m_mutex);
    m_stop = true;
  }
  m_work.notify_all();
  if (m_thread.joinable()) m_thread.join();
}

/// Work of a job: the reply gets what the engine answers, or the error with which it was not opened.
template <class T>
EngineThread::Work EngineThread::workOf(ReplyOf<T> reply, Call<T> call) const {
  return [this, reply = std::move(reply), call = std::move(call)](Engine* engine) {
    return closureOf(reply, [&]() -> std::function<void()> {
      auto result = guarded(kStopped, [&]() -> Result<T> {
        if (!engine) return m_openError.error();
        return call(*engine);
      });
      return [reply, result = std::move(result)] { reply(result); };
    });
  };
}

template <class T>
EngineThread::Ticket EngineThread::command(const ReplyOf<T>& reply, Call<T> call) {
  return push({.work = workOf<T>(reply, std::move(call)), .cancelled = [reply] { reply(cancelledError()); }});
}

EngineThread::Ticket EngineThread::submit(std::string verb, nlohmann::json args, const Reply& reply) {
  return command<nlohmann::json>(
      reply, [verb = std::move(verb), args = std::move(args)](Engine& engine) { return engine.execute(verb, args); });
}

void EngineThread::keepRecovery(std::string path, const Reply& reply) {
  command<nlohmann::json>(reply, [path = std::move(path)](Engine& engine) { return engine.keepRecovery(path); });
}

void EngineThread::fork(const ForkReply& reply) {
  command<EngineOpener>(reply, [](Engine& engine) -> Result<EngineOpener> {
    const auto held = std::make_shared<std::unique_ptr<Engine>>(KV_TRY(engine.fork()));
    return EngineOpener([held](const Progress&) -> Result<std::unique_ptr<Engine>> { return std::move(*held); });
  });
}

EngineThread::Ticket EngineThread::push(Job job) {
  m_commands.fetch_add(1);
  if (!m_thread.joinable()) return perform(job), Ticket(0);
  const std::lock_guard lock(m_mutex);
  job.ticket = ++m_last;
  m_jobs.push_back(std::move(job));
  m_work.notify_one();
  return m_last;
}

void EngineThread::query(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply) {
  const auto asks = [verb, args](Engine& engine) { return ask(engine, verb, args); };
  replaceOrPush(
      {.tag = "q:" + tag, .work = workOf<nlohmann::json>(std::move(reply), asks), .verb = verb, .args = args});
}

/// Runs a verb that only reads or measures; the engine itself reports unknown verbs.
Result<nlohmann::json> EngineThread::ask(Engine& engine, const std::string& verb, const nlohmann::json& args) {
  const std::optional<Effect> effect = engine.effect(verb, args);
  if (!effect || *effect == Effect::Reads || *effect == Effect::Measures) return engine.execute(verb, args);
  return Error("not_a_query", verb + " was not asked", "the verb changes the session, and queries may only read",
               "submit the verb as a command", "verb", verb);
}

void EngineThread::past(Tick tick, PastReply reply) {
  const auto asks = [tick](Engine& engine) { return engine.snapshotAt(tick); };
  replaceOrPush({.tag = "past", .work = workOf<SnapshotPtr>(std::move(reply), asks), .past = true});
}

void EngineThread::fetch(std::string tag, TileRequest request, TileReply reply) {
  Job job{.tag = "t:" + tag, .work = {}, .tile = true, .past = request.tick.has_value()};
  job.work = [this, request, reply](Engine* engine) -> std::function<void()> {
    auto tile = guarded(kStopped, [&]() -> Result<std::unique_ptr<PendingTile>> {
      if (!engine) return m_openError.error();
      return engine->tile(request);
    });
    if (!tile) return [reply, error = tile.error()] { reply(error); };
    if ((*tile)->arrived()) return answer(reply, **tile);
    m_underWay = TileUnderWay{tile.take(), reply};
    return {};
  };
  replaceOrPush(std::move(job));
}

std::function<void()> EngineThread::answer(TileReply reply, PendingTile& tile) {
  using Shared = std::shared_ptr<const Tile>;
  auto result =
      guarded(kStopped, [&]() -> Result<Shared> { return Shared(std::make_shared<const Tile>(KV_TRY(tile.take()))); });
  return [reply = std::move(reply), result = std::move(result)] { reply(result); };
}

/// Waits for the tile.
void EngineThread::finishTile() {
  post(answer(std::move(m_underWay->reply), *m_underWay->tile));
  m_underWay.reset();
}

void EngineThread::replaceOrPush(Job job) {
  if (!m_thread.joinable()) return perform(job);
  {
    const std::lock_guard lock(m_mutex);
    const auto same = [&](const Job& waiting) { return waiting.tag == job.tag; };
    const auto found = std::find_if(m_reads.begin(), m_reads.end(), same);
    if (found != m_reads.end()) *found = std::move(job);
    else m_reads.push_back(std::move(job));
  }
  m_work.notify_one();
}

void EngineThread::cancel() {
  std::unique_lock lock(m_mutex);
  m_cancel = true;
  for (Job& job : m_jobs) m_mail.replies.push_back(std::move(job.cancelled));
  m_commands.fetch_sub(static_cast<int>(m_jobs.size()));
  const bool any = !m_jobs.empty();
  m_jobs.clear();
  if (any) wakeOnce(lock);
}

void EngineThread::cancel(Ticket ticket) {
  std::unique_lock lock(m_mutex);
  if (m_running == ticket) m_cancel = true;
  const auto waiting = std::ranges::find(m_jobs, ticket, &Job::ticket);
  if (waiting == m_jobs.end()) return;
  m_mail.replies.push_back(std::move(waiting->cancelled));
  m_jobs.erase(waiting);
  m_commands.fetch_sub(1);
  wakeOnce(lock);
}

EngineMail EngineThread::collect() {
  const std::lock_guard lock(m_mutex);
  m_wakePending = false;
  m_mail.busy = busy();
  return std::exchange(m_mail, {});
}

void EngineThread::runLoop() {
  open();
  while (!m_stop) {
    Job job;
    {
      std::unique_lock lock(m_mutex);
      m_work.wait(lock, [this] { return m_stop || m_underWay || !m_jobs.empty() || !m_reads.empty(); });
      if (m_stop) break;
      if (m_underWay && m_jobs.empty()) {
        lock.unlock();
        finishTile();
        continue;
      }
      auto& queue = m_jobs.empty() ? m_reads : m_jobs;
      job = std::move(queue.front());
      queue.pop_front();
      m_running = job.ticket;
      m_cancel = false;
    }
    perform(job);
  }
  m_underWay.reset();
  m_engine.reset();  // deleted on the thread that made it
}

void EngineThread::open() {
  const Progress sink = [this](const std::string& what, std::int64_t done, std::int64_t total) {
    return progress(what, done, total);
  };
  auto opened = guarded(kStopped, [&] { return m_opener(sink); });
  if (opened) {
    m_engine = opened.take();
    m_engine->setPublish([this](SnapshotPtr snapshot) { publish(std::move(snapshot)); });
    m_engine->setProgress(sink);
    m_engine->setIdle([this] { serveReads(); });
    if (const SnapshotPtr first = m_engine->snapshot()) publish(first);
  } else {
    m_openError = opened.error();
  }
  progress({}, 0, -1);
  m_opener = {};  // both may hold the session that holds this thread
  post([reply = std::exchange(m_opened, {}), result = m_openError] { reply(result); }, 1);
}

void EngineThread::perform(Job& job) {
  const bool command = job.tag.empty();
  auto reply = job.work(m_engine.get());
  if (reply || command) post(std::move(reply), command);
}

/// True for a tile while another one is under way, and for a measurement or an earlier tick within a command.
bool EngineThread::mustWait(const Job& read) const {
  if (read.past) return true;
  if (read.tile) return m_underWay.has_value();
  return m_engine->effect(read.verb, read.args) == Effect::Measures;
}

/// Serves reads while a long command runs. The engine calls this when its state is consistent.
void EngineThread::serveReads() {
  if (m_stop) return;
  if (m_underWay && m_underWay->tile->arrived()) finishTile();
  std::deque<Job> reads;
  {
    const std::lock_guard lock(m_mutex);
    reads.swap(m_reads);
  }
  for (Job& job : reads) {
    if (mustWait(job)) putBack(std::move(job));
    else if (auto reply = job.work(m_engine.get())) post(std::move(reply));
  }
}

/// Queues a read again, unless a newer read with its tag waits.
void EngineThread::putBack(Job job) {
  const std::lock_guard lock(m_mutex);
  if (std::ranges::none_of(m_reads, [&](const Job& newer) { return newer.tag == job.tag; }))
    m_reads.push_back(std::move(job));
}

void EngineThread::publish(SnapshotPtr snapshot) {
  std::unique_lock lock(m_mutex);
  auto& waiting = m_mail.snapshots;
  if (waiting.size() >= kMailSnapshots) waiting.erase(waiting.begin(), waiting.begin() + kMailSnapshots / 2);
  waiting.push_back(std::move(snapshot));
  wakeOnce(lock);
}

bool EngineThread::progress(const std::string& what, std::int64_t done, std::int64_t total) {
  std::unique_lock lock(m_mutex);
  m_mail.progress = ProgressNote{what, done, total};
  wakeOnce(lock);
  return !m_cancel && !m_stop;
}

void EngineThread::post(std::function<void()> reply, int commands) {
  std::unique_lock lock(m_mutex);
  m_commands.fetch_sub(commands);
  if (reply) m_mail.replies.push_back(std::move(reply));
  wakeOnce(lock);
}

/// Wakes the reader unless it was woken already. The lock must be held.
void EngineThread::wakeOnce(std::unique_lock<std::mutex>&) {
  if (m_wakePending) return;
  m_wakePending = true;
  m_wake();
}

}  // namespace kvlab
