// SPDX-License-Identifier: Apache-2.0
#include "core/session/tiles.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <unordered_map>

#include "core/api/knock_out.h"
#include "core/model/decoder/backend_status.h"
#include "core/session/difference.h"
#include "core/session/requests.h"
#include "core/session/truth.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

class ReadyTile : public PendingTile {
 public:
  explicit ReadyTile(Tile tile) : m_tile(std::move(tile)) {}
  bool arrived() const override { return true; }
  Result<Tile> take() override { return std::move(m_tile); }

 private:
  Tile m_tile;
};

/// Computes norms of rows on the backend, next to the ticks: the norms of K or V, as the request of the tile says,
/// whose range is clipped. It reads the pools as they are at the call; four bytes per row come back to the host.
class NormTile : public PendingTile {
 public:
  NormTile(Tile tile, std::shared_ptr<kernels::Backend> backend, const CacheStore& store, const CacheState& state)
      : m_tile(std::move(tile)), m_backend(std::move(backend)), m_beside(m_backend->beside()), m_staging(m_beside) {
    const std::int32_t begin = m_tile.request.begin.value();
    const ResidencyView* seen = nullptr;
    for (const CacheLayer layer : m_tile.cacheLayers()) {
      if (&state.map(layer) != seen) see(state, state.map(layer), begin);
      seen = &state.map(layer);
      m_rows.push_back({m_lists.size() - 1, std::vector<float>(m_lists.back().slots.size())});
    }
    for (std::size_t l = 0; l < m_rows.size(); ++l)
      read(store.pool(m_tile.cacheLayers()[static_cast<int>(l)]), m_rows[l]);
    m_staging.start();
  }
  ~NormTile() override { m_staging.finish(); }

  bool arrived() const override { return !m_beside.busy(); }

  Result<Tile> take() override {
    m_staging.finish();
    KV_TRY(backendStatus(m_beside, "reading norms of rows"));
    for (std::size_t l = 0; l < m_rows.size(); ++l) {
      const List& list = m_lists[m_rows[l].list];
      for (std::size_t i = 0; i < list.places.size(); ++i)
        m_tile.values[l * at(m_tile.positions) + at(list.places[i])] = m_rows[l].norms[i];
    }
    return std::move(m_tile);
  }

 private:
  /// The row list that neighbouring layers share.
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
    m_beside.ops().rowNorms(
        m_beside.context(),
        {pool.data(), pool.format(), m_lists[rows.list].placed, static_cast<std::int64_t>(rows.norms.size()),
         keys ? norms : nullptr, keys ? nullptr : norms});
  }

  Tile m_tile;
  std::shared_ptr<kernels::Backend> m_backend;
  kernels::Backend& m_beside;
  kernels::Staging m_staging;
  std::deque<List> m_lists;  // a deque keeps addresses valid
  std::vector<Rows> m_rows;  // [layers]
};

/// Has the newest row's attention for the layers of a tile, if it can be had.
Status lookForAttention(Session& session, const Tile& tile) {
  const CacheState& state = session.state();
  const std::shared_ptr<const NewestAttention>& known = session.measured().attention;
  const std::shared_ptr<const NewestAttention>& seen = known ? known : state.attention;
  if (!seen || !session.manifest().probes || seen->mass.size() < state.groupOf.size()) return ok();
  if (state.cacheLayers().layerOf(tile.cacheLayers().front()) < state.cacheLayers().last())
    keepAttentionForNow(session);
  if (std::ranges::none_of(tile.cacheLayers(), [&](CacheLayer own) { return seen->mass[at(own)].empty(); }))
    return ok();
  Result<CacheState> fresh = session.look([&](CallContext& call) {
    TransactionRules rules = session.ticker(call).rules(state);
    rules.wanted.newest = InLayers::All;
    return session.kind().query(state, rules, call);
  });
  if (!fresh && fresh.error().code == "staging") return ok();  // history holds all slots: the next tick returns it
  if (!fresh) return fresh.error();
  session.measured().attention = fresh->attention;
  return ok();
}

/// The effect of each row that was hidden alone, by ledger id.
std::unordered_map<LedgerId::rep, float> knockedOut(const Measured& measured) {
  std::unordered_map<LedgerId::rep, float> out;
  if (measured.knockOut)
    for (const KnockOut::Row& one : measured.knockOut->each)
      out.emplace(one.ledger.value(), static_cast<float>(one.kl));
  return out;
}

