// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/lanes/lane_lines.h"

#include "widgets/base/format.h"
#include "widgets/views/lanes/lane_cells.h"
#include "widgets/views/lanes/lane_losses.h"
#include "widgets/views/lanes/lanes_model.h"

namespace kvlab {
namespace {

QString withExit(const LaneView& lane) {
  const QString left = exitText(lane);
  return (left.isEmpty() ? QString() : QLatin1Char(' ') + left) + QLatin1Char('\n');
}

}  // namespace

QString cellLines(const LanesView& view) {
  QString out;
  const std::vector<LaneCells> cells = laneCells(view);
  for (std::size_t lane = 0; lane < cells.size(); ++lane) {
    out += QStringLiteral("lane %1:").arg(lane);
    for (int layer = 0; layer < static_cast<int>(cells[lane].layers.size()); ++layer)
      out += QStringLiteral(" layer %1 same %2 lost %3 more %4 gone %5;")
                 .arg(layer)
                 .arg(cells[lane].count(layer, LaneCell::Same))
                 .arg(cells[lane].count(layer, LaneCell::Lost))
                 .arg(cells[lane].count(layer, LaneCell::Extra))
                 .arg(cells[lane].count(layer, LaneCell::Gone));
    out += withExit(view.lanes[lane]);
  }
  return out;
}

QString lossLines(const LanesView& view) {
  QString out;
  const std::vector<LaneLosses> all = laneLosses(view);
  for (std::size_t lane = 0; lane < all.size(); ++lane) {
    const LaneLosses& losses = all[lane];
    out += QStringLiteral("lane %1: %2 of %3 tokens measured")
               .arg(lane)
               .arg(losses.measured)
               .arg(view.lanes[lane].taken.size());
    if (losses.any())
      out += QStringLiteral("; %1 mean %2, most %3 at %4, least %5 at %6")
                 .arg(lane ? "loss above lane 0:" : "loss:", figureText(losses.mean),
                      figureText(static_cast<double>(losses.at(losses.most))))
                 .arg(losses.most)
                 .arg(figureText(static_cast<double>(losses.at(losses.least))))
                 .arg(losses.least);
    out += withExit(view.lanes[lane]);
  }
  return out;
}

}  // namespace kvlab
