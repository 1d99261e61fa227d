// SPDX-License-Identifier: Apache-2.0
#include "core/check/implied_rows.h"

#include <algorithm>
#include <cmath>

#include "core/check/stored_heads.h"
#include "core/model/decoder/transformer.h"
#include "kernels/row_checksum.h"

namespace kvlab {

std::vector<double> embeddingOf(const CheckInput& input, const ScalarDecoder& decoder, LedgerId id) {
  const CacheState& state = input.state;
  const auto embed = [&](TokenId token) { return decoder.embed(token); };
  if (std::optional<std::vector<double>> own = state.kind->inputOf(state, id, embed)) return std::move(*own);
  return decoder.embed(state.ledger[id].token);
}

ImpliedRows impliedRows(const ResidencyView& map, std::size_t own, int window) {
  ImpliedRows out{map.first, static_cast<std::int32_t>(own) + 1};
  while (out.begin < out.end - 1 && window > 0 &&
         map.phases[own] - map.phases[static_cast<std::size_t>(out.begin)] >= window)
    ++out.begin;
  return out;
}

/// The manifest's mask, else the model's; a ring lets rows go that it has no room for.
int windowIn(const CheckInput& input, CacheLayer layer) {
  const ModelConfig& config = input.transformer->model().config();
  const Layer of = input.state.cacheLayers().layerOf(layer);
  const int model = config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(of)];
  const int mask = input.manifest.windowOf(of) >= 0 ? input.manifest.windowOf(of) : model;
  const bool ring = input.state.group(layer).ring.has_value();
  const int kept = ring ? input.manifest.ring.window : 0;
  return kept == 0 ? mask : mask == 0 ? kept : std::min(mask, kept);
}

namespace {

using ReadRow = std::function<void(std::size_t row, bool value, std::span<double> out)>;

ReadRow shakenBy(double part, ReadRow read) {
  return [part, read = std::move(read)](std::size_t row, bool value, std::span<double> out) {
    read(row, value, out);
    double most = 0;
    for (const double one : out) most = std::max(most, std::abs(one));
    std::uint64_t random = row * 2 + value;
    for (double& one : out) {
      random = kernels::mix64(random + kernels::kChecksumIndexStep);
      one += random & 1 ? part * most : -part * most;
    }
  };
}

}  // namespace

std::optional<std::vector<double>> storedAttention(const CheckInput& input, const ScalarDecoder& decoder,
                                                   const StoredHeads& stored, Layer layer, const ScalarRow& row,
                                                   const IndexIn& indexIn, double shaken) {
  const ModelConfig& config = input.transformer->model().config();
  const CacheLayers layers = input.state.cacheLayers();
  const int perPart = config.heads / layers.perLayer, group = config.heads / config.kvHeads;
  const bool turned = input.transformer->keysRotated();
  std::vector<double> out;
  int head = 0;
  for (const CacheLayer own : layers.of(layer)) {
    const std::optional<std::size_t> index = indexIn(own);
    if (!index) return std::nullopt;
    const ResidencyView& map = input.state.map(own);
    const RowPool& pool = input.store.pool(own);
    const ImpliedRows seen = impliedRows(map, *index, windowIn(input, own));
    const std::span<const Slot> slots = map.slotOf.span().subspan(at(seen.begin), at(seen.end - seen.begin));
    if (std::ranges::any_of(slots, [&](Slot slot) { return slot.value() < 0 || slot.value() >= pool.slots(); }))
      return std::nullopt;
    ScalarSeen rows;
    for (std::int32_t i = seen.begin; i < seen.end; ++i)
      rows.phases.push_back(turned ? 0 : stored.phaseOf(map.phases[at(i)]));
    const double phase = stored.phaseOf(map.phases[*index]);
    for (int i = 0; i < perPart; ++i, ++head) {
      std::vector<double> q = row.q[at(head)].values;
      decoder.turn(layer, q, phase, true);
      rows.read = HeadReader(pool, slots, head / group % pool.format().kvHeads);
      if (shaken > 0) rows.read = shakenBy(shaken, std::move(rows.read));
      const std::vector<double> one = decoder.attend(layer, head, q, rows, turned);
      out.insert(out.end(), one.begin(), one.end());
    }
  }
  return out;
}

}  // namespace kvlab
