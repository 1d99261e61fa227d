// SPDX-License-Identifier: GPL-3.0-or-later
// A picture of [layers][positions] colour indices with a max-pyramid over positions. If several positions share a
// pixel, it shows the largest index, so a single bad row stays visible. The indices of cells without a value are lower
// than all others. Values; any one thread.
#pragma once
#include <QImage>
#include <QRgb>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "widgets/canvas/colour_scale.h"

namespace kvlab {

class MaxPyramid {
 public:
  static constexpr std::uint8_t kNone = kUnmeasured;

  int layers() const { return m_layers; }
  int positions() const { return m_positions; }

  /// Replaces everything; indices: [layers][positions]. One pass; the indices are moved, not copied.
  void assign(int layers, int positions, std::vector<std::uint8_t> indices);
  std::uint8_t at(int layer, int position) const;
  /// Largest index of positions [begin, end) of a layer.
  std::uint8_t maxOf(int layer, int begin, int end) const;

  /// Writes one line of `width` pixels for a layer: pixel x shows positions [first + x / scale, first + (x + 1) /
  /// scale), with scale in pixels per position. Pixels behind the last position stay kNone.
  void line(int layer, double first, double scale, std::span<std::uint8_t> out) const;

  struct Look {
    std::array<QRgb, 256> colours{};  // colour of each index: of the dots of kUnmeasured, the hatching of kGone
    QRgb ground = 0;                  // background of dots and hatching, and colour outside all positions
    int hatch = 6;                    // distance of the hatching's lines in pixels, and of the dots
  };
  /// Fills an RGB32 image: layer l covers pixel rows [tops[l], tops[l + 1]); tops has layers + 1
  /// entries.
  void blit(QImage& image, double first, double scale, std::span<const int> tops, const Look& look) const;

 private:
  struct Level {
    int width = 0;                     // entries per layer
    std::vector<std::uint8_t> values;  // [layers][width]
    const std::uint8_t* of(int layer) const {
      return values.data() + static_cast<std::size_t>(layer) * static_cast<std::size_t>(width);
    }
  };

  int m_layers = 0;
  int m_positions = 0;
  std::vector<Level> m_levels;  // level k: entry i is the maximum of positions [i << k, (i + 1) << k)
};

}  // namespace kvlab
