// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/contest_model.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"

namespace kvlab {
namespace {
QString figure(float value) {
  return std::isnan(value) ? QStringLiteral("–") : QString::number(static_cast<double>(value), 'g', 3);
}
}  // namespace

ContestModel::ContestModel(QObject* parent) : LineModel(parent) {
  using Line = const ContestLine&;
  const auto ledger = [](LedgerId id) { return tr("ledger %1").arg(id.value()); };
  addNumber("layer", tr("Layer"), tr("The layer"), {"999", 4},
            [this](Line line) { return layerText(*m_snapshot, line.layer); });
  add("challenger", tr("Challenger"), tr("The row that left the window"), QString(10, 'x'),
      [this](Line line) { return tokenText(*m_snapshot, line.contest.challenger); })
      .in(Tone::Normal)
      .tips([ledger](Line line) { return ledger(line.contest.challenger); });
  addNumber("score", tr("Score"), tr("Score of the row that left the window"), {"99.99", 2},
            [](Line line) { return figure(line.contest.challengerScore); });
  add("outcome", tr("Outcome"), tr("Whether the challenger won a place in the budget"), QString(13, 'x'),
      [](Line line) { return line.won() ? tr("stays, out goes") : tr("lost, leaves"); })
      .words()
      .toned([](Line line) { return line.won() ? Tone::Ok : Tone::Warning; });
  add("out", tr("Out"), tr("The row that was evicted instead"), QString(10, 'x'),
      [this](Line line) { return line.won() ? tokenText(*m_snapshot, line.contest.loser) : QString(); })
      .in(Tone::Normal)
      .tips([ledger](Line line) { return line.won() ? ledger(line.contest.loser) : QString(); });
  addNumber("out_score", tr("Score"), tr("Its score"), {"99.99", 1},
            [](Line line) { return line.won() ? figure(line.contest.loserScore) : QString(); });
  addNumber("by", tr("By"), tr("Score difference to the evicted row, or to the lowest row of the budget"),
            {"+99.99", 3},
            [](Line line) { return (line.margin > 0 ? QStringLiteral("+") : QString()) + figure(line.margin); });
  withTone([](Line) { return Tone::Muted; });
}

void ContestModel::show(SnapshotPtr snapshot, const std::vector<BandRows>& layers) {
  m_snapshot = std::move(snapshot);
  std::vector<ContestLine> lines;
  for (const BandRows& layer : layers)
    for (const Contest& contest : layer.contests) {
      ContestLine line{layer.layer, contest, contest.challengerScore - contest.loserScore};
      if (!line.won()) line.margin = contest.challengerScore - layer.lowest;
      lines.push_back(line);
    }
  replace(std::move(lines));
}

int ContestModel::rowOf(CacheLayer layer) const {
  return find([&](const ContestLine& line) { return line.layer == layer; });
}

int ContestModel::won() const {
  return static_cast<int>(
      std::count_if(m_lines.begin(), m_lines.end(), [](const ContestLine& line) { return line.won(); }));
}

}  // namespace kvlab
