// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/max_pyramid.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kvlab {
namespace {
constexpr int kShort = 256;         // entries read one by one
constexpr std::size_t kStride = 4;  // levels climbed per step
constexpr int kGroup = 1 << kStride;

std::uint8_t maxIn(const std::uint8_t* values, int begin, int end) {
  std::uint8_t best = MaxPyramid::kNone;
  for (int i = begin; i < end; ++i) best = std::max(best, values[i]);
  return best;
}

/// Cells without a value have a pattern: lines from corner to corner where the row is gone, dots where nobody measured.
bool inPattern(std::uint8_t index, int x, int y, int hatch) {
  return index == kGone ? (x + y) % hatch == 0 : x % hatch < hatch / 3 && y % hatch < hatch / 3;
}

/// Fills all pixel rows of a layer with one line of pixels; patterns are drawn row by row.
void fillLayer(QImage& image, int top, int bottom, std::span<const std::uint8_t> indices,
               const MaxPyramid::Look& look) {
  auto* line = reinterpret_cast<QRgb*>(image.scanLine(top));
  std::vector<int> none;
  for (std::size_t x = 0; x < indices.size(); ++x) {
    line[x] = indices[x] < kFirstColour ? look.ground : look.colours[indices[x]];
    if (indices[x] < kFirstColour) none.push_back(static_cast<int>(x));
  }
  for (int y = top + 1; y < bottom; ++y) std::memcpy(image.scanLine(y), line, indices.size() * sizeof(QRgb));
  for (int y = top; y < bottom && !none.empty(); ++y) {
    auto* row = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x : none)
      if (inPattern(indices[at(x)], x, y, look.hatch)) row[x] = look.colours[indices[at(x)]];
  }
}
}  // namespace

void MaxPyramid::assign(int layers, int positions, std::vector<std::uint8_t> indices) {
  m_layers = layers;
  m_positions = positions;
  m_levels.clear();
  indices.resize(kvlab::at(layers) * kvlab::at(positions), kNone);
  m_levels.push_back({positions, std::move(indices)});
  while (m_levels.back().width > 1) {
    const Level& below = m_levels.back();
    const int whole = below.width / 2, width = (below.width + 1) / 2;  // whole: entries with two members
    Level level{width, std::vector<std::uint8_t>(kvlab::at(layers) * kvlab::at(width))};
    for (int l = 0; l < layers; ++l) {
      const std::uint8_t* in = below.of(l);
      std::uint8_t* out = level.values.data() + kvlab::at(l) * kvlab::at(width);
      for (int i = 0; i < whole; ++i) out[i] = std::max(in[2 * i], in[2 * i + 1]);
      if (whole < width) out[whole] = in[2 * whole];
    }
    m_levels.push_back(std::move(level));
  }
}

std::uint8_t MaxPyramid::at(int layer, int position) const {
  if (layer < 0 || layer >= m_layers || position < 0 || position >= m_positions) return kNone;
  return m_levels.front().of(layer)[position];
}

std::uint8_t MaxPyramid::maxOf(int layer, int begin, int end) const {
  begin = std::max(begin, 0);
  end = std::min(end, m_positions);
  std::uint8_t best = kNone;
  // Short ranges are read directly, which compiles to wide loads. For long ranges only the unaligned ends are read
  // here; the middle is read four levels up.
  for (std::size_t k = 0; begin < end; k += kStride) {
    const Level& level = m_levels[k];
    const std::uint8_t* in = level.of(layer);
    if (end - begin <= kShort || k + kStride >= m_levels.size()) return std::max(best, maxIn(in, begin, end));
    const int from = (begin + kGroup - 1) / kGroup, to = end / kGroup;
    best = std::max({best, maxIn(in, begin, from * kGroup), maxIn(in, to * kGroup, end)});
    begin = from;
    end = to;
  }
  return best;
}

void MaxPyramid::line(int layer, double first, double scale, std::span<std::uint8_t> out) const {
  const int width = static_cast<int>(out.size());
  const double step = 1 / scale;
  for (int x = 0; x < width; ++x) {
    const double from = first + x * step;
    const int begin = static_cast<int>(std::floor(from + 1e-9));
    const int end = std::max(begin + 1, static_cast<int>(std::floor(from + step + 1e-9)));
    const auto i = static_cast<std::size_t>(x);
    if (begin < 0 || begin >= m_positions) out[i] = kNone;
    else out[i] = end == begin + 1 ? at(layer, begin) : maxOf(layer, begin, end);
  }
}

void MaxPyramid::blit(QImage& image, double first, double scale, std::span<const int> tops, const Look& look) const {
  image.fill(look.ground);
  const int inside = static_cast<int>(
      std::clamp(std::ceil((m_positions - first) * scale - 1e-6), 0.0, static_cast<double>(image.width())));
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(inside));
  for (int layer = 0; layer < m_layers && static_cast<std::size_t>(layer) + 1 < tops.size(); ++layer) {
    const int top = std::max(0, tops[static_cast<std::size_t>(layer)]);
    const int bottom = std::min(image.height(), tops[static_cast<std::size_t>(layer) + 1]);
    if (top >= bottom) continue;
    line(layer, first, scale, indices);
    fillLayer(image, top, bottom, indices, look);
  }
}

}  // namespace kvlab
