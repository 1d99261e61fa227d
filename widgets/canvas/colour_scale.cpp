// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/colour_scale.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/api/snapshot.h"

namespace kvlab {
namespace {
using Curve = ScaleChoice::Curve;
using Values = std::span<const std::span<const float>>;

constexpr float kDecades = 1e-4f;  // the low end of a logarithmic scale is not below this part of the high end
constexpr int kDropped = 17;       // low bits of a distance that ranks ignore

float bitsOf(float value) { return static_cast<float>(std::bit_cast<std::int32_t>(value)); }

/// Grows with the distance from the low end. The comparison takes care of -0 too, whose bits are large.
std::size_t rankKey(float distance) { return std::bit_cast<std::uint32_t>(distance > 0 ? distance : 0.0f) >> kDropped; }

struct Extent {
  float low = INFINITY, high = -INFINITY;  // range of finite values; low > high = there are none
  bool any() const { return low <= high; }
};

/// Uses several running ranges so that the compiler can vectorise. NaN fails every comparison; infinite values are
/// ignored.
void extend(Extent& out, std::span<const float> values) {
  constexpr std::size_t kLanes = 16;
  constexpr float kMost = std::numeric_limits<float>::max();
  std::array<float, kLanes> low, high;
  low.fill(out.low);
  high.fill(out.high);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float v = values[i + lane];
      const float down = v >= -kMost ? v : INFINITY, up = v <= kMost ? v : -INFINITY;
      low[lane] = down < low[lane] ? down : low[lane];
      high[lane] = up > high[lane] ? up : high[lane];
    }
  out = {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
  for (; i < values.size(); ++i)
    if (std::isfinite(values[i])) out.low = std::min(out.low, values[i]), out.high = std::max(out.high, values[i]);
}

/// From a round number below the dimmest row up to the maximum. Rows lose only a few units per tick, and this must be
/// visible from the first tick on.
void setBrightness(ColourScale& scale, const Extent& extent) {
  constexpr float kStep = 8;
  scale.high = std::max(255.0f, extent.high);
  if (extent.any()) scale.low = std::max(0.0f, std::min(std::floor(extent.low / kStep) * kStep, scale.high - kStep));
}

/// Most quantities begin at 0; of norms and scores only the differences count.
void setEnds(ColourScale& scale, const Extent& extent) {
  if (scale.quantity == Quantity::Brightness) return setBrightness(scale, extent);
  const bool between =
      scale.quantity == Quantity::KNorm || scale.quantity == Quantity::VNorm || scale.quantity == Quantity::Score;
  if (!extent.any()) return;
  scale.low = between && extent.low < extent.high ? extent.low : std::min(0.0f, extent.low);
  scale.high = extent.high > 0 || extent.high > scale.low ? extent.high : scale.low + 1;
}

/// A curve that cannot be had falls back to a line.
void setCurve(ColourScale& scale, Values values, const Extent& extent) {
  if (scale.curve == Curve::Log) {
    const float least = extent.any() && extent.low > 0 ? extent.low : 0;
    if (scale.high > 0) scale.low = std::max({scale.low, least, scale.high * kDecades});
    else scale.curve = Curve::Linear;
  }
  if (scale.curve != Curve::Rank) return;
  const float low = extent.any() ? std::max(scale.low, extent.low) : scale.low;
  const float high = extent.any() ? std::min(scale.high, extent.high) : scale.high;
  if (high <= low) return void(scale.curve = Curve::Linear);
  scale.low = low, scale.high = high;
  scale.ranks = std::make_shared<const Ranks>(values, low, high);
}

ColourScale makeScale(Quantity quantity, Values values, const ScaleChoice& choice) {
  ColourScale scale{quantity, 0, 1, choice.curve == Curve::Usual ? lookOf(quantity).curve : choice.curve};
  if (quantity == Quantity::Staleness) scale.high = kExactnessLabels - 1;
  if (isCategorical(quantity)) return scale.curve = Curve::Linear, scale;
  Extent extent;
  for (const std::span<const float> line : values) extend(extent, line);
  if (choice.range == ScaleChoice::Range::Fixed) scale.low = choice.low, scale.high = choice.high;
  else setEnds(scale, extent);
  if (!extent.any() && scale.curve == Curve::Rank) scale.curve = Curve::Linear;  // there is nothing to rank
  setCurve(scale, values, choice.range == ScaleChoice::Range::Fixed ? Extent() : extent);
  return scale;
}
}  // namespace

const QuantityLook& lookOf(Quantity quantity) {
  using Map = MapKind;
  using Curve = ScaleChoice::Curve;
  static constexpr std::array<QuantityLook, kQuantities> kLooks{{
      {Map::Viridis, Curve::Rank, "Brightness of the row, 0 to 255; culling replaces dim rows"},
      {Map::Cividis, Curve::Linear, "Ticks since the row was added"},
      {Map::Residency, Curve::Linear, "Whether the row's K and V are present in the layer"},
      {Map::Inferno, Curve::Log, "Attention that the newest query pays to the row"},
      {Map::Inferno, Curve::Rank, "Attention that the row received from all queries of the last prefill"},
      {Map::Cividis, Curve::Linear,
       "Difference between the phase at which the row is read and the phase at which it was computed"},
      {Map::Staleness, Curve::Linear, "Why the row may differ from a rebuild"},
      {Map::Inferno, Curve::Log, "Relative difference of K from a rebuild; needs a drift pass"},
      {Map::Inferno, Curve::Log, "Relative difference of V from a rebuild; needs a drift pass"},
      {Map::Viridis, Curve::Linear, "L2 norm of the row's K over all heads"},
      {Map::Viridis, Curve::Linear, "L2 norm of the row's V over all heads"},
      {Map::Inferno, Curve::Log, "Relative error of the stored K; needs a quantisation pass"},
      {Map::Inferno, Curve::Log, "Relative error of the stored V; needs a quantisation pass"},
      {Map::Inferno, Curve::Log,
       "Error of the newest query's attention logits because of the stored K; needs a quantisation pass"},
      {Map::Viridis, Curve::Rank,
       "Last score from the layer's eviction policy; rows with the lowest scores are evicted"},
      {Map::Inferno, Curve::Root, "How unlikely the model found the token, in nats; needs a text that was scored"},
      {Map::Inferno, Curve::Log,
       "Relative difference of K from the state that the view Difference compares with; 1 for rows that it lacks"},
      {Map::Inferno, Curve::Log,
       "Relative difference of V from the state that the view Difference compares with; 1 for rows that it lacks"},
      {Map::Inferno, Curve::Log,
       "What the next token owes to the row: KL divergence without it, in nats; needs Knock Out on the chosen rows"},
  }};
  return kLooks[static_cast<std::size_t>(quantity)];
}

Ranks::Ranks(std::span<const std::span<const float>> values, float low, float high) : m_low(low), m_median(low) {
  std::vector<std::int64_t> counts(std::size_t{1} << (31 - kDropped));
  std::int64_t all = 0;
  for (const std::span<const float> line : values)
    for (const float value : line)
      if (value >= low && value <= high) ++counts[rankKey(value - low)], ++all;
  const std::int64_t rest = std::max<std::int64_t>(1, all - counts[rankKey(high - low)]);
  std::int64_t below = 0;
  for (std::size_t key = 0; key < counts.size(); ++key) {
    m_shares.push_back(static_cast<std::uint8_t>(std::min<std::int64_t>(255, (below * 255 + rest / 2) / rest)));
    const bool half = 2 * below < all && 2 * (below + counts[key]) >= all;
    if (half && key > 0) m_median = low + std::bit_cast<float>(static_cast<std::uint32_t>(key) << kDropped);
    below += counts[key];
  }
}

float Ranks::of(float value) const { return static_cast<float>(m_shares[rankKey(value - m_low)]) / 255; }

float ColourScale::unit(float value) const {
  if (std::isnan(value)) return value;
  if (curve == Curve::Rank && ranks) return value >= high ? 1 : ranks->of(value);
  float from = low, to = high;
  if (curve == Curve::Log) {  // the bits of a positive float grow approximately like its logarithm
    from = bitsOf(low), to = bitsOf(high);
    value = bitsOf(std::max(value, low));
  }
  if (!std::isfinite(to - from)) from /= 2, to /= 2, value /= 2;
  float t = to > from ? (value - from) / (to - from) : (value > from ? 1.0f : 0.0f);
  t = std::clamp(t, 0.0f, 1.0f);
  if (curve == Curve::Root) t = std::sqrt(t);
  return quantity == Quantity::Residency ? 1 - t : t;
}

std::uint8_t ColourScale::index(float value) const {
  const float t = unit(value);
  return std::isnan(t) ? kUnmeasured : std::max(kFirstColour, static_cast<std::uint8_t>(1.5f + t * 254));
}

void ColourScale::quantise(std::span<const float> values, std::span<std::uint8_t> out) const {
  const bool plain =
      curve == Curve::Linear && quantity != Quantity::Residency && high > low && std::isfinite(high - low);
  if (!plain) {
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = index(values[i]);
    return;
  }
  const float range = high - low;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float t = std::min(std::max(0.0f, (values[i] - low) / range), 1.0f);  // 0 for NaN, which no int holds
    const bool none = values[i] != values[i];
    const int index = std::max(int{kFirstColour}, static_cast<int>(1.5f + t * 254));
    out[i] = none ? kUnmeasured : static_cast<std::uint8_t>(index);
  }
}

