// SPDX-License-Identifier: Apache-2.0
#include "core/explain/row_bounds.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {

// Two roundings of one value differ by at most both errors; an engine that computes in 16 bits rounds a row about six
// times on its way (norm, product, two products and a sum of the rotation, store). Noise that has travelled through
// layers is another draw of the same size, whose worst head of thousands is a few times the middle one; an engine that
// computes in 16 bits rounds about six times in a layer, and one of them is modelled.
struct Margin {
  float own, travelled;
};
constexpr Margin kPlain = {1.5f, 4}, kIn16 = {6, 8}, kNoise = {1, 8};
constexpr float kUlp = 1.0f / 16777216;  // f32: half a unit in the last place
// f32: sums in another order, of a thousand terms where nothing is known of them; in a projection; noise of a layer.
constexpr float kSums = 1024 * kUlp, kProjected = 128 * kUlp, kOfLayer = 4 * kUlp;
constexpr float kOfQuarter = 6;          // noise of the worst head, in that of the lower quarter
constexpr float kOfPosition = kUlp / 2;  // angles of f32, of each position

float middle(std::vector<float> values) {
  std::erase_if(values, [](float x) { return !std::isfinite(x); });
  if (values.empty()) return 0;
  const auto mid = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  return *mid;
}

float depth(int layer) { return 1 + static_cast<float>(layer) / 8; }

/// own: errors of the roundings of the rows themselves; travelled: of the values before that.
std::vector<float> boundsOf(const std::vector<float>& own, const std::vector<float>& travelled, int layer,
                            Margin margin, float sums) {
  const float usual = middle(travelled), usualOwn = middle(own);
  std::vector<float> out(own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    out[i] = margin.own * std::max(own[i], usualOwn) + margin.travelled * std::max(travelled[i], usual) +
        sums * depth(layer);
  return out;
}

/// What sums in another order do to the output of a layer: signs that look random and are the same in every run.
void addNoise(Layer layer, std::int64_t first, std::span<float> x) {
  std::uint64_t state = static_cast<std::uint64_t>(layer.value() + 1) * 0x9e3779b97f4a7c15u +
      static_cast<std::uint64_t>(first) * 0xbf58476d1ce4e5b9u;
  for (float& value : x) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    value *= (state >> 40 & 1) != 0 ? 1 + kOfLayer : 1 - kOfLayer;
  }
}

}  // namespace

RowRounding::RowRounding(const ModelConfig& config, SideReading keys, SideReading values, const StoredType* keyType,
                         const StoredType* valueType, std::vector<double> phases, std::int64_t length)
    : m_config(config),
      m_keys(std::move(keys)),
      m_values(std::move(values)),
      m_keyType(keyType),
      m_valueType(valueType),
      m_phases(std::move(phases)),
      m_length(length) {}

bool RowRounding::rounds() const {
  const StoredType* exact = storedType("f32");
  return (m_keyType && m_keyType != exact) || (m_valueType && m_valueType != exact);
}

bool RowRounding::in16(Side side) const {
  const StoredType* type = side == Side::Keys ? m_keyType : m_valueType;
  return type && type->block == -1 && type->bits == 16;
}

void RowRounding::operator()(Layer layer, std::int64_t first, std::span<float> keys, std::span<float> values) const {
  round(m_keys, m_keyType, layer, first, keys);
  round(m_values, m_valueType, layer, first, values);
}

void RowRounding::round(const SideReading& reading, const StoredType* type, Layer layer, std::int64_t first,
                        std::span<float> rows) const {
  if (!type || type == storedType("f32")) return;
  const std::size_t width = at(m_config.kvHeads) * at(m_config.headDim), count = rows.size() / width;
  std::vector<double> phases(count);
  for (std::size_t i = 0; i < count; ++i)
    phases[i] = at(first) + i < m_phases.size() ? m_phases[at(first) + i] : static_cast<double>(at(first) + i);
  const KeyTurning turning = turningLike(reading.turning, m_config, layer, m_length);
  const bool turned = reading.side == Side::Keys && turning.times != 0;
  if (turned) turning.turn(rows, m_config.headDim, phases);
  SideReading within = reading;
  std::erase_if(within.layout, [](const LayoutStep& step) { return step.ofTable(); });
  const RowShape shape{static_cast<std::int64_t>(count), m_config.kvHeads, m_config.headDim};
  std::vector<float> laid = within.applied(shape, {rows.begin(), rows.end()});
  roundRows(*type, laid, m_config.headDim);
  laid = within.undone(shape, std::move(laid));
  std::copy(laid.begin(), laid.end(), rows.begin());
  if (turned) turning.turnBack(rows, m_config.headDim, phases);
}

