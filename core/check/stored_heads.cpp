// SPDX-License-Identifier: Apache-2.0
#include "core/check/stored_heads.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/api/json_values.h"
#include "core/check/map_walk.h"
#include "kernels/backend/cuda_ops.h"
#include "kernels/row_quant.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

template <class Raw, class Widen>
void read(const std::uint8_t* from, std::span<double> out, Widen widen) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Raw raw;
    std::memcpy(&raw, from + i * sizeof raw, sizeof raw);
    out[i] = static_cast<double>(widen(raw));
  }
}

}  // namespace

HeadReader::HeadReader(const RowPool& pool, std::span<const Slot> slots, int head)
    : m_format(pool.format()), m_layout(kernels::rowLayout(m_format)), m_head(head) {
  const bool host = pool.backend().onHost();
  if (!host) {
    m_copied.resize(slots.size() * at(pool.stride()));
    pool.readRecords(slots, m_copied.data());
  }
  for (std::size_t i = 0; i < slots.size(); ++i)
    m_records.push_back(host ? pool.data() + slots[i].value() * pool.stride()
                             : m_copied.data() + i * at(pool.stride()));
}

void HeadReader::operator()(std::size_t row, bool value, std::span<double> out) const {
  using kernels::DType;
  const DType type = value ? m_format.v : m_format.k;
  const std::uint8_t* record = m_records[row];
  const std::uint8_t* from =
      record + (value ? m_layout.v : m_layout.k) + m_head * kernels::dtypeRowBytes(type, m_format.headDim);
  switch (type) {
    case DType::f32: return read<float>(from, out, [](float x) { return x; });
    case DType::f16: return read<std::uint16_t>(from, out, kernels::halfToFloat);
    case DType::bf16: return read<std::uint16_t>(from, out, kernels::bf16ToFloat);
    default: break;
  }
  float scale = 0;
  std::memcpy(&scale, record + (value ? m_layout.vScales : m_layout.kScales) + 4 * std::int64_t{m_head}, sizeof scale);
  read<std::uint8_t>(from, out, [&](std::uint8_t code) { return kernels::codeValue(code, type) * scale; });
}

namespace {

constexpr double kExact = 1e-4, kRounded = 8e-2;
constexpr double kSubnormal = 1e-7;  // steps of f16 do not get smaller

}  // namespace

std::string figureText(double value) { return numberWords(value); }

StoredHeads::StoredHeads(const CheckInput& input, const ScalarDecoder& decoder, Findings& findings)
    : m_input(input),
      m_decoder(decoder),
      m_findings(findings),
      m_rounds(input.manifest.numerics == kernels::kCudaFastId) {}

double StoredHeads::room() const { return m_rounds ? kRounded : kExact; }

bool StoredHeads::agree(CacheLayer layer, std::size_t index, int kv, ScalarHead k, const ScalarHead& v,
                        double more) const {
  const LayerGroup& group = m_input.state.group(layer);
  const ResidencyView& map = group.stored();
  const RowPool& pool = m_input.store.pool(layer);
  const std::int32_t slot = map.slotOf[index].value();
  if (slot < 0 || slot >= pool.slots()) return false;
  std::vector<double> storedK(k.values.size()), storedV(v.values.size());
  const Slot one(slot);
  const HeadReader reader(pool, {&one, 1}, kv);
  reader(0, false, storedK), reader(0, true, storedV);
  const bool turned = m_input.transformer->keysRotated();
  if (turned) m_decoder.turn(m_input.state.cacheLayers().layerOf(layer), k.values, phaseOf(map.phases[index]), false);
  const Place place{layer, group.all ? std::nullopt : std::optional(index), map.ledger[index]};
  const RowPast past = m_input.state.pastOf(layer, map.ledger[index]);
  const Rounding byK = past.k.any() ? past.k : roundingOf(pool.format().k);
  const Rounding byV = past.v.any() ? past.v : roundingOf(pool.format().v);
  return same(place, kv, {"K", byK, k.values, storedK, k.unsure}, more) &&
      same(place, kv, {"V", byV, v.values, storedV, v.unsure}, more);
}

bool StoredHeads::same(const Place& place, int kv, const Half& half, double more) const {
  double most = 0;
  for (const double value : half.wanted) most = std::max(most, std::abs(value));
  for (std::size_t i = 0; i < half.wanted.size(); ++i) {
    const double apart = std::abs(half.wanted[i] - half.stored[i]);
    const double allowed = double(half.rounded.relative) * std::abs(half.wanted[i]) +
        (double(half.rounded.ofMost) + room() + more) * most + 2 * half.unsure + kSubnormal;
    if (apart <= allowed) continue;
    m_findings.add(place,
                   "layer " + m_input.state.cacheLayers().name(*place.layer) + ": the stored " + half.name + " of " +
                       rowName(*place.ledger) + " is not what its recomputation gives: head " + std::to_string(kv) +
                       " has " + figureText(half.stored[i]) + " in place of " + figureText(half.wanted[i]) +
                       ", and a difference of " + figureText(allowed) + " is allowed");
    return false;
  }
  return true;
}

double StoredHeads::turning(CacheLayer layer) const {
  return double(roundingOf(m_input.store.pool(layer).format().k, true).most()) + 1e-6;
}

}  // namespace kvlab
