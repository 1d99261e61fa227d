// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine/live_context.h"

#include <QScopedValueRollback>
#include <algorithm>
#include <chrono>
#include <utility>

#include "app/base/outcome.h"
#include "core/api/program_memory.h"

namespace kvlab {

namespace {

Error noSession() {
  return {"no_session", "the command was not run", "no session is open", "open one with File > New Session"};
}

constexpr std::chrono::milliseconds kFrame{16};

}  // namespace

LiveContext::LiveContext(QObject* parent) : InspectorContext(parent), m_jobs(JobList::of(*this)) {
  m_pace.setSingleShot(true);
  m_pace.setTimerType(Qt::PreciseTimer);
  connect(&m_pace, &QTimer::timeout, this, &LiveContext::catchUp);
}

void LiveContext::showSoon(LiveSessionPtr session) {
  m_coming = std::move(session);
  if (!m_pace.isActive()) catchUp();
}

void LiveContext::close(const LiveSessionPtr& session) {
  if (coming() == session) m_coming = nullptr;
  if (m_session == session) catchUp();
}

void LiveContext::show(LiveSessionPtr session) {
  m_coming.reset();
  if (session == m_session) return;
  m_pace.stop();
  if (m_session) disconnect(m_session.get(), nullptr, this, nullptr);
  m_session = std::move(session);
  if (m_session && clockFrozen()) m_session->freezeClock();
  if (m_session) {
    connect(m_session.get(), &LiveSession::published, this, &LiveContext::follow);
    connect(m_session.get(), &LiveSession::busyChanged, this,
            [this] { whenRested("busy", this, [this] { emit busyChanged(); }); });
    connect(m_session.get(), &LiveSession::progressed, this, &LiveContext::progressed);
    connect(m_session.get(), &LiveSession::failed, this, &LiveContext::failed);
    followJobs();
  }
  setFocus({});
  meetSession();
  emit busyChanged();
  follow();
}

/// A session that is not shown any more goes on with its jobs as long as a script keeps it.
void LiveContext::followJobs() {
  const void* queue = m_session.get();
  disconnect(m_session.get(), nullptr, &m_jobs, nullptr);
  connect(m_session.get(), &LiveSession::progressed, &m_jobs,
          [jobs = &m_jobs, queue](const QString& step, qint64 done, qint64 total) {
            if (total >= 0) jobs->report(queue, step, done, total);
          });
  connect(m_session.get(), &QObject::destroyed, &m_jobs,
          [jobs = &m_jobs, queue] { jobs->endQueue(queue, tr("The session was closed first")); });
}

int LiveContext::beginJob(const std::string& verb, std::shared_ptr<EngineThread::Ticket> ticket) {
  const Call& call = m_running.call;
  const QString model = m_shown && m_shown->info ? QString::fromStdString(m_shown->info->model) : QString();
  return m_jobs.begin({.name = call.title.isEmpty() ? QString::fromStdString(verb) : QString(call.title).remove("…"),
                       .on = model,
                       .queue = m_session.get(),
                       .brief = call.view.isEmpty(),
                       .place = {.view = call.view},
                       .cancel = [session = std::weak_ptr(m_session), ticket = std::move(ticket)] {
                         if (const LiveSessionPtr alive = session.lock()) alive->cancel(*ticket);
                       }});
}

void LiveContext::endJob(int number, const CommandReply& command) {
  const Job* job = m_jobs.find(number);
  if (!job) return;
  JobPlace place = job->place;
  if (m_shown && job->queue == m_session.get()) {
    place.session = sessionNumber();
    place.focus = {{"tick", m_shown->tick.value()}};
  }
  m_jobs.setPlace(number, place);
  const auto [state, how] = endOf(command);
  m_jobs.end(number, state, how);
}

void LiveContext::submit(const std::string& verb, const nlohmann::json& args, Reply unasked) {
  submitThen(verb, args, {}, std::move(unasked));
}

void LiveContext::submitThen(const std::string& verb, const nlohmann::json& args, Then then, Reply unasked) {
  const auto ticket = std::make_shared<EngineThread::Ticket>();
  const int job = m_session ? beginJob(verb, ticket) : 0;
  if (verb == "run") m_run = job, m_paused = false;
  const auto answered = [this, verb, args, answer = answer(std::move(unasked)), call = m_running.call, job,
                         then = std::move(then)](const Result<nlohmann::json>& result) {
    if (result) sayTicks(verb, args, *result);
    if (result && then) then(*result);
    endJob(job, {call.id, call.args, result});
    answer(result);
  };
  *ticket = send(verb, args, this, answered);
}

LiveContext::Reply LiveContext::answer(Reply unasked) {
  return [this, unasked = std::move(unasked), command = m_running,
          session = sessionNumber()](const Result<nlohmann::json>& result) {
    if (!command.call.id.isEmpty() && session == sessionNumber())
      emit commandReplied({command.call.id, command.call.args, result});
    if (command.asker.reply) {
      if (command.asker.receiver) command.asker.reply(result);
    } else if (unasked) {
      unasked(result);
    } else if (!result) {
      emit failed(result.error());
    }
  };
}

void LiveContext::sayTicks(const std::string& verb, const nlohmann::json& args, const nlohmann::json& reply) {
  if (verb != "run" && verb != "step") return;
  const nlohmann::json done = argsDone(verb, args, reply, m_shown.get());
  if (!done.is_null() && m_session) emit scripted(m_session->script().line(verb, done));
}

Status LiveContext::within(const Call& call, const std::function<Status()>& run) {
  const QScopedValueRollback running(m_running, Running{call, std::exchange(m_asker, {})});
  return run();
}

void LiveContext::pauseRun() {
  const Job* run = m_jobs.find(m_run);
  if (!run || run->state != JobState::Running) return;
  m_paused = true;
  m_jobs.cancel(m_run);
}

bool LiveContext::takePause() { return std::exchange(m_paused, false); }

/// The session may work without a job: scripts outside the window drive it.
void LiveContext::cancel() {
  m_paused = false;
  const Job* front = m_jobs.front();
  if (busy() && (!front || front->rank == JobRank::Beside)) m_session->cancel();
  else if (front) m_jobs.cancel(front->number);
}

const std::vector<SnapshotPtr>& LiveContext::history() const {
  static const std::vector<SnapshotPtr> none;
  return m_session ? m_session->history() : none;
}

EngineThread::Ticket LiveContext::send(const std::string& verb, const nlohmann::json& args, QObject* receiver,
                                       Reply reply) {
  if (!m_session) {
    reply(noSession());
    return 0;
  }
  return m_session->send(verb, args,
                         [self = QPointer<LiveContext>(this), guard = QPointer<QObject>(receiver),
                          reply](const Result<nlohmann::json>& r) {
                           if (self) self->catchUp();  // a reply must find the state after its command
                           if (guard) reply(r);
                         });
}

void LiveContext::query(const std::string& tag, const std::string& verb, const nlohmann::json& args, QObject* receiver,
                        Reply reply) {
  if (!m_session) return reply(noSession());
  m_session->query(tag, verb, args, [guard = QPointer<QObject>(receiver), reply](const Result<nlohmann::json>& r) {
    if (guard) reply(r);
  });
}

void LiveContext::fetch(const std::string& tag, const TileRequest& request, QObject* receiver, TileReply reply) {
  if (!m_session) return;
  using Arrived = Result<std::shared_ptr<const Tile>>;
  m_session->fetch(
      tag, request,
      [this, self = QPointer<LiveContext>(this), guard = QPointer<QObject>(receiver), reply](const Arrived& tile) {
        if (!guard || !self) return;
        if (!tile) emit logged(3, QString::fromStdString(tile.error().text()));
        reply(tile ? *tile : nullptr);
      });
}

void LiveContext::showTick(Tick tick) {
  const auto& kept = history();
  const auto later = [](Tick wanted, const SnapshotPtr& s) { return wanted < s->tick; };
  const auto after = std::upper_bound(kept.begin(), kept.end(), tick, later);
  m_arriving.reset();
  if (after == kept.begin()) return showPast(tick);
  m_behind = false;
  m_lookingBack = after != kept.end();
  showSnapshot(*std::prev(after));
}

/// The views keep their content until the snapshot comes.
void LiveContext::showPast(Tick tick) {
  if (!m_session || history().empty() || tick < Tick(0)) return;
  m_arriving = tick;
  m_session->past(
      tick,
      [this, self = QPointer<LiveContext>(this), session = sessionNumber(), tick](const Result<SnapshotPtr>& snapshot) {
        if (!self || session != sessionNumber() || m_arriving != tick) return;
        m_arriving.reset();
        if (!snapshot) {
          emit failed(snapshot.error());
          return emit snapshotChanged();  // views that waited are ready again
        }
        m_behind = false;
        m_lookingBack = true;
        showSnapshot(*snapshot);
      });
}

void LiveContext::freezeClock() {
  InspectorContext::freezeClock();
  if (!m_session) return;
  m_session->freezeClock();
  if (m_shown) showTick(m_shown->tick);
}

void LiveContext::runCommand(const QString& id, const nlohmann::json& args, QObject* receiver, Reply reply) {
  if (!m_runner) return;
  catchUp();
  m_asker = {receiver, reply};
  const Status status = m_runner(id, args);
  m_asker = {};
  if (!status && reply) reply(status.error());
  else if (!status) emit failed(status.error());
}

void LiveContext::evaluate(const QString& line, QObject* receiver, Evaluated reply) {
  if (!m_evaluator) return reply("this window has no script engine", true);
  m_evaluator(line, [guard = QPointer<QObject>(receiver), reply](const QString& text, bool bad) {
    if (guard) reply(text, bad);
  });
}

void LiveContext::follow() {
  m_behind = true;
  if (!m_pace.isActive()) catchUp();
}

void LiveContext::catchUp() {
  if (m_coming) show(*std::exchange(m_coming, std::nullopt));
  if (std::exchange(m_behind, false)) {
    m_pace.start(kFrame);
    m_since.start();
    QTimer::singleShot(0, this, [this] { restFor(std::chrono::milliseconds(m_since.elapsed())); });  // after painting
    m_lookingBack = false;
    m_arriving.reset();
    showSnapshot(m_session ? m_session->snapshot() : nullptr);
  }
  endRest();
}

/// Painting comes later than `work`: a frame stands for it.
void LiveContext::restFor(std::chrono::milliseconds work) { m_pace.start(m_rest * std::max(kFrame, work)); }

int LiveContext::setRest(int times) {
  const int before = std::exchange(m_rest, times);
  catchUp();
  return before;
}

void LiveContext::whenRested(const char* name, QObject* receiver, std::function<void()> work) {
  if (m_rest <= 1) return work();
  m_waiting[name] = {receiver, std::move(work)};
  if (!m_pace.isActive()) catchUp();
}

void LiveContext::endRest() {
  if (m_waiting.empty()) return;
  QElapsedTimer since;
  since.start();
  for (const auto& [name, waiting] : std::exchange(m_waiting, {}))
    if (waiting.first) waiting.second();
  if (!m_pace.isActive()) restFor(std::chrono::milliseconds(since.elapsed()));
}

/// The row in place of the focused one: that which replaced it, or, where an undo took this one away, the one that it
/// had replaced. The row itself, if there is none.
LedgerId LiveContext::heirOf(const Snapshot& before, const Snapshot& now) const {
  const LedgerId row = focus().ledger;
  const auto inContext = [&now](LedgerId one) { return std::ranges::find(now.context, one) != now.context.end(); };
  if (focus().position.value() < 0 || row.value() < 0 || inContext(row)) return row;
  const bool gone = !now.ledger.contains(row) && before.ledger.contains(row);
  const bool replaced = now.ledger.contains(row) && now.ledger[row].state == RowState::Replaced;
  const auto kin = gone ? before.ledger[row].parents : replaced ? now.ledger[row].children : std::vector<LedgerId>();
  const auto heir = std::ranges::find_if(kin, inContext);
  return heir == kin.end() ? row : *heir;
}

/// Shows a snapshot and finds the position of the focused ledger row in it. The focus goes with a word to the one that
/// replaces it.
void LiveContext::showSnapshot(SnapshotPtr snapshot) {
  if (snapshot == m_shown) return;
  const SnapshotPtr before = std::exchange(m_shown, std::move(snapshot));
  m_programBytes = kvlab::programBytes();
  emit snapshotChanged();
  if (!m_shown) return;
  Focus next = focus();
  next.tick = m_shown->tick;
  if (before && m_shown && !m_lookingBack) next.ledger = heirOf(*before, *m_shown);
  if (next.ledger.value() >= 0) {
    const auto found = std::find(m_shown->context.begin(), m_shown->context.end(), next.ledger);
    next.position = found == m_shown->context.end()
        ? Position(-1)
        : Position(static_cast<std::int32_t>(found - m_shown->context.begin()));
  }
  setFocus(next);
}

}  // namespace kvlab
