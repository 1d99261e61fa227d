// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/colour_map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/api/snapshot.h"
#include "widgets/base/format.h"

namespace kvlab {
namespace {
constexpr QRgb kViridis[] = {0xff440154, 0xff482878, 0xff3e4989, 0xff31688e, 0xff26828e,
                             0xff1f9e89, 0xff35b779, 0xff6ece58, 0xffb5de2b, 0xfffde725};
constexpr QRgb kCividis[] = {0xff00224e, 0xff123570, 0xff3b496c, 0xff575d6d, 0xff707173,
                             0xff8a8678, 0xffa59c74, 0xffc3b369, 0xffe1cc55, 0xfffee838};
constexpr QRgb kInferno[] = {0xff000004, 0xff1b0c41, 0xff4a0c6b, 0xff781c6d, 0xffa52c60,
                             0xffcf4446, 0xffed6925, 0xfffb9b06, 0xfff7d13d, 0xfffcffa4};
constexpr QRgb kPuOr[] = {0xff542788, 0xff8073ac, 0xffb2abd2, 0xffd8daeb, 0xfff7f7f7,
                          0xfffee0b6, 0xfffdb863, 0xffe08214, 0xffb35806};
// Exact, context evicted, context edited, phase shifted, inherited, loaded; the theme replaces the first.
constexpr QRgb kStaleness[kExactnessLabels] = {0xff3f5870, 0xff56b4e9, 0xffe69f00, 0xffcc79a7, 0xfff0e442, 0xff2fb08a};
constexpr QRgb kStalenessLight[kExactnessLabels] = {0xffd3dde8, 0xff3a96cc, 0xffdd8f00,
                                                    0xffb85c93, 0xffc9b800, 0xff12866a};

QRgb along(std::span<const QRgb> stops, double t) {
  const double place = t * static_cast<double>(stops.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double f = place - static_cast<double>(i);
  const auto blend = [f](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * f)); };
  const QRgb a = stops[i], b = stops[i + 1];
  return qRgb(blend(qRed(a), qRed(b)), blend(qGreen(a), qGreen(b)), blend(qBlue(a), qBlue(b)));
}

std::span<const QRgb> stopsOf(MapKind kind) {
  switch (kind) {
    case MapKind::Cividis: return kCividis;
    case MapKind::Inferno: return kInferno;
    case MapKind::Diverging: return kPuOr;
    default: return kViridis;
  }
}

std::span<const QRgb> classesOf(MapKind kind, const Theme& theme) {
  static constexpr QRgb kResidency[] = {0xff2f7fb8, 0xffe69f00};
  static constexpr QRgb kResidencyLight[] = {0xff6fb1dd, 0xffdd8f00};
  if (kind == MapKind::Residency)
    return theme.dark ? std::span<const QRgb>(kResidency) : std::span<const QRgb>(kResidencyLight);
  return theme.dark ? std::span<const QRgb>(kStaleness) : std::span<const QRgb>(kStalenessLight);
}

float bitsOf(float value) { return static_cast<float>(std::bit_cast<std::int32_t>(value)); }

ColourScale::Bend bendOf(Quantity quantity) {
  switch (quantity) {
    case Quantity::Attention:
    case Quantity::Surprise:
    case Quantity::Received: return ColourScale::Bend::Root;
    case Quantity::DriftK:
    case Quantity::QuantK:
    case Quantity::QuantV:
    case Quantity::QuantLogit:
    case Quantity::DifferenceK:
    case Quantity::DifferenceV:
    case Quantity::DriftV: return ColourScale::Bend::Log;
    default: return ColourScale::Bend::Linear;
  }
}
}  // namespace

ColourTable colourTable(MapKind kind, const Theme& theme) {
  ColourTable table{};
  table[0] = theme.missing.rgb();
  const bool classes = kind == MapKind::Residency || kind == MapKind::Staleness;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const double t = static_cast<double>(i - 1) / 254;
    if (classes) {
      const auto colours = classesOf(kind, theme);
      table[i] = colours[at(std::lround(t * static_cast<double>(colours.size() - 1)))];
    } else {
      table[i] = along(stopsOf(kind), t);
    }
  }
  return table;
}

MapKind mapKindFor(Quantity quantity) {
  switch (quantity) {
    case Quantity::Residency: return MapKind::Residency;
    case Quantity::Staleness: return MapKind::Staleness;
    case Quantity::Age:
    case Quantity::PhaseLag: return MapKind::Cividis;
    case Quantity::Attention:
    case Quantity::Received:
    case Quantity::Surprise:
    case Quantity::DriftK:
    case Quantity::QuantK:
    case Quantity::QuantV:
    case Quantity::QuantLogit:
    case Quantity::DifferenceK:
    case Quantity::DifferenceV:
    case Quantity::DriftV: return MapKind::Inferno;
    default: return MapKind::Viridis;
  }
}

ColourTable colourTable(Quantity quantity, const Theme& theme) { return colourTable(mapKindFor(quantity), theme); }

