// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/series_palette.h"

#include <array>

namespace kvlab {
namespace {
constexpr std::array<QRgb, kSeriesColours> kDark = {0x56b4e9, 0xe6a532, 0x2fbf94, 0xd98cb8,
                                                    0x8d9bff, 0xf0e06a, 0xf0794a, 0xaab4c0};
constexpr std::array<QRgb, kSeriesColours> kLight = {0x0b6fb3, 0xb87300, 0x00805d, 0xa8457d,
                                                     0x4a55c4, 0x857900, 0xc04a12, 0x5c6773};
constexpr std::array kDashes = {Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};
}  // namespace

QColor seriesColour(int i, bool dark) {
  const auto place = static_cast<std::size_t>(i % kSeriesColours);
  return QColor::fromRgb(dark ? kDark[place] : kLight[place]);
}

QPen seriesPen(int i, bool dark, double width) {
  QPen pen(seriesColour(i, dark), width);
  pen.setStyle(kDashes[static_cast<std::size_t>(i) % kDashes.size()]);
  pen.setJoinStyle(Qt::RoundJoin);
  return pen;
}

}  // namespace kvlab
