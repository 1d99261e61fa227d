// SPDX-License-Identifier: Apache-2.0
// In each head of a quantised row the largest code is the largest that the type has: the scale was the head's largest
// magnitude over it (kernels/row_quant.h). Codes that stay below were made with another scale, or changed without it.
// Heads that are zero, or so small that the least scale holds, are exempt.
#include <algorithm>
#include <cstring>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "kernels/row_quant.h"

namespace kvlab {
namespace {

struct Half {
  const char* name;
  kernels::DType type;
  std::int64_t codes, scales;  // offsets in a record
};

/// The reason why a head violates the law; empty = it obeys.
std::string breaks(const Half& half, const std::uint8_t* record, int head, int headDim) {
  float scale = 0;
  std::memcpy(&scale, record + half.scales + std::int64_t{head} * 4, 4);
  if (!std::isfinite(scale)) return {};  // finite_rows reports it
  if (scale < kernels::kScaleFloor) return "the scale " + std::to_string(scale) + " is below the least there is";
  if (scale == kernels::kScaleFloor) return {};
  const std::uint8_t* codes = record + half.codes + std::int64_t{head} * headDim;
  if (std::any_of(codes, codes + headDim, [&](std::uint8_t code) { return kernels::quantAtMax(code, half.type); }))
    return {};
  return "no code is the largest of " + std::string(kernels::dtypeName(half.type)) + ", so that the scale " +
      std::to_string(scale) + " is not that of its values";
}

/// Rows of a layer to look at.
struct Batch {
  const SharedMap* shared = nullptr;
  CacheLayer layer;
  const RowPool* pool = nullptr;
  RowList rows;
  std::vector<Slot> slots;
  std::vector<std::uint8_t> records;  // [rows, stride]
};

void checkBatch(const Batch& batch, Findings& findings) {
  const kernels::RowFormat& format = batch.pool->format();
  const kernels::RowLayout layout = kernels::rowLayout(format);
  const Half halves[] = {{"K", format.k, layout.k, layout.kScales}, {"V", format.v, layout.v, layout.vScales}};
  for (std::size_t i = 0; i < batch.slots.size(); ++i)
    for (const Half& half : halves)
      for (int head = 0; head < format.kvHeads && kernels::dtypeHasScale(half.type); ++head) {
        const std::string why = breaks(half, batch.records.data() + i * at(batch.pool->stride()), head, format.headDim);
        if (why.empty()) continue;
        const std::size_t index = batch.rows.indices[i];
        const LedgerId id = batch.shared->map->ledger[index];
        findings.add({batch.layer, index, id},
                     batch.shared->name(batch.layer) + ": " + half.name + " of " + rowName(id) + ", head " +
                         std::to_string(head) + ": " + why);
      }
}

/// Brings the records of all batches with one wait for a device.
void checkBatches(std::vector<Batch>& batches, Findings& findings) {
  std::vector<RecordRead> reads;
  for (Batch& batch : batches) reads.push_back({batch.pool, batch.slots, batch.records.data()});
  readRecords(reads);
  for (const Batch& batch : batches) checkBatch(batch, findings);
  batches.clear();
}

}  // namespace

void checkScaleLaw(const CheckInput& input, Findings& findings) {
  constexpr std::size_t kTogether = std::size_t{16} << 20;  // bytes of records
  const std::int64_t parts = input.full ? 1 : std::max(1, input.manifest.scrubPeriod), part = input.scrubPart % parts;
  const std::vector<SharedMap> maps = storedMaps(input);
  std::vector<Batch> batches;
  std::size_t bytes = 0;
  for (const SharedMap& shared : maps)
    for (const CacheLayer layer : shared.layers) {
      const RowPool& pool = input.store.pool(layer);
      if (!kernels::dtypeHasScale(pool.format().k) && !kernels::dtypeHasScale(pool.format().v)) continue;
      Batch batch{&shared, layer, &pool, rowList(shared, pool.slots(), part, parts), {}, {}};
      if (batch.rows.slots.empty()) continue;
      for (const std::int32_t slot : batch.rows.slots) batch.slots.emplace_back(slot);
      batch.records.resize(batch.slots.size() * at(pool.stride()));
      bytes += batch.records.size();
      batches.push_back(std::move(batch));
      if (bytes >= kTogether) checkBatches(batches, findings), bytes = 0;
    }
  checkBatches(batches, findings);
}

}  // namespace kvlab
