// SPDX-License-Identifier: Apache-2.0
#include "core/session/policies.h"

#include <limits>

namespace kvlab {
namespace {

/// Policies that keep all rows in every layer.
PolicyState keepingAll(const CacheState& state) {
  PolicyState out;
  out.specs.resize(state.groupOf.size());
  out.layers.resize(out.specs.size());
  out.audit.layers.resize(out.specs.size());
  out.promptRows = state.length();
  return out;
}

}  // namespace

Status setPolicy(Session& session, std::optional<Layer> layer, const PolicySpec& spec) {
  return session.change([&](CallContext& call) -> Result<Commit> {
    SessionParts& parts = call.parts;
    if (Status can = parts.kind->allows(parts, Capability::Policies, "the policy was not changed"); !can)
      return can.error();
    Commit commit{session.state()};
    CacheState& state = commit.state;
    PolicyState next = state.policy ? *state.policy : keepingAll(state);
    for (const CacheLayer own : parts.cacheLayers.each())
      if (!layer || parts.cacheLayers.layerOf(own) == *layer) {
        next.layers[at(own)].budget.reset();
        next.specs[at(own)] = spec;
        next.audit.layers[at(own)] = {};
        next.audit.layers[at(own)].policy = spec.name;
      }
    if (Status there = parts.policyFiles.load(parts, next.specs); !there) return there.error();
    next.gates = parts.policyFiles.gates(parts, next.specs);
    if (std::shared_ptr<const FutureMass> future = parts.policyFiles.future(next.specs)) next.future = future;
    const bool all = keepAll(next.specs);
    state.policy = all ? nullptr : std::make_shared<const PolicyState>(std::move(next));
    return commit;
  });
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

}  // namespace kvlab
