// SPDX-License-Identifier: GPL-3.0-or-later
// The person's choice of how values become colours. A value; any thread.
#pragma once
#include <cstdint>

namespace kvlab {

/// The first tokens of a context, which draw much attention whatever they say.
constexpr int kSinkTokens = 4;

struct ScaleChoice {
  enum class Curve : std::uint8_t { Usual, Linear, Root, Log, Rank };  // Usual: as the quantity asks for
  enum class Range : std::uint8_t { Usual, All, Line, Fixed };         // over all cells, over each line, low to high
  Curve curve = Curve::Usual;
  Range range = Range::Usual;
  float low = 0, high = 1;  // range of Fixed
  bool sinks = true;        // false: the first tokens do not set the range
  bool operator==(const ScaleChoice&) const = default;
};

}  // namespace kvlab
