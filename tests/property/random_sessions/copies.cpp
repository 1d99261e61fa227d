// SPDX-License-Identifier: Apache-2.0
// The oracles that make a second session: saved and loaded, captured and replayed, forked.
#include <algorithm>

#include "core/session/requests.h"
#include "core/verbs/capture_session.h"
#include "property/random_sessions/checks.h"
#include "support/scripted.h"

namespace kvlab::random_sessions {
namespace {

/// True if saveCache refuses rightly, as its documentation says.
bool rightfulRefusal(const Session& session, const std::string& form, const std::string& code) {
  const KindState& kind = *session.state().kind;
  if (code == "speculating") return kind.draftedFrom() != nullptr;
  if (code == "unsupported") return form != "native" && (kind.derivesContext() || session.cacheLayers().byHead());
  if (form == "native") return code == "other_format" && session.manifest().keyPhase == "at_write";
  if (code == "ragged") return session.manifest().position == PositionMode::Cache;
  return code == "empty" || code == "not_finite";
}

/// Heads that share a budget may hold more rows than the capacity of the session that takes the file.
bool aHeadIsLonger(const Session& session) {
  return std::ranges::any_of(session.state().layers(), [&](CacheLayer layer) {
    return session.manifest().capacity > 0 && session.state().map(layer).size() > at(session.manifest().capacity);
  });
}

/// The first invariant that a copy breaks.
std::optional<Failure> wrongIn(Session& copy, const char* verb) {
  const Result<json> all = test::scripted(copy, "invariants");
  if (!all) return Failure{"invariants_refused", verb, all.error().code, all.error().text()};
  for (const json& one : *all)
    if (!one["ok"]) return Failure{"invariant", verb, one["id"], "in the copy: " + one["detail"].dump()};
  return std::nullopt;
}

/// Two ticks: the tokens and the state they lead to, or the error.
json twoTicks(Session& session) {
  clearPending(session);
  (void)execute(session, "clearBreaks", nullptr);  // no part of a file
  const Result<json> ticks = execute(session, "step", {{"n", 2}});
  if (!ticks) return ticks.error().code;
  json out = json::array();
  for (const json& tick : *ticks) out.push_back(tick["ok"].get<bool>() ? tick["token"] : tick["error"]["code"]);
  return out;
}

/// The data that a capture keeps beside the content: breakpoints and notes.
json asides(Session& session) {
  const Result<json> breaks = test::scripted(session, "breaks"), notes = test::scripted(session, "notes");
  json said = json::array();
  for (const json& note : *notes)
    said.push_back({note["id"], note["text"], note["tick"], note["layer"], note["ledger"]});
  return {{"breaks", *breaks}, {"notes", said}};
}

}  // namespace

/// A manifest names the policies that a session was opened with; setPolicy has given this one others.
void Player::takePolicies(Session& other) {
  const Result<json> all = execute(*m_session, "policies", nullptr);
  if (!all) return;
  for (const json& layer : (*all)["layers"])
    (void)execute(other, "settings",
                  {{"layers", json::array({{{"match", layer["layer"]}, {"policy", layer["spec"]}}})}});
}

std::optional<Failure> Player::saved(const Step& step) {
  const std::string form = step.args[0], path = ownPath("saved");
  if (m_session->health().status == SessionState::Broken) return std::nullopt;
  const Digest before = digestOf(*m_session);
  const Result<json> written = execute(*m_session, "saveCache", {{"path", path}, {"form", form}});
  if (const std::string what = difference(before, digestOf(*m_session)); !what.empty())
    return Failure{"read_changed", "#save", what, "saving changed the " + what};
  if (!written) {
    if (rightfulRefusal(*m_session, form, written.error().code)) return std::nullopt;
    return Failure{"save_refused", "#save", written.error().code, written.error().text()};
  }
  Result<std::unique_ptr<Session>> opened = another();
  if (!opened) return Failure{"not_opened_again", "#save", opened.error().code, opened.error().text()};
  Session& loaded = **opened;
  if (m_policySet) takePolicies(loaded);
  const Result<json> read = execute(loaded, "loadCache", {{"path", path}});
  if (!read && read.error().code == "capacity" && aHeadIsLonger(*m_session)) return std::nullopt;
  if (!read) return Failure{"load_refused", "#save", form + " " + read.error().code, read.error().text()};
  if (Found found = wrongIn(loaded, "#save")) return found;
  if (form != "native") return std::nullopt;
  if (hashOf(loaded) != before.rows) return Failure{"load_hash", "#save", "", "the file brought another state"};
  return step.args.size() > 1 && step.args[1] == true ? goesOn(loaded, form) : std::nullopt;
}

std::optional<Failure> Player::goesOn(Session& loaded, const std::string&) {
  Result<std::unique_ptr<Session>> fork = m_session->fork();
  if (!fork) return Failure{"fork_refused", "#save", fork.error().code, fork.error().text()};
  const json here = twoTicks(**fork), there = twoTicks(loaded);
  if (here != there)
    return Failure{"load_goes_on", "#save", "tokens",
                   "the session goes on with " + here.dump() + ", the loaded one with " + there.dump()};
  if (hashOf(**fork) != hashOf(loaded))
    return Failure{"load_goes_on", "#save", "state", "the same two tokens lead to different states"};
  return std::nullopt;
}

std::optional<Failure> Player::captured() {
  if (m_session->health().status == SessionState::Broken) return std::nullopt;
  const std::string path = ownPath("capture");
  const Digest before = digestOf(*m_session);
  const Result<json> written = execute(*m_session, "saveCapture", {{"path", path}});
  if (!written) return Failure{"capture_refused", "#cap", written.error().code, written.error().text()};
  if (const std::string what = difference(before, digestOf(*m_session)); !what.empty())
    return Failure{"read_changed", "#cap", what, "saving a capture changed the " + what};
  return replayed("#cap", path);
}

/// The verb of a finding is the recorded one that first went otherwise.
std::optional<Failure> Player::replayed(const std::string& verb, const std::string& path) {
  if (m_faulty) return std::nullopt;  // a failure that was armed is no part of a capture
  const Result<Replay> replay = replayCapture(path, m_resources, {.to = {}, .verify = true});
  if (!replay) return Failure{"replay_refused", verb, replay.error().code, replay.error().text()};
  for (const ReplayStep& one : replay->steps)
    if (!one.ok)
      return Failure{one.error ? "replay_failed" : "replay_hash", one.verb, one.error ? one.error->code : "",
                     toJson(one).dump()};
  const json here = asides(*m_session), there = asides(*replay->session);
  if (here != there) return Failure{"replay_asides", verb, "end", here.dump() + " became " + there.dump()};
  if (hashOf(*replay->session) == hashOf(*m_session)) return std::nullopt;
  return Failure{"replay_hash", verb, "end", "the replay ends in another state"};
}

std::optional<Failure> Player::forked() {
  if (m_session->health().status == SessionState::Broken) return std::nullopt;
  const Digest before = digestOf(*m_session);
  Result<std::unique_ptr<Session>> made = m_session->fork();
  if (!made) return Failure{"fork_refused", "#fork", made.error().code, made.error().text()};
  Session& fork = **made;
  if (hashOf(fork) != before.rows) return Failure{"fork_hash", "#fork", "", "the fork begins in another state"};
  clearPending(fork);
  (void)execute(fork, "clearBreaks", nullptr);  // a stage would keep its tick open
  const Result<json> ticked = execute(fork, "step", {{"tokens", {5}}});
  const bool done = ticked && (*ticked)[0]["ok"].get<bool>();
  if (Found found = wrongIn(fork, "#fork")) return found;
  if (done) {
    const Result<json> back = execute(fork, "undo", nullptr);
    if (!back) return Failure{"travel_failed", "#fork", back.error().code, back.error().text()};
    if (hashOf(fork) != before.rows) return Failure{"entry_hash", "#fork", "", "undo in the fork leads elsewhere"};
  }
  if (const std::string what = difference(before, digestOf(*m_session)); !what.empty())
    return Failure{"read_changed", "#fork", what, "the fork changed the original's " + what};
  return std::nullopt;
}

}  // namespace kvlab::random_sessions
