// SPDX-License-Identifier: Apache-2.0
// The oracles: plays the steps of a sequence one by one in a session and reports the errors after each. The first
// finding ends a session, because others follow from it. Engine thread.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "property/random_sessions/probe.h"
#include "property/random_sessions/sequence.h"

namespace kvlab::random_sessions {

struct Failure {
  std::string kind;    // drift, entry_hash, invariant, refused_changed, ...
  std::string verb;    // verb of the step that showed it
  std::string code;    // distinguishes findings of one kind: an invariant, an error, the changed part
  std::string detail;  // in words
  bool same(const Failure& other) const { return kind == other.kind && verb == other.verb && code == other.code; }
};
json toJson(const Failure& finding);
Failure findingFromJson(const json& text);

/// The reports of a call's ticks; empty where it has none.
json reportsOf(const json& result);
bool failed(const json& reports);
/// Ticks before the failed one may stand.
bool mayHaveCommitted(const Step& step, const json& reports);
/// Refusals of undo, redo and goto that are no finding.
bool rightfulTravel(const std::string& code);

class Player {
 public:
  /// folder: where files of the sequence lie.
  Player(std::string folder, std::string resources) : m_folder(std::move(folder)), m_resources(std::move(resources)) {}

  Status open(const json& manifest);
  Session& session() { return *m_session; }
  std::optional<Failure> play(const Step& step);

  /// Refused calls, by verb.
  const std::map<std::string, int>& refused() const { return m_refused; }

 private:
  using Found = std::optional<Failure>;
  Found call(const Step& step);
  Found afterRefusal(const Step& step, const Error& error, const json& reports, const Digest& before);
  Found holds(const std::string& verb);
  Found measured(const Step& step);
  Found visited(const std::string& verb);
  Found driftless(const std::string& verb);
  Found saved(const Step& step);
  void takePolicies(Session& other);
  Found goesOn(Session& loaded, const std::string& form);
  Found captured();
  Found replayed(const std::string& verb, const std::string& path);
  Found forked();
  json apart(const std::string& verb, const std::function<json()>& tries) const;
  bool triesApart() const;
  Found faults(const Step& step);
  Found faultAt(int n, const std::string& kind, const Step& call);
  Found goesOnAfter(const std::string& verb);
  Found thereAndBack();
  Found startedOver();
  json resolved(json args) const;
  std::string ownPath(const char* name) const { return m_folder + "/" + name; }
  Result<std::unique_ptr<Session>> another() const;

  std::string m_folder, m_resources;
  std::unique_ptr<Session> m_session;
  std::map<int, std::string> m_hashes;  // hashes of timeline entries, as they were seen last
  std::string m_capture;                // being written
  bool m_policySet = false;             // by settings
  bool m_through = false;               // the failure that was armed never came
  bool m_faulty = false;                // a failure was armed: steps may fail and be repaired
  std::map<std::string, int> m_refused;
};

}  // namespace kvlab::random_sessions
