// SPDX-License-Identifier: Apache-2.0
#include "core/session/state_hash.h"

#include <algorithm>
#include <array>

#include "core/state/state_hasher.h"

namespace kvlab {
namespace {

void hashLedger(StateHasher& hasher, const Ledger& ledger) {
  hasher.value(static_cast<std::uint64_t>(ledger.size()));
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(ledger.size()); ++i) {
    const LedgerRow& row = ledger[LedgerId(i)];
    const bool left = row.state == RowState::LeftWindow;  // which the maps say: it counts as live
    const std::array<std::int64_t, 7> fields = {row.token.value(),
                                                static_cast<std::int64_t>(row.kind),
                                                static_cast<std::int64_t>(left ? RowState::Live : row.state),
                                                static_cast<std::int64_t>(row.source),
                                                row.pinned,
                                                row.born.value(),
                                                left ? row.born.value() : row.changed.value()};
    hasher.bytes(fields.data(), sizeof fields);
    hasher.value(row.brightness);
    for (const auto* list : {&row.parents, &row.children}) {
      hasher.value(static_cast<std::uint64_t>(list->size()));
      hasher.bytes(list->data(), list->size() * sizeof(LedgerId));
    }
  }
}

/// Hashes the state of policies.
void hashPolicies(StateHasher& hasher, const CacheState& state) {
  hasher.value(static_cast<std::uint64_t>(state.policy->prefilling));
  hasher.value(static_cast<std::uint64_t>(state.policy->promptRows));
  for (const CacheLayer layer : state.layers()) {
    hasher.text(state.policy->specs[at(layer)].toJson().dump());
    const LayerPolicyState& own = state.policy->layers[at(layer)];
    if (!own.memory.empty()) hasher.text(own.memory);
    for (const RowValues* values : {&own.received, &own.observed}) {
      if (!values->map || values->map->size() == 0) continue;
      const auto lists = static_cast<int>(values->values.size() / values->map->size());
      const std::vector<float> aligned = alignedWith(state.map(layer), *values, lists, 0);
      if (std::ranges::all_of(aligned, [](float value) { return value == 0; })) continue;  // as without a list
      hasher.bytes(aligned.data(), aligned.size() * sizeof(float));
    }
  }
}

}  // namespace

std::string stateHash(const CacheState& state, const CacheStore& store, const std::vector<Action>& pending) {
  StateHasher hasher;
  hashLedger(hasher, state.ledger);
  hasher.column(state.context);
  hasher.column(state.brightness);
  for (const CacheLayer layer : state.layers()) {
    const ResidencyView& map = state.group(layer).stored();
    const auto first = static_cast<std::size_t>(map.first);
    hasher.column(map.ledger);
    for (std::size_t i = first; i < map.size(); ++i) hasher.value(map.phase(i).value());
    const RowPool& pool = store.pool(layer);
    constexpr std::size_t kChunk = 256;  // rows
    std::vector<std::uint8_t> records(std::min(kChunk, map.size()) * static_cast<std::size_t>(pool.stride()));
    for (std::size_t begin = first; begin < map.size(); begin += kChunk) {
      const std::span<const Slot> slots = map.slotOf.span().subspan(begin, std::min(kChunk, map.size() - begin));
      pool.readRecords(slots, records.data());
      hasher.bytes(records.data(), slots.size() * static_cast<std::size_t>(pool.stride()));
    }
  }
  if (state.policy) hashPolicies(hasher, state);
  state.kind->hash(hasher);
  for (std::uint64_t word : state.random) hasher.value(word);
  for (const Action& action : pending) hasher.text(toJson(action).dump());
  return hasher.hex();
}

}  // namespace kvlab
