// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/session_holder.h"

#include "core/api/guarded.h"
#include "core/lanes/lane_verbs.h"
#include "core/session/requests.h"
#include "core/session/tiles.h"
#include "core/verbs/verbs.h"

namespace kvlab {

using nlohmann::json;

namespace {

template <class Part>
Result<std::unique_ptr<SessionHolder>> held(Result<std::unique_ptr<Part>> part) {
  if (!part) return part.error();
  return std::make_unique<SessionHolder>(part.take());
}

/// The verb puts lanes or a batch in the place of the session, or a session in theirs.
bool exchanges(InLanes kind) {
  return kind == InLanes::Opens || kind == InLanes::OpensBatch || kind == InLanes::Closes ||
      kind == InLanes::ClosesBatch;
}

}  // namespace

/// Calls `call` with the present batch, lanes or session.
template <class F>
auto SessionHolder::visit(F&& call) const {
  if (m_batch) return call(*m_batch);
  return m_lanes ? call(*m_lanes) : call(*m_session);
}

Result<json> SessionHolder::execute(const std::string& verb, const json& given) {
  return guarded("the call was refused", [&] { return executed(verb, given); });
}

Result<json> SessionHolder::executed(const std::string& verb, const json& given) {
  const VerbInfo* info = verbNamed(verb);
  const json none = json::object(), &args = given.is_null() ? none : given;
  if (!info || !exchanges(info->lanes)) return visit([&](auto& part) { return kvlab::execute(part, verb, args); });
  KV_TRY(exchangeable(info->lanes));
  VerbArgs in(info->args, args);
  Result<json> done = in.error() ? Result<json>(*in.error()) : exchange(info->lanes, in);
  if (in.error()) return VerbArgs::completed(*in.error(), info->name, info->args);
  if (!done) return done;
  connect();
  if (m_publish) m_publish(snapshot());
  return done;
}

Result<std::unique_ptr<PendingTile>> SessionHolder::tile(const TileRequest& request) {
  if (m_session) return kvlab::tile(*m_session, request);
  return kvlab::tile(m_lanes ? m_lanes->session(0) : m_batch->shownSession(), request);
}

SnapshotPtr SessionHolder::snapshot() const {
  return visit([](auto& part) { return part.snapshot(); });
}

Result<Session*> SessionHolder::sessionOf(const Whereabouts& where) {
  if (!m_session && !where.member)
    return Error("in_lockstep", "the question was not asked", "the sessions run together",
                 "ask one of them, or close the lanes");
  if (m_session && where.member)
    return Error("no_lanes", "the question was not asked", "the session runs alone", "ask the session itself");
  if (where.member) KV_TRY(m_lanes ? m_lanes->there(*where.member) : m_batch->there(*where.member));
  Session& now = m_session ? *m_session : m_lanes ? m_lanes->session(*where.member) : m_batch->session(*where.member);
  return where.tick ? sessionAt(now, *where.tick, where.branch) : Result<Session*>(&now);
}

/// Serial numbers grow with ticks and are no smaller, so the number of the tick is one of its own.
Result<SnapshotPtr> SessionHolder::snapshotAt(Tick tick) {
  if (!m_session)
    return Error("in_lockstep", "the tick was not shown", "lanes and batches have no history", "fork one of them");
  Session* there = KV_TRY(sessionAt(*m_session, tick));
  const SnapshotPtr now = m_session->snapshot();
  if (there == m_session.get()) return now;
  there->watches() = m_session->watches();
  there->watches().forget();
  there->watches().ask(*there);
  auto out = std::make_shared<Snapshot>(*there->snapshot());
  out->info = now->info;
  out->leaps = now->leaps;
  out->serial = m_session->publisher().start() + static_cast<std::uint64_t>(tick.value());
  out->watches = there->watches().views();
  return SnapshotPtr(std::move(out));
}

void SessionHolder::setPublish(std::function<void(SnapshotPtr)> publish) {
  m_publish = std::move(publish);
  connect();
}

void SessionHolder::setProgress(Progress progress) {
  m_progress = std::move(progress);
  connect();
}

void SessionHolder::setBetweenTicks(std::function<void()> between) {
  m_betweenTicks = std::move(between);
  connect();
}

Result<std::unique_ptr<SessionHolder>> SessionHolder::fork() {
  return visit([](auto& part) { return held(part.fork()); });
}

/// Only the lanes or the batch publish: their sessions are consistent with each other only after all have done a tick.
void SessionHolder::connect() {
  visit([this](auto& part) {
    part.setPublish(m_publish);
    part.setProgress(m_progress);
    part.setBetweenTicks(m_betweenTicks);
  });
}

Status SessionHolder::exchangeable(InLanes kind) const {
  if (kind == InLanes::Closes && !m_lanes)
    return Error("no_lanes", "the lanes were not closed", "there are none", "open some with lab.lanes");
  if (kind == InLanes::ClosesBatch && !m_batch)
    return Error("no_batch", "the batch was not closed", "there is none", "open one with lab.batch");
  if (kind == InLanes::Closes || kind == InLanes::ClosesBatch) return ok();
  const std::string what = kind == InLanes::OpensBatch ? "the batch was not opened" : "the lanes were not opened";
  if (m_lanes)
    return Error("in_lockstep", what, "lanes are open already", "close the lanes first, or fork one of them");
  if (m_batch)
    return Error("in_lockstep", what, "a batch is open already", "close the batch first, or fork one of its sequences");
  return ok();
}

Result<json> SessionHolder::exchange(InLanes kind, VerbArgs& in) {
  if (m_session) KV_TRY(m_session->noOpenTick());
  if (kind == InLanes::Opens) {
    const LanesOptions options{in.flag("together"), placesOf(in, "needles")};
    m_lanes = KV_TRY(Lanes::around(m_session, in.raw("lanes").get<std::vector<json>>(), options));
    return json{{"lanes", m_lanes->size()}};
  }
  if (kind == InLanes::OpensBatch) {
    m_batch = KV_TRY(Batch::around(m_session, static_cast<int>(in.integer("size")), in.flag("together")));
    return json{{"sequences", m_batch->size()}};
  }
  const char* const one = m_lanes ? "lane" : "sequence";
  const int size = m_lanes ? m_lanes->size() : m_batch->size(), kept = static_cast<int>(in.within(one, 0, size - 1, 0));
  if (in.error()) return *in.error();
  m_session = KV_TRY(m_lanes ? Result<std::unique_ptr<Session>>(m_lanes->release(kept)) : m_batch->keep(kept));
  m_lanes.reset();
  m_batch.reset();
  return json(nullptr);
}

}  // namespace kvlab