/// Writes one layer's values for context positions [begin, begin + out.size()). Positions without a value stay as they
/// are.
void fillTile(Session& session, Quantity quantity, CacheLayer layer, std::int32_t begin, std::span<float> out) {
  const CacheState& state = session.state();
  const Measured& measured = session.measured();
  const ResidencyView& map = state.map(layer);
  std::vector<float> perIndex;  // for quantities that are indexed by row of the map
  const bool newest = quantity == Quantity::Attention;
  const auto& attention = !newest ? state.received : measured.attention ? measured.attention : state.attention;
  if ((newest || quantity == Quantity::Received) && attention && at(layer) < attention->mass.size()) {
    const std::shared_ptr<const ResidencyView>& seen = attention->maps[at(layer)];
    perIndex = newest ? attention->mass[at(layer)] : attention->received[at(layer)];
    if (!perIndex.empty()) perIndex.resize(seen->size());
    perIndex = alignedWith(map, RowValues::of(seen, perIndex), 1, kNone);
  }
  if (quantity == Quantity::Score) perIndex = scoresOf(state, layer);
  if ((quantity == Quantity::DifferenceK || quantity == Quantity::DifferenceV) && measured.difference)
    perIndex = apartByIndex(measured.difference->layers[at(layer)], map, quantity == Quantity::DifferenceK);
  const auto hidden = quantity == Quantity::KnockOut ? knockedOut(measured) : decltype(knockedOut(measured))();
  const ExactnessMap* exact = quantity == Quantity::Staleness ? &exactnessMap(session) : nullptr;
  forResident(state, map, begin, begin + static_cast<std::int32_t>(out.size()), [&](std::int32_t p, std::size_t i) {
    const LedgerId id = state.context[at(p)];
    float& value = out[at(p - begin)];
    switch (quantity) {
      case Quantity::Residency: value = 1.0f; break;
      case Quantity::Brightness: value = state.brightness[at(p)]; break;
      case Quantity::Age: value = static_cast<float>(state.tick.value() - state.ledger[id].born.value()); break;
      case Quantity::PhaseLag:
        value = static_cast<float>(std::abs(map.phases[i] - state.birthPhases[at(id.value())]));
        break;
      case Quantity::Surprise: value = state.ledger[id].surprise; break;
      case Quantity::Staleness: value = static_cast<float>(exact->layers[at(layer)][at(p)]); break;
      case Quantity::DriftK: value = measured.drift ? measured.drift->kRows[at(layer)][at(p)] : kNone; break;
      case Quantity::DriftV: value = measured.drift ? measured.drift->vRows[at(layer)][at(p)] : kNone; break;
      case Quantity::QuantK:
        value = measured.quantisation ? (*measured.quantisation)[at(layer)].k.relative[at(p)] : kNone;
        break;
      case Quantity::QuantV:
        value = measured.quantisation ? (*measured.quantisation)[at(layer)].v.relative[at(p)] : kNone;
        break;
      case Quantity::KnockOut:
        if (const auto found = hidden.find(id.value()); found != hidden.end()) value = found->second;
        break;
      case Quantity::QuantLogit:
        value = measured.quantisation ? (*measured.quantisation)[at(layer)].logit[at(p)] : kNone;
        break;
      default: value = i < perIndex.size() ? perIndex[i] : kNone;
    }
  });
}

/// A tile of another tick, which has arrived: the session that answers for other ticks may go elsewhere before the
/// reply is taken.
Result<std::unique_ptr<PendingTile>> pastTile(Session& session, const TileRequest& request) {
  Session* there = KV_TRY(sessionAt(session, *request.tick));
  const std::unique_ptr<PendingTile> asked = KV_TRY(tile(*there, request));
  return std::unique_ptr<PendingTile>(std::make_unique<ReadyTile>(KV_TRY(asked->take())));
}

}  // namespace

Result<std::unique_ptr<PendingTile>> tile(Session& session, const TileRequest& request) {
  const CacheState& state = session.state();
  if (request.tick && *request.tick != state.tick) return pastTile(session, request);
  if (request.layer && (request.layer->value() < 0 || at(*request.layer) >= state.groupOf.size()))
    return Error("out_of_range", "the tile was refused", "there is no layer " + std::to_string(request.layer->value()),
                 "ask for a layer that the cache has", "layer", request.layer->value());
  Tile tile{request, state.tick, request.layer ? 1 : static_cast<int>(state.groupOf.size()), 0, {}};
  const std::int32_t begin = std::clamp(request.begin.value(), 0, state.length());
  const std::int32_t end = std::clamp(request.end.value(), begin, state.length());
  tile.request.begin = Position(begin);
  tile.positions = end - begin;
  tile.values.assign(at(tile.layers) * at(tile.positions), request.quantity == Quantity::Residency ? 0.0f : kNone);
  if (request.quantity == Quantity::KNorm || request.quantity == Quantity::VNorm)
    return std::unique_ptr<PendingTile>(
        std::make_unique<NormTile>(std::move(tile), session.parts().backend, session.store(), state));
  if (request.quantity == Quantity::Attention) KV_TRY(lookForAttention(session, tile));
  float* values = tile.values.data();
  for (const CacheLayer layer : tile.cacheLayers()) {
    fillTile(session, request.quantity, layer, begin, {values, at(tile.positions)});
    values += tile.positions;
  }
  return std::unique_ptr<PendingTile>(std::make_unique<ReadyTile>(std::move(tile)));
}

}  // namespace kvlab