float ColourScale::unit(float value) const {
  if (std::isnan(value)) return value;
  float from = low, to = high;
  if (bend == Bend::Log) {  // the bits of a positive float grow approximately like its logarithm
    from = bitsOf(low), to = bitsOf(high);
    value = bitsOf(std::max(value, low));
  }
  float t = to > from ? (value - from) / (to - from) : (value > from ? 1.0f : 0.0f);
  t = std::clamp(t, 0.0f, 1.0f);
  if (bend == Bend::Root) t = std::sqrt(t);
  return quantity == Quantity::Residency ? 1 - t : t;
}

std::uint8_t ColourScale::index(float value) const {
  const float t = unit(value);
  return std::isnan(t) ? std::uint8_t{0} : static_cast<std::uint8_t>(1.5f + t * 254);
}

void ColourScale::quantise(std::span<const float> values, std::span<std::uint8_t> out) const {
  const bool plain = bend == Bend::Linear && quantity != Quantity::Residency && high > low;
  if (!plain) {
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = index(values[i]);
    return;
  }
  const float range = high - low;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float t = std::min(std::max((values[i] - low) / range, 0.0f), 1.0f);
    const bool none = values[i] != values[i];
    out[i] = none ? std::uint8_t{0} : static_cast<std::uint8_t>(static_cast<int>(1.5f + t * 254));
  }
}

namespace {
struct Extent {
  float low = INFINITY, high = -INFINITY;  // range of finite values; low > high = there are none
};

/// Uses several running ranges so that the compiler can vectorise. NaN fails every comparison; infinite values are
/// ignored.
Extent extentOf(const std::vector<float>& values) {
  constexpr std::size_t kLanes = 16;
  constexpr float kMost = std::numeric_limits<float>::max();
  std::array<float, kLanes> low, high;
  low.fill(INFINITY);
  high.fill(-INFINITY);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float v = values[i + lane];
      const float down = v >= -kMost ? v : INFINITY, up = v <= kMost ? v : -INFINITY;
      low[lane] = down < low[lane] ? down : low[lane];
      high[lane] = up > high[lane] ? up : high[lane];
    }
  Extent out{*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
  for (; i < values.size(); ++i)
    if (std::isfinite(values[i])) out.low = std::min(out.low, values[i]), out.high = std::max(out.high, values[i]);
  return out;
}

/// From a round number below the dimmest row up to the maximum. Rows lose only a few units per tick, and this must be
/// visible from the first tick on.
ColourScale brightnessScale(ColourScale scale, const Extent& extent) {
  constexpr float kStep = 8;
  scale.high = std::max(255.0f, extent.high);
  if (extent.low > extent.high) return scale;
  scale.low = std::max(0.0f, std::min(std::floor(extent.low / kStep) * kStep, scale.high - kStep));
  return scale;
}
}  // namespace

ColourScale scaleFor(Quantity quantity, const std::vector<float>& values) {
  ColourScale scale{quantity, 0, 1, bendOf(quantity)};
  if (quantity == Quantity::Staleness) scale.high = kExactnessLabels - 1;
  if (isCategorical(quantity)) return scale;
  const Extent extent = extentOf(values);
  if (quantity == Quantity::Brightness) return brightnessScale(scale, extent);
  scale.high = extent.high > 0 ? extent.high : 1;
  const bool norm = quantity == Quantity::KNorm || quantity == Quantity::VNorm;
  if (norm && extent.low < extent.high && extent.high > 0) scale.low = extent.low;
  if (scale.bend == ColourScale::Bend::Log) scale.low = scale.high * 1e-4f;
  return scale;
}

QString shortValueText(Quantity quantity, float value) {
  if (std::isnan(value)) return {};
  if (quantity == Quantity::Residency) return value > 0.5f ? "yes" : "no";
  if (quantity == Quantity::Age) return QString::number(static_cast<int>(value));
  return valueText(quantity, value).section(' ', -1);
}

bool isCategorical(Quantity quantity) { return quantity == Quantity::Residency || quantity == Quantity::Staleness; }

QString titleInText(Quantity quantity) {
  QString text = wordOf(title(quantity));
  if (text.size() > 1 && text[1].isLetter()) text[0] = text[0].toLower();
  return text;
}

QString valueText(Quantity quantity, float value) {
  static constexpr const char* kClasses[kExactnessLabels] = {"exact",         "context evicted", "context edited",
                                                             "phase shifted", "inherited",       "loaded"};
  if (std::isnan(value)) return QStringLiteral("no value");
  switch (quantity) {
    case Quantity::Residency: return value > 0.5f ? "resident" : "not resident";
    case Quantity::Staleness: return kClasses[std::clamp(static_cast<int>(value), 0, kExactnessLabels - 1)];
    case Quantity::Age: return QString("%1 ticks").arg(static_cast<int>(value));
    case Quantity::Brightness: return QString::number(static_cast<double>(value), 'g', value < 10 ? 2 : 3);
    default: return QString::number(static_cast<double>(value), 'g', 3);
  }
}

}  // namespace kvlab
