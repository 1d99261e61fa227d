// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/engine_ask.h"

#include <QPointer>

#include "core/api/guarded.h"

namespace kvlab {

EngineAsk::EngineAsk(InspectorContext& context, InspectorView* view, std::string tag)
    : m_context(context), m_view(view), m_tag(std::move(tag)) {
  view->m_waits.emplace_back([this] { return waiting(); });
}

void EngineAsk::forget() {
  ++m_round;
  m_open = 0;
}

template <class Take>
auto EngineAsk::begin(Take take) {
  if (m_session != m_context.sessionNumber()) forget();
  m_session = m_context.sessionNumber();
  ++m_open;
  return [this, round = m_round, take = std::move(take)](const auto& answer) {
    if (round != m_round || !waiting()) return;
    --m_open;
    InspectorContext& context = m_context;  // outlives the view
    const QPointer<InspectorView> view(m_view);
    const Status taken = guarded("a reply of the engine was not shown", [&] { return take(answer), ok(); });
    if (!taken) emit context.failed(taken.error());
    if (view) emit view->readyChanged();
  };
}

void EngineAsk::query(const std::string& verb, const nlohmann::json& args, Reply reply) {
  forget();
  alsoQuery({}, verb, args, std::move(reply));
}

void EngineAsk::alsoQuery(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply) {
  m_context.query(m_tag + tag, verb, args, m_view, begin(std::move(reply)));
}

void EngineAsk::alsoQueryShown(const std::string& tag, const std::string& verb, const nlohmann::json& args,
                               Reply reply) {
  if (m_context.following()) return alsoQuery(tag, verb, args, std::move(reply));
  const std::int64_t tick = m_context.snapshot()->tick.value();
  alsoQuery(tag, "at", {{"tick", tick}, {"verb", verb}, {"args", args}}, std::move(reply));
}

void EngineAsk::submit(const std::string& verb, const nlohmann::json& args, Reply reply) {
  forget();
  m_context.submit(verb, args, m_view, begin(std::move(reply)));
}

void EngineAsk::run(const QString& command, const nlohmann::json& args, Reply reply) {
  forget();
  m_context.runCommand(command, args, m_view, begin(std::move(reply)));
}

void EngineAsk::fetch(const TileRequest& request, TileReply reply) {
  forget();
  m_context.fetch(m_tag, request, m_view, begin(std::move(reply)));
}

}  // namespace kvlab
