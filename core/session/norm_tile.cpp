// SPDX-License-Identifier: Apache-2.0
#include "core/session/tiles.h"

#include <deque>
#include <vector>

#include "core/model/decoder/backend_status.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

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

}  // namespace

std::unique_ptr<PendingTile> normTile(Tile tile, std::shared_ptr<kernels::Backend> backend, const CacheStore& store,
                                      const CacheState& state) {
  return std::make_unique<NormTile>(std::move(tile), std::move(backend), store, state);
}

}  // namespace kvlab
