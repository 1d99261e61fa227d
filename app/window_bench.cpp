// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window_bench.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTimer>

#include "app/core_engine.h"
#include "app/main_window.h"

namespace kvlab {
namespace {

/// Runs the event loop until done(); false after ten minutes.
bool waitFor(const std::function<bool()>& done) {
  QElapsedTimer waited;
  for (waited.start(); !done() && waited.elapsed() < 600'000;)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
  return done();
}

Error noAnswer(const char* what) {
  return Error("not_ready", "the window benchmark was stopped", std::string(what) + " took more than ten minutes",
               "try again on a quiet machine");
}

/// Milliseconds between passes of the event loop while `steps` ticks run.
Result<std::vector<double>> gapsWhile(MainWindow& window, int steps, double& seconds) {
  std::optional<Result<nlohmann::json>> answer;
  std::vector<double> gaps;
  QElapsedTimer clock, all;
  QTimer pulse;
  QObject::connect(&pulse, &QTimer::timeout, [&] {
    gaps.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
    clock.start();
  });
  all.start();
  window.session()->submit("run", {{"maxTicks", steps}, {"reports", 1}}, [&](const Result<nlohmann::json>& r) {
    answer = r;
    seconds = static_cast<double>(all.nsecsElapsed()) / 1e9;
  });
  clock.start();
  pulse.start(0);
  if (!waitFor([&] { return answer.has_value(); })) return noAnswer("a run of ticks");
  if (!*answer) return answer->error();
  return gaps;
}

/// Waiting times of events that arrive every half millisecond: each waits for the end of the present pass.
std::vector<double> waits(const std::vector<double>& gaps) {
  constexpr double kEvery = 0.5;
  std::vector<double> out;
  double end = 0, next = 0;
  for (double gap : gaps)
    for (end += gap; next < end; next += kEvery) out.push_back(end - next);
  return out;
}

/// A session in the whole window: its manifest, its text, and the number of measured ticks.
struct Scene {
  std::string name;
  nlohmann::json manifest;
  std::string verb;
  nlohmann::json args;
  int warm = 0, steps = 0;
};

Status measure(const BenchOptions& options, const Scene& scene, nlohmann::json& rows) {
  WindowSettings settings;
  settings.engines = coreEngines(options.resources);
  settings.verbs = coreVerbs();
  settings.headless = true;
  MainWindow window(settings);
  window.show();
  if (Status sized = window.setSize({1600, 1000}); !sized) return sized;
  std::optional<Result<SessionPtr>> opened;
  window.openSession({{"manifest", scene.manifest}}, [&](const Result<SessionPtr>& r) { opened = r; });
  if (!waitFor([&] { return opened.has_value(); })) return noAnswer("opening the session");
  if (!*opened) return opened->error();
  std::optional<Result<nlohmann::json>> told;
  window.session()->submit(scene.verb, scene.args, [&](const Result<nlohmann::json>& r) { told = r; });
  if (!waitFor([&] { return told.has_value(); })) return noAnswer("the prompt");
  if (!*told) return told->error();
  double seconds = 0;
  if (const auto warm = gapsWhile(window, scene.warm, seconds); !warm) return warm.error();
  const auto gaps = gapsWhile(window, scene.steps, seconds);
  if (!gaps) return gaps.error();
  const std::string shape = scene.name + ", 1600x1000, " + std::to_string(scene.steps) + " ticks";
  std::vector<double> sorted = waits(*gaps);
  rows.push_back(benchRow("window", shape, "wait of an event", "ms", sorted));
  std::sort(sorted.begin(), sorted.end());
  rows.push_back(benchRow("window", shape, "wait of an event, p99", "ms", {sorted[sorted.size() * 99 / 100]}));
  rows.push_back(benchRow("window", shape, "ticks with the window", "1/s", {scene.steps / seconds}));
  const std::size_t tenth = gaps->size() / 10;  // what grows with the ticks shows between the first tenth and the last
  const std::pair<const char*, std::vector<double>> ends[] = {
      {"first tenth", {gaps->begin(), gaps->begin() + static_cast<std::ptrdiff_t>(tenth)}},
      {"last tenth", {gaps->end() - static_cast<std::ptrdiff_t>(tenth), gaps->end()}}};
  for (const auto& [part, some] : ends)
    if (!some.empty())
      rows.push_back(benchRow("window", shape, std::string("wait of an event, ") + part, "ms", waits(some)));
  return ok();
}

}  // namespace

Status benchWindow(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const nlohmann::json manifest{{"model", "demo"}, {"threads", std::max(1, options.threads)}};
  nlohmann::json endless = manifest, wlod = manifest, tokens = nlohmann::json::array();
  endless["brightness"] = {{"compressor", "nearest"}, {"target", 256}};  // the context ends growing, the run need not
  endless["capacity"] = 1024;
  endless["history_bytes"] = 64 << 20;
  wlod["wlod"] = {{"budget", 2048}, {"moments", 131072}};
  for (int i = 0; i < (options.quick ? 5000 : 100'000); ++i) tokens.push_back(3 + i * 37 % 500);
  const Scene scenes[] = {{"demo, 256 rows by culling",
                           endless,
                           "prompt",
                           {{"text", "anna puts the silver key in the cellar . the rain falls again ."}},
                           options.quick ? 2 : 100,
                           options.quick ? 8 : 100'000},
                          {"demo, wLOD over " + std::to_string(tokens.size()) + " tokens, budget 2048",
                           wlod,
                           "promptIds",
                           {{"ids", tokens}},
                           options.quick ? 2 : 40,
                           options.quick ? 4 : 320}};
  for (const Scene& scene : scenes) {
    if (!report(progress, "window: " + scene.name + ", every view", 0, 0))
      return Error("cancelled", "the benchmark was cancelled", "", "");
    if (Status measured = measure(options, scene, rows); !measured) return measured;
  }
  return ok();
}

}  // namespace kvlab
