// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/checks.h"

#include <algorithm>

#include "core/verbs/capture_session.h"
#include "property/random_sessions/verbs.h"

namespace kvlab::random_sessions {
namespace {

bool travels(const std::string& verb) {
  return verb == "undo" || verb == "redo" || verb == "goto" || verb == "runBack";
}

}  // namespace

json reportsOf(const json& result) {
  const json& all = result.is_object() && result.contains("ticks") ? result["ticks"] : result;
  if (all.is_array()) return !all.empty() && all[0].is_object() && all[0].contains("violations") ? all : json::array();
  return all.is_object() && all.contains("violations") ? json::array({all}) : json::array();
}

bool failed(const json& reports) { return !reports.empty() && reports.back().value("ok", true) == false; }

bool mayHaveCommitted(const Step& step, const json& reports) {
  if (reports.size() > 1) return true;
  const bool cutOff = step.args.is_object() && step.args.value("reports", json()) == json(reports.size());
  if (cutOff) return true;
  if (!reports.empty()) return !reports[0].value("token", json()).is_null();  // the token alone was added
  return step.verb == "refocus" && step.args.is_object() && step.args.value("rounds", json(1)) != json(1);
}

bool rightfulTravel(const std::string& code) {
  return code == "tick_open" || code == "nothing_to_undo" || code == "nothing_to_redo" || code == "out_of_range" ||
      code == "bad_argument" || code == "bad_condition" || code == "no_breakpoint" || code == "no_note" ||
      code == "note_lost" || code == "capturing" || code == "unknown_branch";
}

json toJson(const Failure& finding) {
  return {{"kind", finding.kind}, {"verb", finding.verb}, {"code", finding.code}, {"detail", finding.detail}};
}

Failure findingFromJson(const json& text) {
  return {text.value("kind", ""), text.value("verb", ""), text.value("code", ""), text.value("detail", "")};
}

Status Player::open(const json& manifest) {
  Result<Manifest> parsed = Manifest::fromJson(manifest);
  if (!parsed) return parsed.error();
  Result<std::unique_ptr<Session>> opened = openSession(*parsed, m_resources);
  if (!opened) return opened.error();
  m_session = opened.take();
  m_session->history().anchorEvery(20);  // sessions are short
  m_hashes[m_session->timeline().currentId()] = hashOf(*m_session);
  return ok();
}

/// A new session of the manifest that the session has now.
Result<std::unique_ptr<Session>> Player::another() const {
  Result<Manifest> parsed = Manifest::fromJson(m_session->manifest().toJson());
  if (!parsed) return parsed.error();
  return openSession(*parsed, m_resources);
}

json Player::resolved(json args) const {
  if (!args.is_object() || !args.contains("path") || !args["path"].is_string()) return args;
  const std::string path = args["path"];
  args["path"] =
      m_folder + "/" + (path.starts_with("@") ? path.substr(1) : std::to_string(std::hash<std::string>{}(path)));
  return args;
}

std::optional<Failure> Player::play(const Step& step) {
  if (step.verb == "#save") return saved(step);
  if (step.verb == "#cap") return captured();
  if (step.verb == "#fork") return forked();
  if (step.verb == "#fault") return faults(step);
  if (step.verb == "#travel") return thereAndBack();
  if (step.verb == "#reset") return startedOver();
  return call(step);
}

std::optional<Failure> Player::call(const Step& step) {
  const json args = resolved(step.args);
  const Digest before = digestOf(*m_session);
  const Result<json> result = execute(*m_session, step.verb, args);
  const json reports = result ? reportsOf(*result) : json::array();
  const bool refused = !result || failed(reports);
  if (refused) {
    ++m_refused[step.verb];
    const Error error = result ? Error::fromJson(reports.back()["error"]) : result.error();
    if (Found found = afterRefusal(step, error, reports, before)) return found;
  } else if (onlyReads(step.verb)) {
    if (const std::string what = difference(before, digestOf(*m_session)); !what.empty())
      return Failure{"read_changed", step.verb, what, "a reading call changed the " + what};
  }
  if (!refused && step.verb == "fault") m_faulty = true;
  if (!refused && step.verb == "settings" && step.args.dump().find("policy") != std::string::npos) m_policySet = true;
  if (!refused && step.verb == "reset") m_hashes.clear(), m_faulty = false;
  if (Found found = holds(step.verb)) return found;
  if (Found found = measured(step)) return found;
  if (Found found = visited(step.verb)) return found;
  if (!refused && step.verb == "rebuild")
    if (Found found = driftless(step.verb)) return found;
  if (!refused && step.verb == "startCapture") m_capture = args["path"];
  if (!refused && step.verb == "stopCapture" && !m_capture.empty() && !result->is_null())
    return replayed("stopCapture", std::exchange(m_capture, {}));
  return std::nullopt;
}

std::optional<Failure> Player::afterRefusal(const Step& step, const Error& error, const json& reports,
                                            const Digest& before) {
  if (m_faulty) return std::nullopt;
  if (travels(step.verb) && !rightfulTravel(error.code))
    return Failure{"travel_failed", step.verb, error.code, error.text()};
  const Digest after = digestOf(*m_session);
  if (after.broken && !before.broken) return Failure{"broken", step.verb, error.code, error.text()};
  if (mayHaveCommitted(step, reports)) return std::nullopt;
  const std::string what = difference(before, after);
  if (what.empty()) return std::nullopt;
  return Failure{"refused_changed", step.verb, error.code, "the refused call changed " + what + ": " + error.text()};
}

/// Every invariant in full, and the slots.
std::optional<Failure> Player::holds(const std::string& verb) {
  if (m_session->health().status == SessionState::Broken) return std::nullopt;
  const Result<json> all = test::scripted(*m_session, "invariants");
  if (!all) return Failure{"invariants_refused", verb, all.error().code, all.error().text()};
  for (const json& one : *all)
    if (!one["ok"]) return Failure{"invariant", verb, one["id"], one["detail"]};
  if (const std::string what = slotsAmiss(*m_session); !what.empty())
    return Failure{"slots", verb, what.substr(0, what.find(':')), what};
  return std::nullopt;
}

/// An entry of the timeline has the hash that it had when the session stood there before.
std::optional<Failure> Player::visited(const std::string& verb) {
  const int entry = m_session->timeline().currentId();
  const std::string hash = hashOf(*m_session);
  const auto known = m_hashes.find(entry);
  const bool differs = known != m_hashes.end() && known->second != hash;
  m_hashes[entry] = hash;
  if (!differs || m_faulty) return std::nullopt;
  return Failure{"entry_hash", verb, "", "entry " + std::to_string(entry) + " of the timeline has another state hash"};
}

std::optional<Failure> Player::driftless(const std::string& verb) {
  if (m_session->manifest().keyPhase != "on_read" || m_session->health().status == SessionState::Broken)
    return std::nullopt;
  const Result<json> drift = execute(*m_session, "drift", nullptr);
  if (!drift && m_faulty && drift.error().code == "fault") return std::nullopt;  // it was asked for
  if (!drift) return Failure{"drift_refused", verb, drift.error().code, drift.error().text()};
  const auto isNull = [](const json& value) { return value.is_number() && value.get<double>() == 0; };
  for (const char* which : {"k", "v"})
    for (std::size_t layer = 0; layer < (*drift)[which].size(); ++layer)
      if (!isNull((*drift)[which][layer])) return Failure{"drift", verb, "rows", drift->dump()};
  if (m_session->state().length() > 0 && !isNull((*drift)["kl"]))
    return Failure{"drift", verb, "logits", drift->dump()};
  return std::nullopt;
}

}  // namespace kvlab::random_sessions
