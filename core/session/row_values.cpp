// SPDX-License-Identifier: Apache-2.0
#include "core/session/row_values.h"

#include <algorithm>
#include <cstring>

#include "core/edit/key_shift.h"
#include "core/files/key_rotation.h"
#include "kernels/ops/rope.h"

namespace kvlab {
namespace {

RowPair gathered(const RowPool& pool, Slot slot) {
  const std::size_t width = at(pool.width());
  RowPair out{std::vector<float>(width), std::vector<float>(width)};
  pool.gather(plain({&slot, 1}), out.k.data(), out.v.data());
  return out;
}

std::vector<float> scalesAt(const std::vector<std::uint8_t>& record, std::int64_t offset, kernels::DType type,
                            int heads) {
  std::vector<float> out(kernels::dtypeHasScale(type) ? at(heads) : 0);
  if (!out.empty()) std::memcpy(out.data(), record.data() + offset, out.size() * sizeof(float));
  return out;
}

/// Values of a record that lies in no pool.
Result<RowPair> decoded(const RowPool& like, const std::uint8_t* record) {
  RowPool one = KV_TRY(RowPool::create(like.backend(), like.format(), 1));
  const Slot first(0);
  one.writeRecords({&first, 1}, record);
  return gathered(one, first);
}

/// The record that an entry of the timeline keeps of a row; null if the entry keeps none.
const std::uint8_t* keptRecord(const KeptRows& kept, CacheLayer layer, LedgerId id, std::int64_t stride) {
  if (kept.layers.empty()) return nullptr;
  const KeptRows::Rows& rows = kept.layers[at(layer)];
  const auto found = std::find(rows.ids.begin(), rows.ids.end(), id);
  return found == rows.ids.end() ? nullptr : rows.records.data() + (found - rows.ids.begin()) * stride;
}

}  // namespace

StoredRow storedRow(const RowPool& pool, Slot slot) {
  StoredRow out{gathered(pool, slot), {}, {}};
  std::vector<std::uint8_t> record(at(pool.stride()));
  pool.readRecords({&slot, 1}, record.data());
  const kernels::RowFormat& format = pool.format();
  const kernels::RowLayout layout = kernels::rowLayout(format);
  out.kScales = scalesAt(record, layout.kScales, format.k, format.kvHeads);
  out.vScales = scalesAt(record, layout.vScales, format.v, format.kvHeads);
  return out;
}

void turnKeys(Session& session, CacheLayer layer, std::size_t index, bool rotated, std::span<float> keys) {
  const ResidencyView& map = session.state().map(layer);
  const kernels::RowFormat& format = session.store().pool(layer).format();
  const std::size_t width = at(format.kvHeads) * at(format.headDim), rows = keys.size() / width;
  Transformer& t = session.transformer();
  const Layer own = session.cacheLayers().layerOf(layer);
  t.rotary().reach(session.state().reach());
  if (rotated && !t.keysRotated()) {
    const std::vector<std::int32_t> phases = rotaryRowsOf(session.state(), map, t.rotary());
    t.rotateKeys(own, keys.data(), std::span(phases).subspan(index, rows), format.kvHeads);
  }
  const KeyRotation rotation(session.model().config(), own, session.state().reach());
  std::vector<double> wide(width);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<float> key = keys.subspan(row * width, width);
    std::copy(key.begin(), key.end(), wide.begin());
    rotation.outside(format.kvHeads, wide.data());
    if (!rotated && t.keysRotated()) {
      rotation.unrotate(map.phase(index + row).value(), format.kvHeads, wide.data());
      rotation.outside(format.kvHeads, wide.data());
    }
    std::transform(wide.begin(), wide.end(), key.begin(), [](double x) { return static_cast<float>(x); });
  }
}

Result<RowPair> rebuiltRow(Session& session, CacheLayer layer, std::size_t index) {
  KV_TRY(session.usable());
  return session.look([&](CallContext& call) {
    return session.kind().rebuiltRow(session.state(), layer, session.state().map(layer).ledger[index], call);
  });
}

Result<EarlierRow> rowBefore(const Session& session, CacheLayer layer, std::size_t index) {
  const Timeline& timeline = session.timeline();
  const int parent = timeline.current().parent;
  const Timeline::Kept& here = *timeline.current().kept;
  const Timeline::Kept* before = parent < 0 ? nullptr : timeline.entry(parent).kept.get();
  if (!before || here.stored || (!here.apart && before->pools != session.history().pools()))
    return Error("not_kept", "the row was not compared with the tick before",
                 parent >= 0 ? "history no longer holds the rows of the state before" : "there is no state before",
                 "compare it with a rebuild, or open the session with larger history_bytes");
  const RowPool& pool = session.store().pool(layer);
  const ResidencyView& now = session.state().map(layer);
  const LedgerId id = now.ledger[index];
  const ResidencyView& map = before->state.map(layer);
  const auto found = std::find(map.ledger.begin(), map.ledger.end(), id);
  const auto place = static_cast<std::size_t>(found - map.ledger.begin());
  EarlierRow out{timeline.entry(parent).tick, {}};
  if (found == map.ledger.end() || !map.has(place)) return out;
  if (const std::uint8_t* record = keptRecord(here.rows, layer, id, pool.stride())) {
    out.values = KV_TRY(decoded(pool, record));
    return out;
  }
  // The other rows lie where they lay, or, where the pools hold one of the states only, are the same in both.
  out.values = gathered(pool, here.apart ? now.slotOf[index] : map.slotOf[place]);
  return out;
}

}  // namespace kvlab
