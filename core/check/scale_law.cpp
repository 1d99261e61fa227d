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

void checkRows(const CheckInput& input, const SharedMap& shared, CacheLayer layer, const RowList& rows,
               Findings& findings) {
  const RowPool& pool = input.store.pool(layer);
  const kernels::RowFormat& format = pool.format();
  const kernels::RowLayout layout = kernels::rowLayout(format);
  const Half halves[] = {{"K", format.k, layout.k, layout.kScales}, {"V", format.v, layout.v, layout.vScales}};
  std::vector<Slot> slots;
  for (const std::int32_t slot : rows.slots) slots.emplace_back(slot);
  std::vector<std::uint8_t> records(slots.size() * at(pool.stride()));
  pool.readRecords(slots, records.data());
  for (std::size_t i = 0; i < slots.size(); ++i)
    for (const Half& half : halves)
      for (int head = 0; head < format.kvHeads && kernels::dtypeHasScale(half.type); ++head) {
        const std::string why = breaks(half, records.data() + i * at(pool.stride()), head, format.headDim);
        if (why.empty()) continue;
        const LedgerId id = shared.map->ledger[rows.indices[i]];
        findings.add({layer, rows.indices[i], id},
                     shared.name(layer) + ": " + half.name + " of " + rowName(id) + ", head " + std::to_string(head) +
                         ": " + why);
      }
}

}  // namespace

void checkScaleLaw(const CheckInput& input, Findings& findings) {
  const std::int64_t parts = input.full ? 1 : std::max(1, input.manifest.scrubPeriod), part = input.scrubPart % parts;
  for (const SharedMap& shared : storedMaps(input))
    for (const CacheLayer layer : shared.layers) {
      const RowPool& pool = input.store.pool(layer);
      if (!kernels::dtypeHasScale(pool.format().k) && !kernels::dtypeHasScale(pool.format().v)) continue;
      const RowList rows = rowList(shared, pool.slots(), part, parts);
      if (!rows.slots.empty()) checkRows(input, shared, layer, rows, findings);
    }
}

}  // namespace kvlab
