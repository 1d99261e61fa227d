// SPDX-License-Identifier: Apache-2.0
#include "core/session/truth.h"

#include <algorithm>
#include <limits>

#include "core/bugs/bug_kind.h"
#include "core/check/fault_drill.h"
#include "core/files/fingerprint.h"
#include "core/session/attention_error.h"
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
    session.refine(KV_TRY(session.kind().query(session.state(), session.ticker(call).rules(session.state()), call)));
    return ok();
  });
}

Result<Drift> measureDrift(Session& session, bool attention) {
  KV_TRY(refreshLogits(session));
  Drift measured = KV_TRY(session.look([&](CallContext& call) { return session.kind().drift(session.state(), call); }));
  const std::optional<Drift>& before = session.measured().drift;
  if (before) measured.attention = before->attention;
  if (attention) {
    KV_TRY(ready(session, Capability::HeadAttention, "the error of attention was not measured"));
    const ClosedDoor closed(session.parts().faults);
    measured.attention = std::make_shared<const AttentionErrors>(
        KV_TRY(attentionErrors(inputOf(session), session.parts().store, session.progress())));
  }
  session.measured().drift = measured;
  session.publish();
  return measured;
}

Result<Quantisation> measureQuantisation(Session& session, const RowTypes& types) {
  KV_TRY(ready(session, Capability::QuantisationError, "quantisation was not measured"));
  const ClosedDoor closed(session.parts().faults);
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
  const ClosedDoor closed(session.parts().faults);
  const RebuildInput input{session.state(), session.transformer(), session.parts().faults};
  Result<Lifespans> recorded = kvlab::recordLifespans(input, session.parts().store, rules, session.progress());
  if (recorded) recorded->model = modelFingerprint(session.model());
  return recorded;
}

namespace {

/// The score that the gate of a head gave each token of the context; NaN where the gate was not evaluated.
std::vector<float> predictedOf(const CacheState& state, const Column<float>& scores, std::size_t head,
                               std::size_t heads) {
  std::vector<float> out;
  for (const LedgerId id : state.context) {
    const std::size_t from = static_cast<std::size_t>(id.value()) * heads;
    out.push_back(from + heads <= scores.size() ? scores[from + head] : std::numeric_limits<float>::quiet_NaN());
  }
  return out;
}

std::vector<HeadLifespans> layerOf(const CacheState& state, const Column<float>& scores, const LayerLifespans& found,
                                   std::size_t heads, std::size_t points) {
  std::vector<HeadLifespans> out;
  const auto rows = static_cast<std::size_t>(state.length());
  bool any = false;
  for (std::size_t head = 0; head < heads; ++head) {
    out.push_back(headLifespans(predictedOf(state, scores, head, heads),
                                std::span(found.label).subspan(head * rows, rows),
                                std::span(found.censored).subspan(head * rows, rows), points));
    any = any || out.back().rows > 0;
  }
  if (!any) out.clear();
  return out;
}

}  // namespace

Result<std::shared_ptr<const LifespanView>> measureLifespans(Session& session, std::size_t points) {
  KV_TRY(session.usable());
  const CacheState& state = session.state();
  if (state.gateScores.empty())
    return Error("no_gates", "no lifespans were measured", "no gate has predicted any",
                 "give a layer the policy smartkv, then prompt or step");
  const LifespanRules rules{.keys = false};
  const Lifespans found = KV_TRY(recordLifespans(session, rules));
  const std::shared_ptr<const LifespanView>& last = session.watching().lifespans;
  LifespanView view{last ? last->serial + 1 : 1, state.tick, found.rows, rules.threshold, {}};
  const auto heads = static_cast<std::size_t>(found.kvHeads);
  for (std::size_t layer = 0; layer < found.layers.size(); ++layer)
    view.layers.push_back(layer < state.gateScores.size()
                              ? layerOf(state, state.gateScores[layer], found.layers[layer], heads, points)
                              : std::vector<HeadLifespans>());
  session.watching().lifespans = std::make_shared<const LifespanView>(std::move(view));
  return session.watching().lifespans;
}

Result<std::vector<std::vector<float>>> attentionPerHead(Session& session, CacheLayer layer) {
  std::vector<std::vector<float>> out;
  const CacheState& state = session.state();
  if (state.length() == 0) return out;
  KV_TRY(session.kind().allows(session.parts(), Capability::HeadAttention, "attention by head was not measured"));
  const CacheState seen = KV_TRY(session.look([&](CallContext& call) {
    call.makeRoom(1, Placing::Look);
    TransactionRules rules = session.ticker(call).rules(state);
    rules.wanted.newestPerHead = InLayers::All;
    return session.kind().query(state, rules, call);
  }));
  const std::vector<float>& all = seen.attention->perHead[at(layer)];
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

void setFuture(Session& session, std::shared_ptr<const FutureMass> future) {
  if (!session.state().policy) return;
  PolicyState next = *session.state().policy;
  next.future = std::move(future);
  CacheState state = session.state();
  state.policy = std::make_shared<const PolicyState>(std::move(next));
  session.refine(std::move(state));
}

std::vector<float> scoresOf(const CacheState& state, CacheLayer layer) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const ResidencyView& map = state.map(layer);
  if (!state.policy) return std::vector<float>(map.size(), kNone);
  return alignedWith(map, state.policy->layers[at(layer)].scores, 1, kNone);
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
    if (commit.severed && !parts.layouts.inPlace())
      parts.layouts.restart(parts.store, session.state());  // slots of older states are free
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
