// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/api/json_values.h"
#include "core/files/cache_memory.h"
#include "core/files/cache_native.h"
#include "core/files/kind_file.h"

namespace kvlab {
namespace {

template <class Id>
std::vector<std::int32_t> plain(std::span<const Id> ids) {
  std::vector<std::int32_t> out;
  out.reserve(ids.size());
  for (Id id : ids) out.push_back(id.value());
  return out;
}

template <class T>
std::vector<T> plain(const Column<T>& column) {
  return {column.begin(), column.end()};
}

const char* positionName(PositionMode mode) {
  return mode == PositionMode::Context ? "context" : mode == PositionMode::Absolute ? "absolute" : "cache";
}

void addLinks(ColumnsOut& out, const CacheState& state, const char* name, const char* ends,
              std::vector<LedgerId> LedgerRow::*list) {
  std::vector<std::int32_t> ids, end;
  for (std::int32_t i = 0; i < count(state.ledger.size()); ++i) {
    for (LedgerId id : state.ledger[LedgerId(i)].*list) ids.push_back(id.value());
    end.push_back(static_cast<std::int32_t>(ids.size()));
  }
  out.add(name, Element::I32, {count(ids.size())}, ids);
  out.add(ends, Element::I32, {count(end.size())}, end);
}

void addLedger(ColumnsOut& out, const CacheState& state) {
  const std::int64_t n = count(state.ledger.size());
  std::vector<std::int32_t> token;
  std::vector<std::uint8_t> flags;
  std::vector<float> brightness;
  std::vector<std::int64_t> ticks;
  for (std::int32_t i = 0; i < n; ++i) {
    const LedgerRow& row = state.ledger[LedgerId(i)];
    token.push_back(row.token.value());
    for (std::uint8_t flag : {static_cast<std::uint8_t>(row.kind), static_cast<std::uint8_t>(row.state),
                              static_cast<std::uint8_t>(row.source), static_cast<std::uint8_t>(row.pinned)})
      flags.push_back(flag);
    brightness.push_back(row.brightness);
    ticks.insert(ticks.end(), {row.born.value(), row.changed.value()});
  }
  out.add("ledger.token", Element::I32, {n}, token);
  out.add("ledger.flags", Element::U8, {n, 4}, flags);
  out.add("ledger.brightness", Element::F32, {n}, brightness);
  out.add("ledger.ticks", Element::I64, {n, 2}, ticks);
  out.add("ledger.birth_phases", Element::I32, {n}, plain(state.birthPhases));
  addLinks(out, state, "ledger.parents", "ledger.parent_ends", &LedgerRow::parents);
  addLinks(out, state, "ledger.children", "ledger.child_ends", &LedgerRow::children);
}

void addRows(ColumnsOut& out, const CacheState& state, const CacheStore& store) {
  for (std::size_t g = 0; g < state.groups.size(); ++g) {
    const LayerGroup& group = state.groups[g];
    const std::string prefix = "groups." + std::to_string(g) + ".";
    const ResidencyView& map = group.stored();
    const std::int64_t size = count(map.size());
    std::vector<std::uint64_t> words;
    for (const Provenance& p : group.provenance) words.insert(words.end(), {p.ids, p.phased, p.context});
    out.add(prefix + "ledger", Element::I32, {size}, plain(map.ledger.span()));
    out.add(prefix + "phases", Element::I32, {size}, plain(map.phases));
    out.add(prefix + "provenance", Element::U64, {count(group.provenance.size()), 3}, words);
  }
  for (const CacheLayer layer : state.layers()) {
    const RowPool& pool = store.pool(layer);
    const std::span<const Slot> slots = state.group(layer).stored().residentSlots();
    std::vector<std::byte>& records =
        out.add("rows." + std::to_string(layer.value()), Element::U8, {count(slots.size()), pool.stride()},
                static_cast<std::size_t>(pool.stride()) * slots.size());
    pool.readRecords(slots, reinterpret_cast<std::uint8_t*>(records.data()));
  }
}

}  // namespace

NativeColumns::NativeColumns(const CacheState& state, const CacheStore& store, const CacheTarget& target) {
  addLedger(*this, state);
  const std::int64_t length = state.length();
  add("context.ledger", Element::I32, {length}, plain(state.context.span()));
  add("context.phases", Element::I32, {length}, plain(state.phases));
  add("context.brightness", Element::F32, {length}, plain(state.brightness));
  addRows(*this, state, store);
  if (target.kind) target.kind->add(*this, state);
  addMemory(*this, state, state.perLayer * store.pool(CacheLayer(0)).format().kvHeads);
}

nlohmann::json nativeManifest(const CacheState& state, const CacheTarget& target, const std::vector<Action>& pending) {
  std::vector<std::int32_t> first;
  for (const CacheLayer layer : state.layers()) first.push_back(state.group(layer).stored().first);
  nlohmann::json out{{"fingerprint", target.fingerprint},
                     {"numerics", target.numerics},
                     {"position", positionName(target.position)},
                     {"residency", residencyName(target)},
                     {"rows", rowsJson(target.formats)},
                     {"first", first},
                     {"keep", target.keep},
                     {"memory", memoryJson(state)},
                     {"group_of", state.groupOf},
                     {"random", state.random},
                     {"tick", state.tick},
                     {"pending", listJson(pending)}};
  for (const std::string& kind : target.kinds) out[kind] = nullptr;
  if (target.kind) out[target.kind->key()] = target.kind->describe(state);
  return out;
}

}  // namespace kvlab