Result<RowBounds> rowBounds(const TokenPass& pass, const TokenRows& rows, const RowRounding& rounding,
                            const StoredType* between, bool ownArithmetic) {
  const ModelConfig& config = pass.weights->model().config();
  const int dim = config.headDim;
  const std::size_t heads = at(config.kvHeads);
  RowBounds out;
  const std::size_t layers = rows.keys.size();
  std::vector<std::vector<float>> own[2], travelled[2];
  for (int side = 0; side < 2; ++side) own[side].resize(layers), travelled[side].resize(layers);
  TokenPass typed = pass;
  typed.layers = static_cast<int>(layers);
  typed.stored = [&](Layer layer, std::int64_t first, std::span<float> keys, std::span<float> values) {
    const std::vector<float> before[2] = {{keys.begin(), keys.end()}, {values.begin(), values.end()}};
    rounding(layer, first, keys, values);
    const std::span<float> after[2] = {keys, values};
    for (int side = 0; side < 2; ++side) {
      const std::vector<float>& all = side == 0 ? rows.keys[at(layer)] : rows.values[at(layer)];
      const std::span<const float> exact(all.data() + at(first) * heads * at(dim), keys.size());
      const std::vector<float> moved = relativeErrors(after[side], before[side], dim);
      const std::vector<float> off = relativeErrors(before[side], exact, dim);
      own[side][at(layer)].insert(own[side][at(layer)].end(), moved.begin(), moved.end());
      travelled[side][at(layer)].insert(travelled[side][at(layer)].end(), off.begin(), off.end());
    }
  };
  if (between)
    typed.between = [between, inner = pass.between](Layer layer, std::int64_t first, std::span<float> x) {
      if (inner) inner(layer, first, x);
      const std::vector<float> exact(x.begin(), x.end());
      roundRows(*between, x, 1);
      for (std::size_t i = 0; i < x.size(); ++i)  // an engine in f16 holds what grows beyond its range as f32
        if (!std::isfinite(x[i])) x[i] = exact[i];
    };
  out.wide = ownArithmetic && !between && !rounding.rounds();
  if (out.wide) typed.between = addNoise;
  out.typed = KV_TRY(tokenRows(typed));
  if (out.wide) out.typed = rows;
  const auto margin = [&](Side side) { return out.wide ? kNoise : rounding.in16(side) ? kIn16 : kPlain; };
  const float sums = out.wide ? kProjected : kSums;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const auto number = static_cast<int>(layer);
    out.keys.push_back(boundsOf(own[0][layer], travelled[0][layer], number, margin(Side::Keys), sums));
    out.values.push_back(boundsOf(own[1][layer], travelled[1][layer], number, margin(Side::Values), sums));
    for (std::size_t i = 0; out.wide && i < out.keys[layer].size(); ++i)
      out.keys[layer][i] += kOfPosition * static_cast<float>(std::abs(rows.phases[i / heads]));
  }
  return out;
}

void allowNoise(int layer, std::vector<float> figures, std::vector<float>& bounds) {
  std::erase_if(figures, [](float x) { return !std::isfinite(x); });
  if (figures.empty()) return;
  const auto quarter = figures.begin() + std::ptrdiff_t(figures.size() / 4);
  std::nth_element(figures.begin(), quarter, figures.end());
  const float allowed = std::min(kOfQuarter * *quarter, kSums * depth(layer));
  for (float& bound : bounds) bound = std::max(bound, allowed);
}

double typeError(const StoredType* type, std::vector<float> rows, int dim) {
  if (!type) return 0;
  const std::vector<float> before = rows;
  roundRows(*type, rows, dim);
  const std::vector<float> errors = relativeErrors(rows, before, dim);
  double sum = 0;
  std::size_t count = 0;
  for (const float error : errors)
    if (std::isfinite(error)) sum += error, ++count;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace kvlab
