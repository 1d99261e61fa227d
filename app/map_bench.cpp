// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/map_bench.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <numeric>

#include "widgets/base/view_registry.h"

namespace kvlab {

namespace {

/// A ledger of `count` live tokens.
struct PlainLedger : LedgerView {
  explicit PlainLedger(std::size_t count) {
    m_size = count;
    for (std::size_t at = 0; at < count; at += kChunk)
      m_chunks.push_back(std::make_shared<Chunk>(std::min(kChunk, count - at)));
  }
};

/// One snapshot of the wanted shape; tiles are served at once.
class StillContext : public InspectorContext {
 public:
  StillContext(int layers, int positions) : m_layers(layers), m_positions(positions) { publish(); }
  void publish() {
    auto next = std::make_shared<Snapshot>();
    auto info = std::make_shared<SessionInfo>();
    info->layers = m_layers;
    info->capacity = m_positions;
    info->tokenTexts = {" token"};
    info->specialTokens = {false};
    next->info = info;
    next->serial = ++m_serial;
    next->tick = Tick(static_cast<std::int64_t>(m_serial));
    next->state = SessionState::Ready;
    next->ledger = PlainLedger(static_cast<std::size_t>(m_positions));
    next->context = Column<LedgerId>::make(static_cast<std::size_t>(m_positions), [&](LedgerId* ids) {
      for (int i = 0; i < m_positions; ++i) ids[i] = LedgerId(i);
    });
    auto map = std::make_shared<ResidencyView>();
    map->ledger = next->context;
    next->layers.assign(static_cast<std::size_t>(m_layers), map);
    m_history = {next};
    emit snapshotChanged();
  }

  SnapshotPtr snapshot() const override { return m_history.back(); }
  const std::vector<SnapshotPtr>& history() const override { return m_history; }
  void submit(const std::string&, const nlohmann::json&, QObject*, Reply) override {}
  void query(const std::string&, const std::string&, const nlohmann::json&, QObject*, Reply) override {}
  void fetch(const std::string&, const TileRequest& request, QObject*, TileReply reply) override {
    auto tile = std::make_shared<Tile>();
    tile->request = request;
    tile->tick = snapshot()->tick;
    tile->layers = request.layer ? 1 : m_layers;
    tile->positions = std::min(m_positions, request.end.value()) - request.begin.value();
    tile->values.resize(static_cast<std::size_t>(tile->layers) * static_cast<std::size_t>(tile->positions));
    for (std::size_t i = 0; i < tile->values.size(); ++i)
      tile->values[i] = static_cast<float>((i * 2654435761u + m_serial) % 256);
    reply(tile);
  }
  void showTick(Tick) override {}
  void runCommand(const QString&, const nlohmann::json&) override {}
  void evaluate(const QString&, QObject*, std::function<void(const QString&, bool)>) override {}
  bool busy() const override { return false; }

 private:
  int m_layers, m_positions;
  std::uint64_t m_serial = 0;
  std::vector<SnapshotPtr> m_history;
};

}  // namespace

Status benchMap(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const int layers = 32, positions = options.quick ? 4096 : 131072, runs = options.quick ? 5 : 50;
  const ViewInfo* info = findView("map");
  if (!info) return ok();
  StillContext context(layers, positions);
  const std::unique_ptr<InspectorView> view(makeView(*info, context, nullptr));
  view->resize(1200, 300);
  view->prepare();
  QImage frame(1200, 300, QImage::Format_RGB32);
  const std::string shape = std::to_string(layers) + "x" + std::to_string(positions);
  for (const bool fresh : {false, true}) {
    std::vector<double> samples;
    for (int i = 0; i < runs; ++i) {
      if (!report(progress, "map frames", i, runs)) return Error{"cancelled", "the bench was cancelled", "", ""};
      QElapsedTimer timer;
      timer.start();
      if (fresh) context.publish();
      do QCoreApplication::processEvents();
      while (!view->ready());
      view->render(&frame);
      samples.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
    rows.push_back(benchRow("map", shape, fresh ? "frame, new data" : "frame, paint only", "ms", samples));
  }
  return ok();
}

}  // namespace kvlab
