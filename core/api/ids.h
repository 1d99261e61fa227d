// SPDX-License-Identifier: Apache-2.0
// The integers (and the one real number) of the engine, each a type of its own: confusing a slot
// with a position is the commonest bug of this field. Plain values; any thread.
#pragma once
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>

namespace kvlab {

template <class Tag, class Rep>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : m_value(value) {}
  constexpr Rep value() const { return m_value; }
  constexpr auto operator<=>(const StrongId&) const = default;
  constexpr StrongId& operator++() {
    ++m_value;
    return *this;
  }

 private:
  Rep m_value{};
};

/// JSON of an id is its number. For nlohmann::json, which finds it by the name, in lists of ids, too.
template <class Json, class Tag, class Rep>
void to_json(Json& out, const StrongId<Tag, Rep>& id) {
  out = id.value();
}

using LedgerId = StrongId<struct LedgerIdTag, std::int32_t>;      // row of the ledger, from 0
using Position = StrongId<struct PositionTag, std::int32_t>;      // place in the context (pos2ledger)
using Index = StrongId<struct IndexTag, std::int32_t>;            // place in one layer's residency map
using Slot = StrongId<struct SlotTag, std::int32_t>;              // physical row of one layer's pool
using Layer = StrongId<struct LayerTag, std::int32_t>;            // a layer of the model
using CacheLayer = StrongId<struct CacheLayerTag, std::int32_t>;  // has a map and a pool of its own: cache_layers.h
using Head = StrongId<struct HeadTag, std::int32_t>;
using TokenId = StrongId<struct TokenIdTag, std::int32_t>;
using NodeId = StrongId<struct NodeIdTag, std::int64_t>;  // node of the wLOD tree
using Tick = StrongId<struct TickTag, std::int64_t>;      // 0 = before the first tick
using Phase = StrongId<struct PhaseTag, double>;          // rotary position a row is read at

/// An index that is not negative, as containers take it.
template <std::integral I>
constexpr std::size_t at(I i) {
  return static_cast<std::size_t>(i);
}
template <class Tag, std::integral Rep>
constexpr std::size_t at(StrongId<Tag, Rep> id) {
  return at(id.value());
}

/// The ids from `first` up to `end`, and without it.
template <class Id>
constexpr auto idRange(std::int64_t first, std::int64_t end) {
  return std::views::iota(first, end) |
      std::views::transform([](std::int64_t i) { return Id(static_cast<typename Id::rep>(i)); });
}

}  // namespace kvlab

template <class Tag, class Rep>
struct std::hash<kvlab::StrongId<Tag, Rep>> {
  std::size_t operator()(kvlab::StrongId<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
