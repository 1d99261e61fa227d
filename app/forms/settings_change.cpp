// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/settings_change.h"

#include <algorithm>

#include "core/api/action.h"
#include "core/api/manifest_list.h"
#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// One change of settings on its way: all verbs are sent at once, and their replies come in order. It ends with its
/// reply, at the latest when the window shows another session or none.
class SettingsRun : public QObject {
 public:
  SettingsRun(LiveContext& context, json wanted, SettingsReply reply)
      : QObject(&context), m_context(context), m_wanted(std::move(wanted)), m_reply(std::move(reply)) {
    connect(&context, &InspectorContext::sessionChanged, this, [this] { end(sessionGone()); });
  }

  void start() {
    m_context.submit("policies", json::object(), this, [this](const Result<json>& policies) {
      if (!policies) return end(policies.error());
      const SnapshotPtr now = m_context.session()->snapshot();
      auto calls = settingsCalls(manifestInForce(*now, *policies), m_wanted, now->info->cacheLayers.layers);
      if (!calls) return end(calls.error());
      for (const Action& action : now->pending) m_pending.push_back(toJson(action));
      send(calls.take());
    });
  }

 private:
  void send(std::vector<SettingsCall> calls) {
    m_calls = std::move(calls);
    if (m_calls.empty()) return end(json(0));
    for (const SettingsCall& call : m_calls)
      m_context.submit(call.verb, call.args, this, [this, &call](const Result<json>& reply) { answered(call, reply); });
  }

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
    end(json(m_done.size()));
  }

  /// Undo forgets pending actions, which are queued again.
  void takeBack() {
    std::vector<std::pair<std::string, json>> back;
    const auto commits = std::count_if(m_done.begin(), m_done.end(), [](const auto* one) { return !queues(*one); });
    if (commits) back.push_back({"undo", {{"n", commits}}});
    if (commits && !m_pending.empty()) back.push_back({"inject", {{"actions", m_pending}}});
    if (std::ssize(m_done) > commits)
      back.push_back({"opEvents", {{"on", !memberOr(m_done.back()->args, "on", false)}}});
    if (back.empty()) return end(*m_refused);
    for (std::size_t i = 0; i < back.size(); ++i)
      m_context.submit(back[i].first, back[i].second, this,
                       [this, last = i + 1 == back.size()](const Result<json>& reply) {
                         if (!reply) emit m_context.failed(reply.error());
                         if (last) end(*m_refused);
                       });
  }

  static bool queues(const SettingsCall& call) { return call.verb == "opEvents"; }

  /// Calls that were still on their way may reach a session that a script keeps.
  Error sessionGone() const {
    std::string done;
    for (const SettingsCall* call : m_done) done += (done.empty() ? "" : ", ") + call->key;
    return {"closed_session", "the change of the settings was not finished",
            "the session was closed, or another one took its place, after " +
                (done.empty() ? "no setting had changed" : "these settings had changed: " + done),
            "change the settings of the session that is open now; where a script keeps the session before it, look at "
            "its settings there"};
  }

  void end(const Result<json>& reply) {
    const SettingsReply answer = std::move(m_reply);
    delete this;  // no other reply reaches the run
    answer(reply);
  }

  LiveContext& m_context;
  json m_wanted;
  SettingsReply m_reply;
  std::vector<SettingsCall> m_calls;
  std::vector<const SettingsCall*> m_done;
  std::optional<Error> m_refused;
  json m_pending = json::array();
  std::size_t m_answers = 0;
};

}  // namespace

void askSettings(LiveContext& context, QObject* receiver, SettingsReply reply) {
  context.query("settings", "policies", json::object(), receiver,
                [&context, number = context.sessionNumber(), reply = std::move(reply)](const Result<json>& policies) {
                  const auto session = context.session();
                  if (!policies) reply(policies.error());
                  else if (number == context.sessionNumber() && session && session->snapshot())
                    reply(manifestInForce(*session->snapshot(), *policies));
                });
}

void changeSettings(LiveContext& context, const json& wanted, SettingsReply reply) {
  (new SettingsRun(context, wanted, std::move(reply)))->start();
}

}  // namespace kvlab
