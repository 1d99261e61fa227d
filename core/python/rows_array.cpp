// SPDX-License-Identifier: Apache-2.0
#include "core/python/rows_array.h"

#include <numeric>

#include "core/session/row_values.h"

namespace kvlab::python {
namespace {

Result<CacheLayer> layerAt(const Session& session, std::int64_t number) {
  const int count = session.cacheLayers().count();
  if (number >= 0 && number < count) return CacheLayer(static_cast<int>(number));
  return Error("out_of_range", "the rows were not read", "there are " + std::to_string(count) + " cache layers",
               "give a layer from 0 to " + std::to_string(count - 1), "layer", number);
}

}  // namespace

Result<std::shared_ptr<RowsArray>> rowsArray(Session& session, std::int64_t cacheLayer, bool rotated) {
  const CacheLayer layer = KV_TRY(layerAt(session, cacheLayer));
  const ResidencyView& map = session.state().map(layer);
  const RowPool& pool = session.store().pool(layer);
  const std::span<const std::int32_t> slots = plain(map.residentSlots());
  auto out = std::make_shared<RowsArray>();
  out->rows = slots.size(), out->heads = at(pool.format().kvHeads), out->dim = at(pool.format().headDim);
  out->k.resize(out->rows * out->heads * out->dim), out->v.resize(out->k.size());
  pool.gather(slots, out->k.data(), out->v.data());
  turnKeys(session, layer, at(map.first), rotated, out->k);
  return out;
}

Result<std::shared_ptr<PoolRecords>> poolRecords(Session& session, std::int64_t cacheLayer) {
  const CacheLayer layer = KV_TRY(layerAt(session, cacheLayer));
  const RowPool& pool = session.store().pool(layer);
  if (!pool.backend().onHost())
    return Error("unsupported", "the pool was not read", "its records lie in the memory of a device",
                 "open the session with backend=\"cpu\", or read rows", "backend", session.manifest().backend);
  std::vector<Slot> slots(at(pool.slots()));
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = Slot(static_cast<std::int32_t>(i));
  auto out = std::make_shared<PoolRecords>();
  out->backend = pool.backend().sibling();
  out->pool = KV_TRY(RowPool::like(*out->backend, pool, slots));
  return out;
}

}  // namespace kvlab::python
