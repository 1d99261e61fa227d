// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window_bench.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTimer>

#include "app/core_engine.h"
#include "app/main_window.h"

namespace kvlab {
namespace {

/// Lets the event loop work until done(); false after a minute.
bool waitFor(const std::function<bool()>& done) {
  QElapsedTimer waited;
  for (waited.start(); !done() && waited.elapsed() < 60'000;)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
  return done();
}

Error noAnswer(const char* what) {
  return Error{"not_ready", "the window bench was stopped", std::string(what) + " took more than a minute", "try again on a quiet machine"};
}

/// Milliseconds between two passes of the event loop, while `steps` ticks run.
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
  window.session()->submit("step", {{"n", steps}}, [&](const Result<nlohmann::json>& r) {
    answer = r;
    seconds = static_cast<double>(all.nsecsElapsed()) / 1e9;
  });
  clock.start();
  pulse.start(0);
  if (!waitFor([&] { return answer.has_value(); })) return noAnswer("a run of ticks");
  if (!*answer) return answer->error();
  return gaps;
}

/// How long events wait that come every half millisecond, whatever the loop does at that moment: until
/// the pass that it is in ends.
std::vector<double> waits(const std::vector<double>& gaps) {
  constexpr double kEvery = 0.5;
  std::vector<double> out;
  double end = 0, next = 0;
  for (double gap : gaps)
    for (end += gap; next < end; next += kEvery) out.push_back(end - next);
  return out;
}

}  // namespace

Status benchWindow(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const int steps = options.quick ? 8 : 1500;
  if (!report(progress, "window: demo, every view", 0, 0)) return Error{"cancelled", "the bench was cancelled", "", ""};
  WindowSettings settings;
  settings.engines = coreEngines(options.resources);
  settings.verbs = coreVerbs();
  settings.headless = true;
  MainWindow window(settings);
  window.show();
  if (Status sized = window.setSize({1600, 1000}); !sized) return sized;
  std::optional<Result<SessionPtr>> opened;
  window.openSession({{"manifest", {{"model", "demo"}, {"threads", std::max(1, options.threads)}}}},
                     [&](const Result<SessionPtr>& r) { opened = r; });
  if (!waitFor([&] { return opened.has_value(); })) return noAnswer("opening the demo session");
  if (!*opened) return opened->error();
  std::optional<Result<nlohmann::json>> told;
  window.session()->submit("prompt", {{"text", "anna puts the silver key in the cellar . the rain falls again ."}},
                           [&](const Result<nlohmann::json>& r) { told = r; });
  if (!waitFor([&] { return told.has_value(); })) return noAnswer("the prompt");
  if (!*told) return told->error();
  double seconds = 0;
  if (const auto warm = gapsWhile(window, options.quick ? 2 : 100, seconds); !warm) return warm.error();
  const auto gaps = gapsWhile(window, steps, seconds);
  if (!gaps) return gaps.error();
  const std::string shape = "demo, 1600x1000, " + std::to_string(steps) + " ticks";
  std::vector<double> sorted = waits(*gaps);
  rows.push_back(benchRow("window", shape, "wait of an event", "ms", sorted));
  std::sort(sorted.begin(), sorted.end());
  rows.push_back(benchRow("window", shape, "wait of an event, p99", "ms", {sorted[sorted.size() * 99 / 100]}));
  rows.push_back(benchRow("window", shape, "ticks with the window", "1/s", {steps / seconds}));
  return ok();
}

}  // namespace kvlab