std::vector<std::uint8_t> ColourScales::indices(std::span<const float> values) const {
  std::vector<std::uint8_t> out(values.size());
  const std::size_t each = values.size() / lines.size();
  for (std::size_t line = 0; line < lines.size(); ++line)
    lines[line].quantise(values.subspan(line * each, each), std::span(out).subspan(line * each, each));
  return out;
}

ColourScale scaleFor(Quantity quantity, std::span<const float> values, const ScaleChoice& choice) {
  return makeScale(quantity, std::array{values}, choice);
}

ColourScales scalesFor(Quantity quantity, std::span<const float> values, int lines, const ScaleChoice& choice) {
  const std::size_t each = values.size() / at(std::max(1, lines));
  std::vector<std::span<const float>> parts;
  for (int line = 0; line < lines; ++line) parts.push_back(values.subspan(at(line) * each, each));
  return scalesFor(quantity, parts, choice);
}

ColourScales scalesFor(Quantity quantity, const std::vector<std::span<const float>>& lines, const ScaleChoice& choice) {
  std::vector<std::span<const float>> parts;
  for (const std::span<const float> line : lines)
    parts.push_back(line.subspan(choice.sinks ? 0 : std::min(line.size(), at(kSinkTokens))));
  ColourScales out{{}, choice};
  if (choice.range == ScaleChoice::Range::Line && !isCategorical(quantity))
    for (const std::span<const float>& one : parts) out.lines.push_back(makeScale(quantity, {&one, 1}, choice));
  if (out.lines.empty()) out.lines.push_back(makeScale(quantity, parts, choice));
  return out;
}

bool isCategorical(Quantity quantity) { return quantity == Quantity::Residency || quantity == Quantity::Staleness; }

}  // namespace kvlab
