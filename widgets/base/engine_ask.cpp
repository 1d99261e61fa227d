// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/engine_ask.h"

#include "core/api/guarded.h"

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

template <class Taker, class Answer>
void EngineAsk::end(quint64 round, const Taker& take, const Answer& answer) {
  if (round != m_round || !waiting()) return;
  --m_open;
  InspectorContext& context = m_context;  // outlives the view
  const Status taken = guarded("a reply of the engine was not shown", [&] { return take(answer), ok(); });
  if (!taken) emit context.failed(taken.error());
}

void EngineAsk::query(const std::string& verb, const nlohmann::json& args, Reply reply) {
  forget();
  alsoQuery({}, verb, args, std::move(reply));
}

void EngineAsk::alsoQuery(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply) {
  const quint64 round = begin();
  m_context.query(m_tag + tag, verb, args, m_receiver,
                  [this, round, reply = std::move(reply)](const auto& result) { end(round, reply, result); });
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
  m_context.submit(verb, args, m_receiver,
                   [this, round, reply = std::move(reply)](const auto& result) { end(round, reply, result); });
}

void EngineAsk::run(const QString& command, const nlohmann::json& args, Reply reply) {
  forget();
  const quint64 round = begin();
  m_context.runCommand(command, args, m_receiver,
                       [this, round, reply = std::move(reply)](const auto& result) { end(round, reply, result); });
}

void EngineAsk::fetch(const TileRequest& request, TileReply reply) {
  forget();
  const quint64 round = begin();
  m_context.fetch(
      m_tag, request, m_receiver,
      [this, round, reply = std::move(reply)](std::shared_ptr<const Tile> tile) { end(round, reply, tile); });
}

}  // namespace kvlab
