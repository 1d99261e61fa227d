// SPDX-License-Identifier: Apache-2.0
// A small cache for tests, with no model behind it: edits go through the planner and the splice as
// they do in a session, and new rows get seeded random keys and values through writeRows.
#pragma once
#include <QtTest>
#include <random>

#include "core/edit/planner.h"
#include "core/edit/splice.h"
#include "core/parts/kinds.h"
#include "kernels/thread_pool.h"

namespace kvlab {

class CacheFixture {
 public:
  static constexpr std::int32_t kVocab = 1000;
  struct Options {
    int layers = 3;
    std::int32_t slots = 400;
    PositionMode position = PositionMode::Context;
    kernels::DType dtype = kernels::DType::f32;
    std::int32_t kvHeads = 2, headDim = 16;
    int threads = 1;
    std::int64_t capacity = 0;  // 0 = slots
    bool shift = true;
    bool rows = true;  // write K and V, not only maps
  };

  explicit CacheFixture(Options wanted)
      : backend(kernels::makeCpuBackend(wanted.threads)),
        options(wanted),
        format{wanted.kvHeads, wanted.headDim, wanted.dtype, wanted.dtype},
        store(CacheStore::create(*backend, wanted.layers, format, wanted.slots).take()) {
    rules.position = wanted.position;
    rules.shiftOnOverflow = wanted.shift;
    rules.vocab = kVocab;
    rules.capacity = wanted.capacity ? wanted.capacity : wanted.slots;
    spliceRules.position = manifest.position = wanted.position;
    LayerGroup group;
    group.map = std::make_shared<ResidencyView>();
    state.groups.push_back(group);
    state.groupOf.assign(static_cast<std::size_t>(wanted.layers), 0);
  }

  Result<EditPlan> plan(const std::vector<Action>& actions) const { return planEdit(state, rules, actions); }

  /// Plans, splices, writes the new rows and returns the freed slots.
  Status apply(const std::vector<Action>& actions) {
    Result<EditPlan> planned = plan(actions);
    if (!planned) return planned.error();
    Result<LayerSlots> fresh = store.reserve(static_cast<std::int32_t>(planned->rows.size()), faults);
    if (!fresh) return fresh.error();
    Spliced spliced = splice(state, *planned, *fresh, spliceRules);
    for (int layer = 0; layer < options.layers && options.rows; ++layer)
      for (std::size_t i = 0; i < planned->rows.size(); ++i)
        writeRow(layer, (*fresh)[static_cast<std::size_t>(layer)][i], planned->rows[i].id.value());
    state = std::move(spliced.state);
    for (LayerGroup& group : state.groups)
      for (std::size_t i = 0; i < planned->rows.size(); ++i) group.provenance.push_back({});
    ++state.tick;
    store.release(spliced.freed);
    setLogits();
    return ok();
  }

  Status add(int count) {
    std::vector<Action> actions;
    for (int i = 0; i < count; ++i) actions.push_back(Add{TokenId((i * 7 + 3) % kVocab)});
    return apply(actions);
  }

  void writeRow(int layer, Slot slot, std::int32_t tag, float poison = 0) {
    std::normal_distribution<float> normal;
    const std::int32_t values = format.kvHeads * format.headDim;
    std::vector<float> k(static_cast<std::size_t>(values)), v(k.size());
    for (float& x : k) x = normal(random);
    for (float& x : v) x = normal(random);
    k.back() += poison;
    const auto tag64 = static_cast<std::uint64_t>(tag);
    const std::int32_t at = slot.value();
    store.pool(CacheLayer(layer)).write({&at, 1}, k.data(), v.data(), &tag64);
  }

  /// The bytes of a resident row.
  std::uint8_t* record(int layer, int index) {
    const RowPool& pool = store.pool(CacheLayer(layer));
    return pool.data() + pool.stride() * state.map(CacheLayer(layer)).slotOf[static_cast<std::size_t>(index)].value();
  }

  void setLogits() { state.logits = std::make_shared<std::vector<float>>(static_cast<std::size_t>(kVocab), 0.5f); }

  CheckInput input(bool full, std::int64_t part = 0) {
    return {state, store, manifest, rules.capacity, full, false, part, kVocab};
  }

  /// A layer's map in a group of its own, to be damaged.
  ResidencyView& ownMap(int layer) {
    auto map = std::make_shared<ResidencyView>(state.map(CacheLayer(layer)));
    ResidencyView& own = *map;
    LayerGroup group = state.group(CacheLayer(layer));
    group.map = std::move(map);
    state.groupOf[static_cast<std::size_t>(layer)] = static_cast<std::int32_t>(state.groups.size());
    state.groups.push_back(std::move(group));
    return own;
  }

  std::unique_ptr<kernels::Backend> backend;
  Options options;
  kernels::RowFormat format;
  CacheState state;
  CacheStore store;
  FaultDoor faults;
  Manifest manifest;
  PlanRules rules;
  SpliceRules spliceRules;
  std::mt19937_64 random{7};
};

/// A column with changes made to its values.
template <class T, class Change>
Column<T> changed(const Column<T>& column, Change change) {
  std::vector<T> values(column.begin(), column.end());
  change(values);
  return Column<T>(std::span<const T>(values));
}

inline QString text(const std::vector<Violation>& violations) {
  std::string out;
  for (const Violation& v : violations) out += v.invariant + ": " + v.detail + "\n";
  return QString::fromStdString(out);
}

}  // namespace kvlab
