// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>

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

}  // namespace

ColourTable colourTable(MapKind kind, const Theme& theme) {
  ColourTable table{};
  table[kUnmeasured] = table[kGone] = theme.missing.rgb();
  const bool classes = kind == MapKind::Residency || kind == MapKind::Staleness;
  for (std::size_t i = kFirstColour; i < table.size(); ++i) {
    const double t = i == kFirstColour ? 0 : static_cast<double>(i - 1) / 254;
    if (classes) {
      const auto colours = classesOf(kind, theme);
      table[i] = colours[at(std::lround(t * static_cast<double>(colours.size() - 1)))];
    } else {
      table[i] = along(stopsOf(kind), t);
    }
  }
  return table;
}

const QuantityLook& lookOf(Quantity quantity) {
  using Map = MapKind;
  using Curve = ScaleChoice::Curve;
  static constexpr std::array<QuantityLook, kQuantities> kLooks{{
      {Map::Viridis, Curve::Linear, "Brightness of the row, 0 to 255; culling replaces dim rows"},
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
  }};
  return kLooks[static_cast<std::size_t>(quantity)];
}

ColourTable colourTable(Quantity quantity, const Theme& theme) { return colourTable(lookOf(quantity).map, theme); }

QString shortValueText(Quantity quantity, float value) {
  if (std::isnan(value)) return {};
  if (quantity == Quantity::Residency) return value > 0.5f ? "yes" : "no";
  if (quantity == Quantity::Age) return QString::number(static_cast<int>(value));
  return valueText(quantity, value).section(' ', -1);
}

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
