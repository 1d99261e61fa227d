// SPDX-License-Identifier: Apache-2.0
// Dense columns for the window, computed on request. core/api/tile.h.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "core/model/backend_status.h"
#include "core/session/session.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kAttentionTicks = 64;  // that go on bringing what was asked for

/// Calls fn(position, index) for the rows of the map in context positions [begin, end).
template <class Fn>
void forResident(const CacheState& state, const ResidencyView& map, std::int32_t begin, std::int32_t end, const Fn& fn) {
  std::size_t index = 0;
  for (std::int32_t p = 0; p < end && index < map.size(); ++p) {
    if (map.ledger[index] != state.context[at(p)]) continue;
    if (p >= begin && map.has(index)) fn(p, index);
    ++index;
  }
}

class ReadyTile : public PendingTile {
 public:
  explicit ReadyTile(Tile tile) : m_tile(std::move(tile)) {}
  bool arrived() const override { return true; }
  Result<Tile> take() override { return std::move(m_tile); }

 private:
  Tile m_tile;
};

/// Norms of rows, read where they lie: four bytes a row come back.
class NormTile : public PendingTile {
 public:
  NormTile(Tile tile, std::shared_ptr<kernels::Backend> backend, const CacheStore& store, const CacheState& state)
      : m_tile(std::move(tile)), m_backend(std::move(backend)), m_beside(m_backend->beside()), m_staging(m_beside) {
    const std::int32_t begin = m_tile.request.begin.value();
    const int first = m_tile.request.layer ? m_tile.request.layer->value() : 0;
    for (int l = 0; l < m_tile.layers; ++l) {
      const ResidencyView& map = state.map(first + l);
      if (l == 0 || &map != &state.map(first + l - 1)) see(state, map, begin);
      m_rows.push_back({m_lists.size() - 1, std::vector<float>(m_lists.back().slots.size())});
    }
    for (int l = 0; l < m_tile.layers; ++l) read(store.pool(first + l), m_rows[at(l)]);
    m_staging.start();
  }
  ~NormTile() override { m_staging.finish(); }

  bool arrived() const override { return !m_beside.busy(); }

  Result<Tile> take() override {
    m_staging.finish();
    if (Status done = backendStatus(m_beside, "reading norms of rows"); !done) return done.error();
    for (std::size_t l = 0; l < m_rows.size(); ++l) {
      const List& list = m_lists[m_rows[l].list];
      for (std::size_t i = 0; i < list.places.size(); ++i) m_tile.values[l * at(m_tile.positions) + at(list.places[i])] = m_rows[l].norms[i];
    }
    return std::move(m_tile);
  }

 private:
  /// Rows that neighbouring layers share.
  struct List {
    std::vector<std::int32_t> slots, places;  // places: columns of the tile
    const std::int32_t* placed = nullptr;
  };
  struct Rows {
    std::size_t list;
    std::vector<float> norms;
  };

  void see(const CacheState& state, const ResidencyView& map, std::int32_t begin) {
    List& list = m_lists.emplace_back();
    forResident(state, map, begin, begin + m_tile.positions, [&](std::int32_t p, std::size_t i) {
      list.slots.push_back(map.slotOf[i].value());
      list.places.push_back(p - begin);
    });
    list.placed = m_staging.in(list.slots);
  }

  void read(const RowPool& pool, Rows& rows) {
    const bool keys = m_tile.request.quantity == Quantity::KNorm;
    float* norms = m_staging.out(rows.norms.data(), rows.norms.size());
    m_beside.ops().rowNorms(m_beside.context(), {pool.data(), pool.format(), m_lists[rows.list].placed, static_cast<std::int64_t>(rows.norms.size()),
                                                 keys ? norms : nullptr, keys ? nullptr : norms});
  }

  Tile m_tile;
  std::shared_ptr<kernels::Backend> m_backend;
  kernels::Backend& m_beside;
  kernels::Staging m_staging;
  std::deque<List> m_lists;  // addresses stay
  std::vector<Rows> m_rows;  // [layers]
};

}  // namespace

/// Has the newest row's attention for layers [first, first + layers), if it can be had.
Status Session::lookForAttention(int first, int layers) {
  const std::shared_ptr<const NewestAttention>& seen = m_attention ? m_attention : m_state.attention;
  if (!seen || !m_manifest.probes || m_state.wlod || seen->mass.size() < at(first + layers)) return ok();
  const auto begin = seen->mass.begin() + first;
  if (first < m_state.layers() - m_state.perLayer) m_attentionUntil = std::max(m_attentionUntil, m_state.tick.value() + kAttentionTicks);
  if (std::none_of(begin, begin + layers, [](const std::vector<float>& mass) { return mass.empty(); })) return ok();
  m_timeline.makeRoom(m_store, 1, m_manifest.historyBytes);
  TransactionRules rules = transactionRules();
  rules.allAttention = true;
  Trace trace;
  Result<CacheState> fresh = Transaction(m_transformer.get(), m_store, m_layouts, m_faults).query(m_state, rules, trace);
  if (!fresh) return fresh.error();
  m_attention = fresh->attention;
  return ok();
}

