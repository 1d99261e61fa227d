// SPDX-License-Identifier: Apache-2.0
// The oracles that try something in a copy of the process, so that the session itself stays unaffected: a call that
// fails at each of its steps, all of history back and forth, a reset.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "property/random_sessions/checks.h"

namespace kvlab::random_sessions {
namespace {

constexpr int kMostSteps = 4000;

FaultPoint pointOf(const std::string& kind) {
  if (kind == "allocation") return FaultPoint::Allocation;
  return kind == "kernel" ? FaultPoint::Kernel : FaultPoint::Copy;
}

}  // namespace

/// The reply of `tries` in a copy of this process; a crash there is a finding of `verb`.
json Player::apart(const std::string& verb, const std::function<json()>& tries) const {
  const std::string path = ownPath("apart");
  const pid_t child = fork();
  if (child == 0) {
    m_session->history().setCapture(nullptr);  // its file belongs to the session
    std::ofstream(path) << tries().dump(-1, ' ', false, json::error_handler_t::replace);
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::ifstream file(path);
  const json out = json::parse(file, nullptr, false);
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && out.is_object()) return out;
  return {{"finding", toJson(Failure{"crash", verb, "apart", "status " + std::to_string(status)})}};
}

/// A copy of the process has one thread. After an armed failure much is allowed.
bool Player::triesApart() const {
  return !m_faulty && !m_session->stage() && m_session->manifest().threads == 1 &&
      m_session->health().status != SessionState::Broken;
}

std::optional<Failure> Player::faults(const Step& step) {
  if (!triesApart()) return std::nullopt;
  const std::string kind = step.args[0];
  const Step call{step.args[1], step.args[2]};
  for (int n = 1; n < kMostSteps; n += 1 + n / 8) {
    const json out = apart(call.verb, [&] {
      const Found found = faultAt(n, kind, call);
      return json{{"through", m_through}, {"finding", found ? toJson(*found) : json()}};
    });
    if (out.contains("finding") && !out["finding"].is_null()) {
      Failure found = findingFromJson(out["finding"]);
      found.detail = kind + " " + std::to_string(n) + " of " + call.verb + ": " + found.detail;
      return found;
    }
    if (out.value("through", false)) return std::nullopt;
  }
  return std::nullopt;
}

/// The n-th step of the call fails: the old state is left, or the state with what stood before the failure, or a
/// rebuild; and the session goes on.
std::optional<Failure> Player::faultAt(int n, const std::string& kind, const Step& call) {
  FaultDoor& door = m_session->parts().faults;
  const Digest before = digestOf(*m_session);
  door.arm(pointOf(kind), n);
  const Result<json> result = execute(*m_session, call.verb, resolved(call.args));
  m_through = door.armed();
  door.disarm();
  if (m_through) return std::nullopt;
  const json reports = result ? reportsOf(*result) : json::array();
  const bool broken = m_session->health().status == SessionState::Broken;
  if (broken && call.verb != "rebuild") return Failure{"fault_broke", call.verb, kind, m_session->health().reason};
  if (broken)
    if (const Result<json> mended = execute(*m_session, "rebuild", nullptr); !mended)
      return Failure{"fault_broke", call.verb, mended.error().code, mended.error().text()};
  if (Found found = holds(call.verb)) return found->kind = "fault_" + found->kind, found;
  const bool refused = !result || failed(reports);
  if (refused && digestOf(*m_session).rows != before.rows && !mayHaveCommitted(call, reports))
    if (Found found = driftless(call.verb))
      return Failure{"fault_changed", call.verb, kind,
                     difference(before, digestOf(*m_session)) + ", and it is no rebuild: " + found->detail};
  return goesOnAfter(call.verb);
}

/// A token and an undo.
std::optional<Failure> Player::goesOnAfter(const std::string& verb) {
  const std::string left = hashOf(*m_session);
  const int entry = m_session->timeline().currentId();
  const Result<json> ticks = execute(*m_session, "step", {{"tokens", {5}}});
  if (Found found = holds(verb)) return found->kind = "fault_then_" + found->kind, found;
  if (!ticks || failed(*ticks)) return std::nullopt;
  while (m_session->timeline().currentId() != entry)
    if (const Result<json> back = execute(*m_session, "undo", nullptr); !back)
      return Failure{"fault_then_travel", verb, back.error().code, back.error().text()};
  if (hashOf(*m_session) == left) return std::nullopt;
  return Failure{"fault_then_entry_hash", verb, "", "undo does not bring back what the failure left"};
}

/// Undo to the start, redo to the end: each entry has the hash that was seen there.
std::optional<Failure> Player::thereAndBack() {
  if (!triesApart()) return std::nullopt;
  const json out = apart("#travel", [&] {
    for (const char* verb : {"undo", "redo"})
      for (;;) {
        const Result<json> went = execute(*m_session, verb, nullptr);
        if (!went && rightfulTravel(went.error().code)) break;
        if (!went)
          return json{{"finding", toJson(Failure{"travel_failed", verb, went.error().code, went.error().text()})}};
        Found found = holds(verb);
        if (!found) found = visited(verb);
        if (found) return json{{"finding", toJson(*found)}};
      }
    return json::object();
  });
  if (!out.contains("finding")) return std::nullopt;
  return findingFromJson(out["finding"]);
}

/// After a reset the same commands lead to the same state, where the storage is still that of the manifest.
std::optional<Failure> Player::startedOver() {
  const SessionParts& parts = m_session->parts();
  if (!triesApart() || parts.manifest.toJson() != parts.opened.toJson()) return std::nullopt;
  const json out = apart("#reset", [&] {
    const std::string reached = hashOf(*m_session);
    const std::vector<PastCommand> commands = m_session->history().commands(m_session->timeline().currentId());
    const auto finding = [](const char* kind, const std::string& verb, const Error& error) {
      return json{{"finding", toJson(Failure{kind, verb, error.code, error.text()})}};
    };
    if (const Result<json> done = execute(*m_session, "reset", nullptr); !done)
      return finding("reset_refused", "reset", done.error());
    for (const PastCommand& one : commands) {
      (void)execute(*m_session, "clearPending", nullptr);  // each command brings its own
      if (const Result<json> done = m_session->history().executeAgain(*m_session, one); !done)
        return finding("reset_then", one.verb, done.error());
    }
    if (hashOf(*m_session) == reached) return json::object();
    return finding("reset_then", "hash", Error("differs", "the same commands led to another state", "", ""));
  });
  if (!out.contains("finding")) return std::nullopt;
  return findingFromJson(out["finding"]);
}

}  // namespace kvlab::random_sessions
