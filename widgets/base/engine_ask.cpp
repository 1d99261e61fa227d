// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/engine_ask.h"

namespace kvlab {

EngineAsk::EngineAsk(InspectorContext& context, QObject* receiver, std::string tag)
    : m_context(context), m_receiver(receiver), m_tag(std::move(tag)) {}

void EngineAsk::forget() {
  ++m_round;
  m_open = 0;
}

quint64 EngineAsk::begin() {
  if (m_session != m_context.sessionNumber()) forget();
  m_session = m_context.sessionNumber();
  ++m_open;
  return m_round;
}

bool EngineAsk::end(quint64 round) {
  if (round != m_round || !waiting()) return false;
  --m_open;
  return true;
}

void EngineAsk::query(const std::string& verb, const nlohmann::json& args, Reply reply) {
  forget();
  alsoQuery({}, verb, args, std::move(reply));
}

void EngineAsk::alsoQuery(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply) {
  const quint64 round = begin();
  m_context.query(m_tag + tag, verb, args, m_receiver, [this, round, reply = std::move(reply)](const auto& result) {
    if (end(round)) reply(result);
  });
}

void EngineAsk::alsoQueryShown(const std::string& tag, const std::string& verb, const nlohmann::json& args,
                               Reply reply) {
  if (m_context.following()) return alsoQuery(tag, verb, args, std::move(reply));
  const std::int64_t tick = m_context.snapshot()->tick.value();
  alsoQuery(tag, "at", {{"tick", tick}, {"verb", verb}, {"args", args}}, std::move(reply));
}

void EngineAsk::submit(const std::string& verb, const nlohmann::json& args, Reply reply) {
  forget();
  const quint64 round = begin();
  m_context.submit(verb, args, m_receiver, [this, round, reply = std::move(reply)](const auto& result) {
    if (end(round)) reply(result);
  });
}

void EngineAsk::run(const QString& command, const nlohmann::json& args, Reply reply) {
  forget();
  const quint64 round = begin();
  m_context.runCommand(command, args, m_receiver, [this, round, reply = std::move(reply)](const auto& result) {
    if (end(round)) reply(result);
  });
}

void EngineAsk::fetch(const TileRequest& request, TileReply reply) {
  forget();
  const quint64 round = begin();
  m_context.fetch(m_tag, request, m_receiver,
                  [this, round, reply = std::move(reply)](std::shared_ptr<const Tile> tile) {
                    if (end(round)) reply(std::move(tile));
                  });
}

}  // namespace kvlab
