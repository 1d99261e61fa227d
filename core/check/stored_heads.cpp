// SPDX-License-Identifier: Apache-2.0
#include "core/check/stored_heads.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/check/head_reader.h"
#include "core/check/map_walk.h"
#include "kernels/backend/cuda_ops.h"

namespace kvlab {
namespace {

constexpr double kExact = 1e-4, kRounded = 8e-2;

/// How far a stored value may lie from a value of a head whose largest is `most`.
double roomOf(kernels::DType type, double value, double most) {
  switch (type) {
    case kernels::DType::f32: return 0;
    case kernels::DType::f16: return std::abs(value) / 2048 + 1e-7;
    case kernels::DType::bf16: return std::abs(value) / 256;
    case kernels::DType::i8: return most / 254;
    default: return std::abs(value) / 16 + most / (448 * 1024.0);  // fp8e4m3
  }
}

}  // namespace

std::string figureText(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2g", value);
  return out;
}

StoredHeads::StoredHeads(const CheckInput& input, const ScalarDecoder& decoder, Findings& findings)
    : m_input(input),
      m_decoder(decoder),
      m_findings(findings),
      m_rounds(input.manifest.numerics == kernels::kCudaFastId) {}

double StoredHeads::room() const { return m_rounds ? kRounded : kExact; }

bool StoredHeads::agree(CacheLayer layer, std::size_t index, int kv, ScalarHead k, const ScalarHead& v,
                        double loose) const {
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
  const double turns = turned ? turnedBy(layer, map.ledger[index]) : 0;
  return same(place, kv, {"K", pool.format().k, k.values, storedK, k.unsure, turns}, loose) &&
      same(place, kv, {"V", pool.format().v, v.values, storedV, v.unsure, 0}, loose);
}

bool StoredHeads::same(const Place& place, int kv, const Half& half, double loose) const {
  double most = 0;
  for (const double value : half.wanted) most = std::max(most, std::abs(value));
  for (std::size_t i = 0; i < half.wanted.size(); ++i) {
    const double apart = std::abs(half.wanted[i] - half.stored[i]);
    const double allowed =
        roomOf(half.type, half.wanted[i], most) + 2 * half.unsure + (room() * loose + half.turned) * most;
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

/// Each turn of a stored key rounds it again; a root of the head's length bounds a value by the error of the head.
double StoredHeads::turnedBy(CacheLayer layer, LedgerId id) const {
  const auto& rotations = m_input.state.rotations;
  if (at(layer) >= rotations.size() || static_cast<std::size_t>(id.value()) >= rotations[at(layer)].size()) return 0;
  return rotations[at(layer)][static_cast<std::size_t>(id.value())].count * turning(layer);
}

double StoredHeads::turning(CacheLayer layer) const {
  return 2 * roomOf(m_input.store.pool(layer).format().k, 1, 1) + 1e-6;
}

}  // namespace kvlab
