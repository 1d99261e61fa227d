// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/matrix_layout.h"

#include <algorithm>
#include <cmath>

#include "widgets/canvas/axis_parts.h"

namespace kvlab {
namespace {
constexpr int kRuler = 22, kOverview = 12;
}  // namespace

int MatrixParts::top(int line) const {
  const int gaps = group > 0 ? std::min(line, lines - 1) / group * gap : 0;
  return cells.top() + static_cast<int>(std::lround(tall * line)) + gaps - scrolled;
}

QRectF MatrixParts::line(int line) const {
  const int from = top(line), gapBelow = group > 0 && line + 1 < lines && (line + 1) % group == 0 ? gap : 0;
  return QRectF(cells.left(), from, cells.width(), top(line + 1) - from - gapBelow);
}

int MatrixParts::lineAt(double y) const {
  if (y < cells.top() || y > cells.bottom()) return -1;
  for (int i = 0; i < lines; ++i)
    if (y < top(i + 1)) return i;
  return -1;
}

MatrixParts matrixParts(const MatrixShape& s, QSize size, int scrolled) {
  MatrixParts p;
  p.lines = s.lines, p.group = s.group, p.gap = s.gap, p.scrolled = scrolled;
  const int wide = std::max(1, size.width() - s.gutter - s.right), foot = s.readout ? kReadout : 0;
  const int tokens = size.height() < kRuler + s.tokens + s.leastRoom + s.legend + foot ? 0 : s.tokens;
  p.ruler = QRect(s.gutter, 0, wide, kRuler);
  p.tokens = QRect(s.gutter, kRuler, wide, tokens);
  p.readout = QRect(0, size.height() - foot, size.width(), foot);
  p.legend = QRect(Theme::kMedium, p.readout.top() - s.legend, size.width() - 2 * Theme::kMedium, s.legend);
  int below = p.legend.top() - Theme::kMedium;
  if (s.overview) {
    p.overview = QRect(s.gutter, below - kOverview, wide, kOverview);
    below = p.overview.top() - Theme::kMedium;
  }
  const int top = kRuler + tokens + Theme::kSmall, groups = s.group > 0 ? std::max(0, s.lines / s.group - 1) : 0;
  const int room = std::max(1, below - top - groups * s.gap);
  p.tall = std::clamp(static_cast<double>(room) / std::max(1, s.lines), double(s.lowest), double(s.tallest));
  if (p.tall > 3) p.tall = std::floor(p.tall);
  const int all = static_cast<int>(std::lround(p.tall * s.lines)) + groups * s.gap;
  p.cells = QRect(s.gutter, top, wide, s.lowest > 0 ? std::min(all, room) : all);
  return p;
}

}  // namespace kvlab
