// SPDX-License-Identifier: GPL-3.0-or-later
// The scale that maps a value to an index of a colour table: its ends, and the curve between them. Values; any thread.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/api/tile.h"
#include "widgets/base/scale_choice.h"

namespace kvlab {

/// Cells without a colour. Indices of a colour table: these two, then kFirstColour to 255 along the map.
constexpr std::uint8_t kUnmeasured = 0;  // nobody has measured the cell
constexpr std::uint8_t kGone = 1;        // its row is not in the layer
constexpr std::uint8_t kFirstColour = 2;

/// The colours of a map; colour_map has them.
enum class MapKind : std::uint8_t { Viridis, Cividis, Inferno, Diverging, Residency, Staleness };

/// How views show a quantity.
struct QuantityLook {
  MapKind map;
  ScaleChoice::Curve curve;  // the usual one
  const char* help;          // its meaning, and what it needs
};
const QuantityLook& lookOf(Quantity quantity);

/// Shares of a set of values that lie below a value. Values closer than 1.6 % of their distance to the smallest one
/// have the same share.
class Ranks {
 public:
  Ranks(std::span<const std::span<const float>> values, float low, float high);
  /// 0 at the low end, 1 at the high end.
  float of(float value) const;
  /// The value that half of the values do not exceed.
  float median() const { return m_median; }

 private:
  std::vector<std::uint8_t> m_shares;  // by the upper bits of the distance to the low end
  float m_low, m_median;
};

struct ColourScale {
  Quantity quantity = Quantity::Brightness;
  float low = 0, high = 1;
  using Curve = ScaleChoice::Curve;
  Curve curve = Curve::Linear;  // never Usual; Log needs low > 0, and is piecewise linear between powers of 2
  std::shared_ptr<const Ranks> ranks = {};  // for Curve::Rank

  /// Maps to 0..1; NaN stays NaN. Residency is inverted: absent rows are more important and must win if rows share a
  /// pixel.
  float unit(float value) const;
  /// kUnmeasured for not-a-number, else kFirstColour..255.
  std::uint8_t index(float value) const;
  /// index() of many values; both have the same size.
  void quantise(std::span<const float> values, std::span<std::uint8_t> out) const;
  bool operator==(const ColourScale&) const = default;
};

/// The scales of a matrix: one, or one for each line.
struct ColourScales {
  std::vector<ColourScale> lines = std::vector<ColourScale>(1);
  ScaleChoice choice;
  const ColourScale& of(int line) const { return lines[lines.size() == 1 ? 0 : at(line)]; }
  const ColourScale& first() const { return lines.front(); }
  /// values: [lines][items]
  std::vector<std::uint8_t> indices(std::span<const float> values) const;
};

/// The scale of a quantity: its fixed ends, else the range of finite values.
ColourScale scaleFor(Quantity quantity, std::span<const float> values, const ScaleChoice& choice = {});
/// lines: the values of each line. The usual range is that of all cells.
ColourScales scalesFor(Quantity quantity, const std::vector<std::span<const float>>& lines, const ScaleChoice& choice);
/// values: [lines][items]
ColourScales scalesFor(Quantity quantity, std::span<const float> values, int lines, const ScaleChoice& choice);
bool isCategorical(Quantity quantity);

}  // namespace kvlab
