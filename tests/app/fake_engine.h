// SPDX-License-Identifier: GPL-3.0-or-later
// An engine without a model: a context of numbers, verbs that count, one verb that waits until it is
// cancelled and one that throws.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "app/engine/engine.h"
#include "core/api/guarded.h"

namespace kvlab::test {

struct FakeState {
  std::atomic<bool> broken{false};
  std::atomic<int> alive{0}, waiting{0};
  std::atomic<int> reads{0};
  std::atomic<bool> tilesHeld{false};  // requested tiles do not arrive
  std::atomic<int> tiles{0};           // asked for
  std::atomic<int> inPublish{0};       // verbs that ran while a snapshot was being handed over
  std::function<void()> hook = [] {};  // work of the verb `hook`, on the engine thread
};

/// Arrives when the state lets it.
class FakeTile : public PendingTile {
 public:
  FakeTile(FakeState& state, Tile tile) : m_state(state), m_tile(std::move(tile)) { ++m_state.tiles; }
  bool arrived() const override { return !m_state.tilesHeld; }
  Result<Tile> take() override {
    while (m_state.tilesHeld) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return m_tile;
  }

 private:
  FakeState& m_state;
  Tile m_tile;
};

class FakeEngine : public Engine {
 public:
  explicit FakeEngine(FakeState& state) : m_state(state) {
    ++m_state.alive;
    auto info = std::make_shared<SessionInfo>();
    info->model = "fake";
    info->cacheLayers.layers = 2;
    for (int i = 0; i < 64; ++i) info->tokenTexts.push_back(" t" + std::to_string(i));
    info->vocab = 64;
    m_info = info;
  }
  ~FakeEngine() override { --m_state.alive; }

