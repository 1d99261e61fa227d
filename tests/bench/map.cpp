// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the map over a still context, whose tiles are served at once: a repaint, a pan, and a new tick.
#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <algorithm>
#include <ctime>
#include <functional>

#include "bench/bench.h"
#include "widgets/base/view_registry.h"

namespace kvlab {

namespace {

/// A ledger of `count` live tokens.
struct PlainLedger : LedgerView {
  explicit PlainLedger(std::size_t count) {
    while (size() < count) append({});
  }
};

/// Alternates between two prepared ticks; tiles are served at once.
class StillContext : public InspectorContext {
 public:
  StillContext(int layers, int positions) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      m_ticks.push_back(makeTick(layers, positions));
      m_tiles.push_back(makeTile(layers, positions, i));
    }
    next();
  }
  /// Acts like the publication of a tick.
  void next() {
    auto shown = std::make_shared<Snapshot>(*m_ticks[m_serial % 2]);
    shown->serial = ++m_serial;
    shown->tick = Tick(static_cast<std::int64_t>(m_serial));
    m_history = {shown};
    emit snapshotChanged();
  }

  SnapshotPtr snapshot() const override { return m_history.back(); }
  const std::vector<SnapshotPtr>& history() const override { return m_history; }
  void submit(const std::string&, const nlohmann::json&, QObject*, Reply) override {}
  void query(const std::string&, const std::string&, const nlohmann::json&, QObject*, Reply) override {}
  void fetch(const std::string&, const TileRequest& request, QObject*, TileReply reply) override {
    const auto tile = m_tiles[m_serial % 2];
    tile->request = request;
    tile->tick = snapshot()->tick;
    reply(tile);
  }
  void showTick(Tick) override {}
  void runCommand(const QString&, const nlohmann::json&, QObject*, Reply) override {}
  void evaluate(const QString&, QObject*, std::function<void(const QString&, bool)>) override {}
  bool busy() const override { return false; }

 private:
  static SnapshotPtr makeTick(int layers, int positions) {
    auto tick = std::make_shared<Snapshot>();
    auto info = std::make_shared<SessionInfo>();
    info->cacheLayers.layers = layers;
    info->tokenTexts = {" token"};
    info->specialTokens = {false};
    tick->info = info;
    tick->settings = std::make_shared<const SettingsInfo>(SettingsInfo{positions, {}});
    tick->state = SessionState::Ready;
    tick->ledger = PlainLedger(at(positions));
    tick->context = Column<LedgerId>::make(at(positions), [&](LedgerId* ids) {
      for (int i = 0; i < positions; ++i) ids[i] = LedgerId(i);
    });
    auto map = std::make_shared<ResidencyView>();
    map->ledger = tick->context;
    tick->layers.assign(at(layers), map);
    auto exact = std::make_shared<std::vector<Exactness>>(at(positions), Exactness::Exact);
    for (std::size_t i = exact->size() / 2; i < exact->size(); ++i) (*exact)[i] = Exactness(i % 64 ? 2 : 0);
    tick->exactness = exact;
    return tick;
  }
  static std::shared_ptr<Tile> makeTile(int layers, int positions, std::uint64_t seed) {
    auto tile = std::make_shared<Tile>();
    tile->layers = layers;
    tile->positions = positions;
    tile->values.resize(at(layers) * at(positions));
    for (std::size_t i = 0; i < tile->values.size(); ++i)
      tile->values[i] = static_cast<float>((i * 2654435761u + seed) % 256);
    return tile;
  }

  std::uint64_t m_serial = 0;
  std::vector<SnapshotPtr> m_ticks, m_history;
  std::vector<std::shared_ptr<Tile>> m_tiles;
};

/// Milliseconds of CPU time of this thread; other programs do not count.
double threadMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Longest single call of a frame, which delays its painting.
template <class Body>
void timed(double& longest, Body body) {
  const double begin = threadMs();
  body();
  longest = std::max(longest, threadMs() - begin);
}

struct Frame {
  double whole = 0, block = 0;  // wall time until painted; longest uninterrupted CPU time of the GUI thread
};

Frame frame(InspectorView& view, QImage& image, const std::function<void()>& change) {
  Frame out;
  QElapsedTimer timer;
  timer.start();
  timed(out.block, change);
  do timed(out.block, [] { QCoreApplication::processEvents(); });
  while (!view.ready());
  timed(out.block, [&] { view.render(&image); });
  out.whole = static_cast<double>(timer.nsecsElapsed()) / 1e6;
  return out;
}

}  // namespace

Status benchMap(const BenchOptions& options, nlohmann::json& rows) {
  const int layers = 32, positions = options.quick ? 4096 : 131072, runs = options.quick ? 5 : 50;
  const ViewInfo* info = findView("map");
  if (!info) return ok();
  StillContext context(layers, positions);
  const std::unique_ptr<InspectorView> view(makeView(*info, context, nullptr));
  view->resize(1200, 300);
  view->prepare();
  QImage image(1200, 300, QImage::Format_RGB32);
  const std::string shape = std::to_string(layers) + "x" + std::to_string(positions);
  int from = 0;
  const auto pan = [&] {
    from = (from + 1) % 1000;
    (void)view->setOption("from", from);
    (void)view->setOption("to", positions - 1000 + from);
  };
  const std::pair<const char*, std::function<void()>> cases[] = {
      {"paint again", [] {}}, {"pan", pan}, {"new tick", [&] { context.next(); }}};
  for (const auto& [name, change] : cases) {
    std::vector<double> whole, block;
    for (int i = 0; i < runs; ++i) {
      const Frame one = frame(*view, image, change);
      whole.push_back(one.whole);
      block.push_back(one.block);
    }
    rows.push_back(benchRow("map", shape, name, "ms", whole));
    rows.push_back(benchRow("map", shape, std::string(name) + ", GUI thread held", "ms", block));
  }
  return ok();
}

}  // namespace kvlab