Result<std::unique_ptr<PendingTile>> Session::tile(const TileRequest& request) {
  const CacheState& state = m_state;
  if (request.layer && (request.layer->value() < 0 || request.layer->value() >= state.layers()))
    return Error{"out_of_range", "the tile was refused", "there is no layer " + std::to_string(request.layer->value()),
                 "ask for a layer that the cache has", std::nullopt, "layer", request.layer->value()};
  Tile tile{request, state.tick, request.layer ? 1 : state.layers(), 0, {}};
  const std::int32_t begin = std::clamp(request.begin.value(), 0, state.length());
  const std::int32_t end = std::clamp(request.end.value(), begin, state.length());
  tile.request.begin = Position(begin);
  tile.positions = end - begin;
  tile.values.assign(at(tile.layers) * at(tile.positions), request.quantity == Quantity::Residency ? 0.0f : kNone);
  if (request.quantity == Quantity::KNorm || request.quantity == Quantity::VNorm)
    return std::unique_ptr<PendingTile>(std::make_unique<NormTile>(std::move(tile), m_backend, m_store, state));
  const int first = request.layer ? request.layer->value() : 0;
  if (request.quantity == Quantity::Attention)
    if (Status seen = lookForAttention(first, tile.layers); !seen) return seen.error();
  for (int l = 0; l < tile.layers; ++l)
    fillTile(request.quantity, first + l, begin, {tile.values.data() + at(l) * at(tile.positions), at(tile.positions)});
  return std::unique_ptr<PendingTile>(std::make_unique<ReadyTile>(std::move(tile)));
}

/// One layer's values for context positions [begin, begin + out.size()); the others stay.
void Session::fillTile(Quantity quantity, int layer, std::int32_t begin, std::span<float> out) const {
  const CacheState& state = m_state;
  const ResidencyView& map = state.map(layer);
  std::vector<float> perIndex;  // where a quantity is known by index of the map
  const bool newest = quantity == Quantity::Attention;
  const auto& attention = newest && m_attention ? m_attention : state.attention;
  if ((newest || quantity == Quantity::Received) && attention && at(layer) < attention->mass.size()) {
    const std::shared_ptr<const ResidencyView>& seen = attention->maps[at(layer)];
    perIndex = newest ? attention->mass[at(layer)] : attention->received[at(layer)];
    if (!perIndex.empty()) perIndex.resize(seen->size());
    perIndex = alignedWith(map, {seen, std::move(perIndex)}, 1, kNone);
  }
  if (quantity == Quantity::Score) perIndex = scores(layer);
  const ExactnessMap* exact = quantity == Quantity::Staleness ? &exactnessMap() : nullptr;
  forResident(state, map, begin, begin + static_cast<std::int32_t>(out.size()), [&](std::int32_t p, std::size_t i) {
    const LedgerId id = state.context[at(p)];
    float& value = out[at(p - begin)];
    switch (quantity) {
      case Quantity::Residency: value = 1.0f; break;
      case Quantity::Brightness: value = state.brightness[at(p)]; break;
      case Quantity::Age: value = static_cast<float>(state.tick.value() - state.ledger[id].born.value()); break;
      case Quantity::PhaseLag: value = static_cast<float>(std::abs(map.phases[i] - state.birthPhases[at(id.value())])); break;
      case Quantity::Staleness: value = static_cast<float>(exact->layers[at(layer)][at(p)]); break;
      case Quantity::DriftK: value = m_drift ? m_drift->kRows[at(layer)][at(p)] : kNone; break;
      case Quantity::DriftV: value = m_drift ? m_drift->vRows[at(layer)][at(p)] : kNone; break;
      case Quantity::QuantK: value = m_quantisation ? (*m_quantisation)[at(layer)].k.relative[at(p)] : kNone; break;
      case Quantity::QuantV: value = m_quantisation ? (*m_quantisation)[at(layer)].v.relative[at(p)] : kNone; break;
      case Quantity::QuantLogit: value = m_quantisation ? (*m_quantisation)[at(layer)].logit[at(p)] : kNone; break;
      default: value = i < perIndex.size() ? perIndex[i] : kNone;
    }
  });
}

}  // namespace kvlab
