// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/map_bench.h"

#include <QElapsedTimer>
#include <algorithm>
#include <functional>

#include "widgets/views/map_canvas.h"

namespace kvlab {
namespace {
/// A context that shows one snapshot and does nothing.
class StillContext : public InspectorContext {
 public:
  explicit StillContext(SnapshotPtr snapshot) : m_history{std::move(snapshot)} {}
  SnapshotPtr snapshot() const override { return m_history.front(); }
  const std::vector<SnapshotPtr>& history() const override { return m_history; }
  void submit(const std::string&, const nlohmann::json&, QObject*, Reply) override {}
  void query(const std::string&, const std::string&, const nlohmann::json&, QObject*, Reply) override {}
  void fetch(const std::string&, const TileRequest&, QObject*, TileReply) override {}
  void showTick(Tick) override {}
  void runCommand(const QString&, const nlohmann::json&) override {}
  void evaluate(const QString&, QObject*, std::function<void(const QString&, bool)>) override {}
  bool busy() const override { return false; }

 private:
  std::vector<SnapshotPtr> m_history;
};

SnapshotPtr plainSnapshot(int layers, int positions) {
  auto snapshot = std::make_shared<Snapshot>();
  auto info = std::make_shared<SessionInfo>();
  info->layers = layers;
  snapshot->info = info;
  snapshot->context = Column<LedgerId>::make(static_cast<std::size_t>(positions), [positions](LedgerId* ids) {
    for (int p = 0; p < positions; ++p) ids[p] = LedgerId(p);
  });
  return snapshot;
}

std::shared_ptr<const Tile> waves(int layers, int positions) {
  auto tile = std::make_shared<Tile>();
  tile->layers = layers;
  tile->positions = positions;
  std::uint32_t noise = 1;
  for (int i = 0; i < layers * positions; ++i) {
    noise = noise * 1664525u + 1013904223u;
    tile->values.push_back(static_cast<float>(noise >> 24));
  }
  return tile;
}

double median(int rounds, const std::function<double()>& once) {
  std::vector<double> times;
  for (int i = 0; i < std::max(1, rounds); ++i) times.push_back(once());
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}
}  // namespace

MapFrameTimes timeMap(int layers, int positions, QSize devicePixels, int rounds) {
  const SnapshotPtr snapshot = plainSnapshot(layers, positions);
  const std::shared_ptr<const Tile> tile = waves(layers, positions);
  StillContext context(snapshot);
  MapCanvas canvas(context, nullptr);
  canvas.resize(devicePixels);
  MapFrameTimes times;
  times.newData = median(rounds, [&] {
    QElapsedTimer timer;
    timer.start();
    canvas.setPicture(makeMapPicture(snapshot, tile));
    return static_cast<double>(timer.nsecsElapsed()) / 1e6;
  });
  times.paint = median(rounds, [&] { return canvas.timePaint(devicePixels); });
  canvas.showRange(positions / 2, positions / 2 + 500);
  times.zoomed = median(rounds, [&] { return canvas.timePaint(devicePixels); });
  return times;
}

}  // namespace kvlab
