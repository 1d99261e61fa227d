// SPDX-License-Identifier: Apache-2.0
#include "core/session/truth.h"

#include <algorithm>
#include <limits>

#include "core/bugs/bug_kind.h"
#include "core/check/fault_drill.h"
#include "core/files/fingerprint.h"
#include "core/session/state_hash.h"

namespace kvlab {
namespace {

RebuildInput inputOf(Session& session) {
  SessionParts& parts = session.parts();
  return {session.state(), *parts.transformer, parts.faults, parts.manifest.position == PositionMode::Cache};
}

Status ready(const Session& session, Capability capability, const char* what) {
  KV_TRY(session.usable());
  return session.kind().allows(session.parts(), capability, what);
}

}  // namespace

Status refreshLogits(Session& session) {
  if (!session.state().logitsStale || session.state().length() == 0) return ok();
  return session.look([&](CallContext& call) -> Status {
    call.makeRoom(1, Placing::Look);
    Result<CacheState> fresh = session.kind().query(session.state(), session.ticker(call).rules(session.state()), call);
    if (!fresh) return fresh.error();
    session.refine(fresh.take());
    return ok();
  });
}

Result<Drift> measureDrift(Session& session) {
  KV_TRY(refreshLogits(session));
  Result<Drift> measured = session.look([&](CallContext& call) { return session.kind().drift(session.state(), call); });
  if (!measured) return measured;
  session.measured().drift = *measured;
  session.publish();
  return measured;
}

Result<Quantisation> measureQuantisation(Session& session, const RowTypes& types) {
  KV_TRY(ready(session, Capability::QuantisationError, "quantisation was not measured"));
  RebuildInput input = inputOf(session);
  input.types = types;
  Result<Quantisation> measured = kvlab::measureQuantisation(input, session.parts().store, session.progress());
  if (!measured || types.given()) return measured;
  session.measured().quantisation = *measured;
  session.publish();
  return measured;
}

Result<Lifespans> recordLifespans(Session& session, const LifespanRules& rules) {
  KV_TRY(ready(session, Capability::KeyLifespans, "no lifespans were recorded"));
  const RebuildInput input{session.state(), session.transformer(), session.parts().faults};
  Result<Lifespans> recorded = kvlab::recordLifespans(input, session.parts().store, rules, session.progress());
  if (recorded) recorded->model = modelFingerprint(session.model());
  return recorded;
}

Result<std::vector<std::vector<float>>> attentionPerHead(Session& session, CacheLayer layer) {
  std::vector<std::vector<float>> out;
  const CacheState& state = session.state();
  if (state.length() == 0) return out;
  KV_TRY(session.kind().allows(session.parts(), Capability::HeadAttention, "attention by head was not measured"));
  Result<CacheState> seen = session.look([&](CallContext& call) {
    call.makeRoom(1, Placing::Look);
    TransactionRules rules = session.ticker(call).rules(state);
    rules.wanted.newestPerHead = InLayers::All;
    return session.kind().query(state, rules, call);
  });
  if (!seen) return seen.error();
  const std::vector<float>& all = seen->attention->perHead[at(layer)];
  const std::size_t rows = state.map(layer).size();
  for (int head = 0; head < session.model().config().heads / session.cacheLayers().perLayer; ++head) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at(head) * (rows + 1));
    out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(rows));
  }
  return out;
}

void keepAttention(Session& session) { session.watching().attentionUntil = std::numeric_limits<std::int64_t>::max(); }

void keepAttentionForNow(Session& session) {
  constexpr std::int64_t kTicks = 64;
  std::int64_t& until = session.watching().attentionUntil;
  until = std::max(until, session.state().tick.value() + kTicks);
}

const ExactnessMap& exactnessMap(const Session& session) {
  std::optional<ExactnessMap>& map = session.measured().exactness;
  if (!map) map = session.kind().exactness(session.parts(), session.state());
  return *map;
}

std::string stateHash(const Session& session) { return stateHash(session.state(), session.store(), session.pending()); }

std::string textOf(const Session& session, LedgerId id) {
  return session.model().tokenizer().tokenText(session.state().ledger[id].token);
}

namespace {

Status doorOpen(const Session& session, const char* what) {
  if (session.parts().manifest.faults) return ok();
  return Error("door_closed", what, "the fault drill is closed", "open the session with \"faults\": true", "faults",
               false);
}

}  // namespace

Status plantBug(Session& session, const std::string& name) {
  KV_TRY(doorOpen(session, "the bug was not planted"));
  const BugKind* bug = bugNamed(name);
  if (!bug && !name.empty()) {
    std::string all;
    for (const BugKind& one : bugKinds()) all.append(all.empty() ? "" : ", ").append(one.name);
    return Error("bad_bug", "the bug was not planted", name + " is not one of " + all, "choose one of these", "name",
                 name);
  }
  SessionParts& parts = session.parts();
  parts.faults.plant(bug);
  parts.transformer->setWeights(bug && bug->weights ? bug->weights(parts.weights) : parts.weights);
  return ok();
}

Result<nlohmann::json> fault(Session& session, const std::string& kind, const nlohmann::json& params) {
  SessionParts& parts = session.parts();
  KV_TRY(doorOpen(session, "the fault was refused"));
  Commit commit{session.state()};
  const auto known = std::ranges::find(faultKinds(), kind, &FaultKind::kind);
  if (known != faultKinds().end() && known->caughtBy.empty())
    return injectFault(kind, params, commit.state, parts.store, parts.faults);
  nlohmann::json done;
  const auto damage = [&](CallContext&) -> Result<Commit> {
    done = KV_TRY(injectFault(kind, params, commit.state, parts.store, parts.faults));
    commit.severed = parts.store.log().empty();  // a damaged map does not tell where rows lie
    const CacheLayer layer(done.value("layer", 0));
    for (const char* row : {"index", "other"})
      if (done.contains(row)) {
        const ResidencyView& map = session.state().map(layer);
        commit.damaged.emplace_back(layer, map.ledger[done[row].get<std::size_t>()]);
      }
    return std::move(commit);
  };
  // A fault lies in wait for a check.
  KV_TRY(session.change(damage, Session::Check::None));
  return done;
}

}  // namespace kvlab
