// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "core/files/cache_native.h"

namespace kvlab {
namespace {

constexpr std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

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

}  // namespace

NativeColumns::NativeColumns(const CacheState& state, const CacheStore& store) {
  ledger(state);
  const std::int64_t length = state.length();
  column("context.ledger", Element::I32, {length}, plain(state.context.span()));
  column("context.phases", Element::I32, {length}, plain(state.phases));
  column("context.brightness", Element::F32, {length}, plain(state.brightness));
  rows(state, store);
}

template <class T>
void NativeColumns::column(std::string name, Element element, std::vector<std::int64_t> shape,
                           const std::vector<T>& values) {
  Tensor tensor{std::move(name), element, std::move(shape), {}};
  tensor.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  m_tensors.push_back(std::move(tensor));
}

void NativeColumns::ledger(const CacheState& state) {
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
  column("ledger.token", Element::I32, {n}, token);
  column("ledger.flags", Element::U8, {n, 4}, flags);
  column("ledger.brightness", Element::F32, {n}, brightness);
  column("ledger.ticks", Element::I64, {n, 2}, ticks);
  column("ledger.birth_phases", Element::I32, {n}, plain(state.birthPhases));
  links(state, "ledger.parents", "ledger.parent_ends", &LedgerRow::parents);
  links(state, "ledger.children", "ledger.child_ends", &LedgerRow::children);
}

void NativeColumns::links(const CacheState& state, const char* name, const char* ends,
                          std::vector<LedgerId> LedgerRow::*list) {
  std::vector<std::int32_t> ids, end;
  for (std::int32_t i = 0; i < count(state.ledger.size()); ++i) {
    for (LedgerId id : state.ledger[LedgerId(i)].*list) ids.push_back(id.value());
    end.push_back(static_cast<std::int32_t>(ids.size()));
  }
  column(name, Element::I32, {count(ids.size())}, ids);
  column(ends, Element::I32, {count(end.size())}, end);
}

void NativeColumns::rows(const CacheState& state, const CacheStore& store) {
  for (std::size_t g = 0; g < state.groups.size(); ++g) {
    const LayerGroup& group = state.groups[g];
    const std::string prefix = "groups." + std::to_string(g) + ".";
    const std::int64_t size = count(group.map->size());
    std::vector<std::uint64_t> words;
    for (const Provenance& p : group.provenance) words.insert(words.end(), {p.ids, p.phased, p.context});
    column(prefix + "ledger", Element::I32, {size}, plain(group.map->ledger.span()));
    column(prefix + "phases", Element::I32, {size}, plain(group.map->phases));
    column(prefix + "provenance", Element::U64, {count(group.provenance.size()), 3}, words);
  }
  for (int layer = 0; layer < state.layers(); ++layer) {
    const RowPool& pool = store.pool(layer);
    const std::span<const Slot> slots = state.map(layer).residentSlots();
    Tensor tensor{"rows." + std::to_string(layer), Element::U8, {count(slots.size()), pool.stride()}, {}};
    tensor.bytes.resize(static_cast<std::size_t>(pool.stride()) * slots.size());
    pool.readRecords(slots, reinterpret_cast<std::uint8_t*>(tensor.bytes.data()));
    m_tensors.push_back(std::move(tensor));
  }
}

void NativeColumns::addTo(SafetensorsWriter& writer) const {
  for (const Tensor& tensor : m_tensors) writer.add(tensor.name, tensor.element, tensor.shape, tensor.bytes);
}

nlohmann::json nativeManifest(const CacheState& state, const CacheTarget& target, const std::vector<Action>& pending) {
  nlohmann::json actions = nlohmann::json::array();
  for (const Action& action : pending) actions.push_back(toJson(action));
  std::vector<std::int32_t> first;
  for (int layer = 0; layer < state.layers(); ++layer) first.push_back(state.map(layer).first);
  return {{"fingerprint", target.fingerprint},
          {"numerics", target.numerics},
          {"position", positionName(target.position)},
          {"rows", rowsJson(target.formats)},
          {"first", first},
          {"group_of", state.groupOf},
          {"random", state.random},
          {"tick", state.tick.value()},
          {"pending", std::move(actions)}};
}

}  // namespace kvlab
