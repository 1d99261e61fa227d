// SPDX-License-Identifier: Apache-2.0
#include "core/check/stored_heads.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/api/json_values.h"
#include "core/model/decoder/frequencies.h"
#include "core/model/decoder/row_codec.h"
#include "kernels/backend/cuda_ops.h"
#include "kernels/row_checksum.h"
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

/// A pass of the last commit has computed the row in its layer.
bool computedLast(const CheckInput& input, const Place& place) {
  const auto tag = static_cast<std::uint64_t>(place.ledger->value());
  return std::ranges::any_of(input.deeds, [&](const PassDeed& deed) {
    return deed.layer == *place.layer && std::ranges::find(deed.tags, tag) != deed.tags.end();
  });
}

constexpr double kExact = 1e-4, kRounded = 8e-2;
constexpr double kSubnormal = 1e-7;  // steps of f16 do not get smaller

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
  Rounding byK = past.k.any() ? past.k : roundingOf(pool.format().k);
  Rounding byV = past.v.any() ? past.v : roundingOf(pool.format().v);
  if (pool.format().codecs) {
    byK = byK.then(byCodec(layer, true, kv, k.values));
    byV = byV.then(byCodec(layer, false, kv, v.values));
  }
  return same(place, kv, {"K", byK, k.values, storedK, k.unsure}, more) &&
      same(place, kv, {"V", byV, v.values, storedV, v.unsure}, more);
}

/// The error of a layer's codec, measured on the exact head. The pass encoded one that differs a little, so that values
/// near a border between two codes may have gone the other way: twice the largest error of the head.
Rounding StoredHeads::byCodec(CacheLayer layer, bool keys, int kv, std::span<const double> exact) const {
  const CacheLayers layers = m_input.state.cacheLayers();
  kernels::RowFormat one = m_input.store.pool(layer).format();
  const int first = layers.partOf(layer) * one.kvHeads + kv;
  one.kvHeads = 1;
  const std::vector<float> values(exact.begin(), exact.end());
  const Result<std::vector<float>> made = coded(one, keys, layers.layerOf(layer), first, 1, values.data(), 0);
  if (!made) return {0, Rounding::kAny};  // a pass with such a row fails by itself
  float most = 0, apart = 0;
  for (std::size_t i = 0; i < made->size(); ++i) {
    most = std::max(most, std::abs(values[i]));
    apart = std::max(apart, std::abs(values[i] - (*made)[i]));
  }
  return {0, most > 0 ? std::min(Rounding::kAny, 2 * apart / most) : apart > 0 ? Rounding::kAny : 0};
}

bool StoredHeads::same(const Place& place, int kv, const Half& half, double more) const {
  double most = 0;
  for (const double value : half.wanted) most = std::max(most, std::abs(value));
  for (std::size_t i = 0; i < half.wanted.size(); ++i) {
    const double apart = std::abs(half.wanted[i] - half.stored[i]);
    const double allowed = double(half.rounded.relative) * std::abs(half.wanted[i]) +
        (double(half.rounded.ofMost) + room() + more) * most + 2 * half.unsure + kSubnormal;
    if (apart <= allowed) continue;
    m_findings.add(
        place,
        "layer " + m_input.state.cacheLayers().name(*place.layer) + ": the stored " + half.name + " of " +
            rowName(*place.ledger) + " is not what its recomputation gives: head " + std::to_string(kv) + " has " +
            figureText(half.stored[i]) + " in place of " + figureText(half.wanted[i]) + ", and a difference of " +
            figureText(allowed) + " is allowed",
        {.row = place.ledger, .read = readAgain(m_input, *place.layer), .old = !computedLast(m_input, place)});
    return false;
  }
  return true;
}

double StoredHeads::turning(CacheLayer layer) const {
  return double(roundingOf(m_input.store.pool(layer).format().k, true).most()) + 1e-6;
}

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

bool keysOfOtherLengths(const CheckInput& input) {
  const std::vector<Rope>& ropes = input.transformer->model().config().ropes;
  return input.transformer->keysRotated() && std::ranges::any_of(ropes, &Rope::followsLength);
}

bool readAgain(const CheckInput& input, CacheLayer layer) {
  return input.state.cacheLayers().layerOf(layer) == Layer(0) && !keysOfOtherLengths(input);
}

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
