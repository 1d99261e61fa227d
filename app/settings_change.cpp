// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/settings_change.h"

#include <algorithm>

#include "core/api/action.h"
#include "core/api/manifest_list.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// One change of settings on its way: all verbs are sent at once, and their replies come in order.
class SettingsRun : public std::enable_shared_from_this<SettingsRun> {
 public:
  SettingsRun(LiveContext& context, std::vector<SettingsCall> calls, SettingsReply reply)
      : m_context(context), m_calls(std::move(calls)), m_reply(std::move(reply)) {
    for (const Action& action : context.session()->snapshot()->pending) m_pending.push_back(toJson(action));
  }

  void start() {
    if (m_calls.empty()) return m_reply(json(0));
    for (const SettingsCall& call : m_calls)
      m_context.submit(call.verb, call.args, &m_context,
                       [self = shared_from_this(), &call](const Result<json>& reply) { self->answered(call, reply); });
  }

 private:
  void answered(const SettingsCall& call, const Result<json>& reply) {
    if (reply) m_done.push_back(&call);
    else if (!m_refused) m_refused = atField(reply.error(), call);
    if (++m_answers < m_calls.size()) return;
    m_refused ? takeBack() : finish();
  }

  /// A form marks the field of the error.
  static Error atField(Error error, const SettingsCall& call) {
    const auto keys = manifestKeys();
    const bool known =
        std::any_of(keys.begin(), keys.end(), [&](const ManifestKey& one) { return one.key == error.field; });
    if (!known) error.field = call.key;
    return error;
  }

  void finish() {
    for (const SettingsCall* call : m_done)
      emit m_context.scripted(m_context.session()->script().line(call->verb, call->args));
    m_reply(json(m_done.size()));
  }

  /// Undo forgets pending actions, which are queued again.
  void takeBack() {
    std::vector<std::pair<std::string, json>> back;
    const auto commits = std::count_if(m_done.begin(), m_done.end(), [](const auto* one) { return !queues(*one); });
    if (commits) back.push_back({"undo", {{"n", commits}}});
    if (commits && !m_pending.empty()) back.push_back({"inject", {{"actions", m_pending}}});
    if (std::ssize(m_done) > commits) back.push_back({"opEvents", {{"on", !m_done.back()->args["on"].get<bool>()}}});
    if (back.empty()) return m_reply(*m_refused);
    for (std::size_t i = 0; i < back.size(); ++i)
      m_context.submit(back[i].first, back[i].second, &m_context,
                       [self = shared_from_this(), last = i + 1 == back.size()](const Result<json>& reply) {
                         if (!reply) emit self->m_context.failed(reply.error());
                         if (last) self->m_reply(*self->m_refused);
                       });
  }

  static bool queues(const SettingsCall& call) { return call.verb == "opEvents"; }

  LiveContext& m_context;
  std::vector<SettingsCall> m_calls;
  SettingsReply m_reply;
  std::vector<const SettingsCall*> m_done;
  std::optional<Error> m_refused;
  json m_pending = json::array();
  std::size_t m_answers = 0;
};

}  // namespace

void askSettings(LiveContext& context, QObject* receiver, SettingsReply reply) {
  context.query("settings", "policies", json::object(), receiver,
                [&context, reply = std::move(reply)](const Result<json>& policies) {
                  const auto session = context.session();
                  if (!policies) reply(policies.error());
                  else if (session && session->snapshot()) reply(manifestInForce(*session->snapshot(), *policies));
                });
}

void changeSettings(LiveContext& context, const json& wanted, SettingsReply reply) {
  context.submit("policies", json::object(), &context, [&context, wanted, reply](const Result<json>& policies) {
    if (!policies) return reply(policies.error());
    const SnapshotPtr now = context.session()->snapshot();
    Result<std::vector<SettingsCall>> calls =
        settingsCalls(manifestInForce(*now, *policies), wanted, now->info->cacheLayers.layers);
    if (!calls) return reply(calls.error());
    std::make_shared<SettingsRun>(context, calls.take(), reply)->start();
  });
}

}  // namespace kvlab
