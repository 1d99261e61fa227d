// SPDX-License-Identifier: GPL-3.0-or-later
// The window while an engine runs at full speed: the waiting time of input, and the state of the map meanwhile.
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QStringList>
#include <map>

#include "app/engine/core_engine.h"
#include "app/window/main_window.h"
#include "bench/bench.h"
#include "bench/event_waits.h"
#include "widgets/views/map/map_canvas.h"

namespace kvlab {
namespace {

constexpr qint64 kMinute = 60'000;

/// Runs the event loop until done(); false after `limit` ms.
bool waitFor(const std::function<bool()>& done, qint64 limit = 10 * kMinute) {
  QElapsedTimer waited;
  for (waited.start(); !done() && waited.elapsed() < limit;)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
  return done();
}

Error noAnswer(const char* what) {
  return Error("not_ready", "the window benchmark was stopped", std::string(what) + " took too long",
               "try again on a quiet machine, or with fewer ticks");
}

/// Watches the frames of the map: how many showed values of another tick than the frame before, and how many ticks the
/// newest state of the window was ahead of them.
class FrameCount : public QObject {
 public:
  FrameCount(MainWindow& window, MapCanvas& canvas) : m_window(window), m_canvas(canvas) {
    canvas.installEventFilter(this);
  }
  int painted = 0, fresh = 0;
  std::vector<double> behind;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    const MapPicture* picture = m_canvas.picture();
    if (event->type() == QEvent::Paint && picture && !m_window.context().history().empty()) count(*picture);
    return QObject::eventFilter(watched, event);
  }

 private:
  void count(const MapPicture& picture) {
    ++painted;
    const Tick tick = picture.tile->tick;
    if (std::exchange(m_last, tick) == tick) return;
    ++fresh;
    behind.push_back(static_cast<double>(m_window.context().history().back()->tick.value() - tick.value()));
  }

