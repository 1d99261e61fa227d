// SPDX-License-Identifier: Apache-2.0
#include "core/session/import_memory.h"

#include "core/files/cache_memory.h"

namespace kvlab {
namespace {

/// The session's policies, without any statistics of the context.
PolicyState begunAnew(const PolicyState& before, std::int32_t length) {
  PolicyState out;
  out.specs = before.specs;
  out.gates = before.gates;
  out.future = before.future;
  out.promptRows = length;
  out.layers.resize(out.specs.size());
  out.audit.layers.resize(out.specs.size());
  for (std::size_t layer = 0; layer < out.specs.size(); ++layer) out.audit.layers[layer].policy = out.specs[layer].name;
  return out;
}

/// Overwrites statistics by those of the file, in layers where the file's policy is the session's.
void remember(PolicyState& to, const CacheMemory& memory) {
  to.promptRows = memory.policy.promptRows;
  to.prefilling = memory.policy.prefilling;
  if (memory.policy.future) to.future = memory.policy.future;
  for (std::size_t layer = 0; layer < to.specs.size(); ++layer) {
    if (memory.policies[layer] != to.specs[layer].toJson()) continue;
    to.layers[layer] = memory.policy.layers[layer];
    to.audit.layers[layer].bands = memory.policy.audit.layers[layer].bands;
  }
}

}  // namespace

void takeMemory(CacheState& state, const CacheImport& rows) {
  const CacheMemory* memory = rows.memory.get();
  state.logits = state.loadedLogits = memory ? memory->logits : nullptr;
  state.attention = memory ? memory->attention : nullptr;
  state.received = nullptr;
  state.logitsStale = state.length() > 0 && !state.logits;
  state.gateScores.clear();
  if (memory)
    for (const std::vector<float>& scores : memory->gateScores) state.gateScores.emplace_back().assign(scores);
  if (!state.policy) return;
  PolicyState next = begunAnew(*state.policy, state.length());
  if (memory && !memory->policies.empty()) remember(next, *memory);
  if (memory && memory->seen) next.seen = state.attention;
  state.policy = std::make_shared<const PolicyState>(std::move(next));
}

}  // namespace kvlab