  std::optional<Effect> effect(const std::string& name, const nlohmann::json&) const override {
    static const std::vector<VerbInfo> kVerbs = {{"tick", {}, "", ""},
                                                 {"table", {}, "", ""},
                                                 {"read", {}, "", ""},
                                                 {"echo", {}, "", ""},
                                                 {"files", {}, "", ""},
                                                 {"measure", {}, "", "", Effect::Measures},
                                                 {"step", {}, "", "", Effect::Commits},
                                                 {"count", {}, "", "", Effect::Commits},
                                                 {"throw", {}, "", "", Effect::Commits},
                                                 {"block", {}, "", "", Effect::Commits},
                                                 {"hook", {}, "", "", Effect::Commits},
                                                 {"goto", {}, "", "", Effect::Travels}};
    const auto found =
        std::find_if(kVerbs.begin(), kVerbs.end(), [&](const VerbInfo& one) { return one.name == name; });
    return found == kVerbs.end() ? std::nullopt : std::optional(found->effect);
  }
  Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args) override {
    m_state.inPublish += m_publishing;
    if (verb == "step") return step(args.value("n", 1));
    if (verb == "tick") return nlohmann::json(m_tick);
    if (verb == "table")
      return nlohmann::json{{"next", nullptr}, {"columns", {{"tick", {m_tick}}, {"length", {m_context.size()}}}}};
    if (verb == "count") return nlohmann::json(++m_count);
    if (verb == "read") return nlohmann::json(++m_state.reads);
    if (verb == "measure") return nlohmann::json(m_state.waiting.load());
    if (verb == "echo" || verb == "files" || verb == "lane") return args;
    if (verb == "lanesOpen" || verb == "lanesReport") return nlohmann::json::array({{{"lane", 0}}});
    if (verb == "throw" && args.contains("code"))
      throw ErrorThrown(Error(args["code"].get<std::string>(), "thrown", "", ""));
    if (verb == "throw") throw std::runtime_error("thrown on purpose");
    if (verb == "block") return block();
    if (verb == "hook") return m_state.hook(), nlohmann::json();
    if (verb == "goto") return jump(args);
    return Error("unknown_verb", verb + " was not run", "there is no such verb", "use another");
  }
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) override {
    Tile tile;
    tile.request = request;
    tile.tick = Tick(m_tick);
    tile.layers = 2;
    return std::unique_ptr<PendingTile>(std::make_unique<FakeTile>(m_state, std::move(tile)));
  }
  Result<SnapshotPtr> snapshotAt(Tick tick) override {
    auto out = std::make_shared<Snapshot>(*snapshot());
    if (tick > out->tick) return Error("out_of_range", "the tick was not found", "there is none yet", "step");
    out->tick = tick;
    out->serial = static_cast<std::uint64_t>(tick.value());
    return SnapshotPtr(std::move(out));
  }
  SnapshotPtr snapshot() const override {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->info = m_info;
    snapshot->settings = std::make_shared<const SettingsInfo>(SettingsInfo{1024, nlohmann::json::object()});
    snapshot->serial = m_serial;
    snapshot->tick = Tick(m_tick);
    snapshot->state = m_state.broken ? SessionState::Broken : SessionState::Ready;
    if (m_state.broken) snapshot->brokenReason = "the drill broke it";
    snapshot->context = m_context;
    snapshot->branch = m_branch;
    snapshot->leaps = m_leaps;
    return snapshot;
  }
  void setPublish(std::function<void(SnapshotPtr)> publish) override { m_publish = publish; }
  void setProgress(Progress progress) override { m_progress = progress; }
  void setIdle(std::function<void()> idle) override { m_idle = idle; }
  Result<std::unique_ptr<Engine>> fork() override {
    auto copy = std::make_unique<FakeEngine>(m_state);
    copy->m_tick = m_tick;
    copy->m_context = m_context.ownCopy();
    return std::unique_ptr<Engine>(std::move(copy));
  }

 private:
  nlohmann::json step(int n) {
    auto reports = nlohmann::json::array();
    for (int i = 0; i < n && report(m_progress, "stepping", i, n); ++i) {
      if (i > 0 && m_idle) m_idle();
      ++m_tick;
      m_context.push_back(LedgerId(static_cast<std::int32_t>(m_context.size())));
      publish();
      reports.push_back({{"ok", true}, {"tick", m_tick}});
    }
    return reports;
  }
  Result<nlohmann::json> block() {
    ++m_state.waiting;
    while (report(m_progress, "waiting", 0, 0)) {
      publish();
      if (m_idle) m_idle();  // a long command is consistent between its ticks
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    --m_state.waiting;
    return Error("cancelled", "the work was stopped", "somebody asked for it", "run it again");
  }
  nlohmann::json jump(const nlohmann::json& args) {
    m_tick = args.at("tick").get<std::int64_t>();
    if (const std::string branch = args.value("branch", m_branch); std::exchange(m_branch, branch) != branch) ++m_leaps;
    publish();
    return m_tick;
  }
  void publish() {
    ++m_serial;
    m_publishing = true;
    if (m_publish) m_publish(snapshot());
    m_publishing = false;
  }

  FakeState& m_state;
  std::shared_ptr<const SessionInfo> m_info;
  std::function<void(SnapshotPtr)> m_publish;
  Progress m_progress;
  std::function<void()> m_idle;
  bool m_publishing = false;
  Column<LedgerId> m_context;
  std::int64_t m_tick = 0;
  std::string m_branch = "main";
  std::uint32_t m_leaps = 0;
  std::uint64_t m_serial = 0;
  int m_count = 0;
};

inline EngineOpener fakeOpener(FakeState& state) {
  return [&state](const Progress& progress) -> Result<std::unique_ptr<Engine>> {
    progress("opening", 1, 2);
    return std::unique_ptr<Engine>(std::make_unique<FakeEngine>(state));
  };
}

inline EngineOpener refusingOpener() {
  return [](const Progress&) -> Result<std::unique_ptr<Engine>> {
    return Error("bad_model", "the model was not opened", "there is none", "name another");
  };
}

}  // namespace kvlab::test
