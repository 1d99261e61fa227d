// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/session_holder.h"

#include "core/lanes/lane_verbs.h"
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

}  // namespace

Result<json> SessionHolder::execute(const std::string& verb, const json& args) {
  const VerbInfo* info = verbNamed(verb);
  if (info && info->lanes == InLanes::Opens) return open(args.is_null() ? json::object() : args);
  if (info && info->lanes == InLanes::Closes) return close(args.is_null() ? json::object() : args);
  return m_lanes ? kvlab::execute(*m_lanes, verb, args) : kvlab::execute(*m_session, verb, args);
}

Result<std::unique_ptr<PendingTile>> SessionHolder::tile(const TileRequest& request) {
  return m_lanes ? m_lanes->tile(request) : kvlab::tile(*m_session, request);
}

SnapshotPtr SessionHolder::snapshot() const { return m_lanes ? m_lanes->snapshot() : m_session->snapshot(); }

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
  return m_lanes ? held(m_lanes->fork()) : held(m_session->fork());
}

/// Only the lanes publish: their sessions are consistent with each other only after all have done a tick.
void SessionHolder::connect() {
  const auto tell = [this](auto& part) {
    part.setPublish(m_publish);
    part.setProgress(m_progress);
    part.setBetweenTicks(m_betweenTicks);
  };
  if (m_lanes) tell(*m_lanes);
  else tell(*m_session);
}

void SessionHolder::announce() {
  connect();
  if (m_publish) m_publish(snapshot());
}

Result<json> SessionHolder::open(const json& args) {
  if (m_lanes)
    return Error("in_lockstep", "the lanes were not opened", "lanes are open already",
                 "close the lanes first, or fork one of them");
  m_lanes = KV_TRY(makeLanes(m_session, args));
  announce();
  return json{{"lanes", m_lanes->size()}};
}

Result<json> SessionHolder::close(const json& args) {
  if (!m_lanes) return Error("no_lanes", "the lanes were not closed", "there are none", "open some with lab.lanes");
  m_session = KV_TRY(releaseLane(*m_lanes, args));
  m_lanes.reset();
  announce();
  return json(nullptr);
}

}  // namespace kvlab