  MainWindow& m_window;
  MapCanvas& m_canvas;
  Tick m_last{-1};
};

/// Waits of events while `steps` ticks run.
Result<std::vector<double>> waitsWhile(MainWindow& window, int steps, double& seconds) {
  std::optional<Result<nlohmann::json>> answer;
  const EventWaits events;
  QElapsedTimer all;
  all.start();
  window.session()->submit("run", {{"maxTicks", steps}, {"reports", 1}}, [&](const Result<nlohmann::json>& r) {
    answer = r;
    seconds = static_cast<double>(all.nsecsElapsed()) / 1e9;
  });
  if (!waitFor([&] { return answer.has_value(); }, 12 * 60 * kMinute)) return noAnswer("a run of ticks");
  if (!*answer) return answer->error();
  return events.waits();
}

/// The views that exist while the engine runs.
enum class Views { Usual, All, None };

const char* words(Views views) {
  if (views == Views::All) return "every view in a window";
  return views == Views::None ? "no view" : "first layout";
}

void arrange(MainWindow& window, Views views) {
  if (views == Views::Usual) return;
  for (const QString& id : window.docks().ids()) {
    if (views == Views::All) window.docks().toggleFloating(id);
    else window.docks().close(id);
  }
}

/// A session in the whole window: its manifest, its text, and the number of measured ticks.
struct Scene {
  std::string name;
  nlohmann::json manifest;
  std::string verb;
  nlohmann::json args;
  int warm = 0, steps = 0;
};

void addFrames(const FrameCount& frames, const std::string& shape, double seconds, nlohmann::json& rows) {
  if (frames.behind.empty()) return;
  rows.push_back(benchRow("window", shape, "frames of the map", "1/s", {frames.painted / seconds}));
  rows.push_back(benchRow("window", shape, "frames with values of a new tick", "1/s", {frames.fresh / seconds}));
  rows.push_back(benchRow("window", shape, "ticks that they are behind", "", frames.behind));
}

/// Waits of the first tenth and the last tenth show growth with the ticks.
void addWaits(std::vector<double> waits, const std::string& shape, nlohmann::json& rows) {
  const auto add = [&](const char* what, std::vector<double> samples) {
    if (!samples.empty()) rows.push_back(benchRow("window", shape, what, "ms", std::move(samples)));
  };
  const auto tenth = static_cast<std::ptrdiff_t>(waits.size() / 10);
  add("wait of an event, first tenth", {waits.begin(), waits.begin() + tenth});
  add("wait of an event, last tenth", {waits.end() - tenth, waits.end()});
  std::sort(waits.begin(), waits.end());
  add("wait of an event", waits);
  if (waits.empty()) return;
  add("wait of an event, p90", {waits[waits.size() * 90 / 100]});
  add("wait of an event, p99", {waits[waits.size() * 99 / 100]});
}

Status measure(const BenchOptions& options, const Scene& scene, Views views, nlohmann::json& rows) {
  WindowSettings settings;
  settings.engines = coreEngines(options.resources);
  settings.schema = coreSchema();
  settings.headless = true;
  MainWindow window(settings);
  window.show();
  if (Status sized = window.setSize({1600, 1000}); !sized) return sized;
  arrange(window, views);
  auto* map = window.docks().view("map")->findChild<MapCanvas*>();
  if (!map) return Error("internal", "the window benchmark was stopped", "the map has no canvas", "report this");
  std::optional<Result<SessionPtr>> opened;
  window.openSession({{"manifest", scene.manifest}}, [&](const Result<SessionPtr>& r) { opened = r; });
  if (!waitFor([&] { return opened.has_value(); })) return noAnswer("opening the session");
  if (!*opened) return opened->error();
  std::optional<Result<nlohmann::json>> told;
  window.session()->submit(scene.verb, scene.args, [&](const Result<nlohmann::json>& r) { told = r; });
  if (!waitFor([&] { return told.has_value(); })) return noAnswer("the prompt");
  if (!*told) return told->error();
  double seconds = 0;
  if (const auto warm = waitsWhile(window, scene.warm, seconds); !warm) return warm.error();
  const FrameCount frames(window, *map);
  const auto waited = waitsWhile(window, scene.steps, seconds);
  if (!waited) return waited.error();
  const std::string shape = scene.name + ", 1600x1000, " + words(views) + ", " + std::to_string(scene.steps) + " ticks";
  addWaits(*waited, shape, rows);
  addFrames(frames, shape, seconds, rows);
  rows.push_back(benchRow("window", shape, "ticks with the window", "1/s", {scene.steps / seconds}));
  return ok();
}

/// The scenes of the bench. Culling keeps 256 rows, so a run need not end where the model's context ends.
std::vector<Scene> scenes(const BenchOptions& options, int ticks) {
  const nlohmann::json manifest{{"model", "demo"}, {"threads", std::max(1, options.threads)}};
  nlohmann::json endless = manifest, wlod = manifest, tokens = nlohmann::json::array();
  endless["brightness"] = {{"compressor", "nearest"}, {"target", 256}};  // the context ends growing, the run need not
  endless["capacity"] = 1024;
  endless["history_bytes"] = 64 << 20;
  const int moments = options.quick ? 5000 : 100'000;
  wlod["wlod"] = {{"budget", 2048}, {"moments", std::max(131072, moments + ticks + 1024)}};
  for (int i = 0; i < moments; ++i) tokens.push_back(3 + i * 37 % 500);
  const int steps = options.quick ? 8 : ticks ? ticks : 100'000;
  if (!options.model.empty() && options.model != "demo") {
    endless["model"] = options.model;
    if (!options.weights.empty()) endless["weights"] = options.weights;
    if (!options.numerics.empty()) endless["numerics"] = options.numerics;
    std::string name = options.model;
    if (!options.weights.empty()) name += ", weights " + options.weights;
    if (!options.numerics.empty()) name += ", " + options.numerics;
    return {{name + ", 256 rows by culling",
             endless,
             "prompt",
             {{"text", "Once upon a time there was a cache."}},
             2,
             options.quick ? 4
                 : ticks   ? ticks
                           : 2'000}};
  }
  return {{"demo, 256 rows by culling",
           endless,
           "prompt",
           {{"text", "anna puts the silver key in the cellar . the rain falls again ."}},
           options.quick ? 2 : 100,
           steps},
          {"demo, wLOD over " + std::to_string(tokens.size()) + " tokens, budget 2048",
           wlod,
           "promptIds",
           {{"ids", tokens}},
           options.quick ? 2 : 40,
           options.quick ? 4
               : ticks   ? ticks
                         : 320}};
}

/// The parts of a name such as "window:5000:every:wLOD": ticks, 0 where none are named, which views are there, and the
/// one session.
struct Wanted {
  int ticks = 0;
  std::vector<Views> views{Views::Usual, Views::All, Views::None};
  std::string scene;  ///< a word of the scene's name; empty: all scenes
};

Result<Wanted> wantedOf(const std::string& only) {
  static const std::map<std::string, Views> kViews{
      {"first", Views::Usual}, {"every", Views::All}, {"none", Views::None}};
  const QStringList parts = QString::fromStdString(only).split(':');
  Wanted out;
  if (only.empty()) return out;
  bool number = false;
  out.ticks = parts[0].toInt(&number);
  const auto views = kViews.find(parts.value(1).toStdString());
  if (views != kViews.end()) out.views = {views->second};
  out.scene = parts.value(2).toStdString();
  const bool known = parts.size() == 1 || views != kViews.end();
  if (number && out.ticks > 0 && known && parts.size() <= 3) return out;
  return Error("usage", "benchmark window:" + only, "it names no number of ticks, or no choice of views",
               "write window:5000, or window:5000:first, :every or :none, and then :wLOD for that session alone");
}

}  // namespace

Status benchWindow(const BenchOptions& options, nlohmann::json& rows) {
  const Wanted wanted = KV_TRY(wantedOf(options.only));
  for (const Scene& scene : scenes(options, wanted.ticks)) {
    if (scene.name.find(wanted.scene) == std::string::npos) continue;
    for (const Views views : wanted.views) {
      say("window: " + scene.name + ", " + words(views));
      if (Status measured = measure(options, scene, views, rows); !measured) return measured;
    }
  }
  return ok();
}

}  // namespace kvlab
