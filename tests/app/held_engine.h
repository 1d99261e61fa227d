// SPDX-License-Identifier: GPL-3.0-or-later
// An engine of the program that waits before one verb until a test lets it go. Any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <thread>

#include "app/engine/engine.h"

namespace kvlab::test {

struct Gate {
  std::string verb;  // waits while the gate is shut; changes only while no verb runs
  std::atomic<bool> shut{false};
};

class HeldEngine : public Engine {
 public:
  HeldEngine(std::unique_ptr<Engine> engine, const Gate& gate) : m_engine(std::move(engine)), m_gate(gate) {}

  std::optional<Effect> effect(const std::string& verb, const nlohmann::json& args) const override {
    return m_engine->effect(verb, args);
  }
  Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args) override {
    while (verb == m_gate.verb && m_gate.shut) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return m_engine->execute(verb, args);
  }
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) override { return m_engine->tile(request); }
  SnapshotPtr snapshot() const override { return m_engine->snapshot(); }
  Result<SnapshotPtr> snapshotAt(Tick tick) override { return m_engine->snapshotAt(tick); }
  void setPublish(std::function<void(SnapshotPtr)> publish) override { m_engine->setPublish(std::move(publish)); }
  void setProgress(Progress progress) override { m_engine->setProgress(std::move(progress)); }
  void setIdle(std::function<void()> idle) override { m_engine->setIdle(std::move(idle)); }
  Result<std::unique_ptr<Engine>> fork() override { return m_engine->fork(); }

 private:
  std::unique_ptr<Engine> m_engine;
  const Gate& m_gate;
};

/// The gate outlives the engines.
inline EngineFactory heldEngines(EngineFactory engines, const Gate& gate) {
  return [engines = std::move(engines), &gate](const nlohmann::json& request) -> EngineOpener {
    return [open = engines(request), &gate](const Progress& progress) -> Result<std::unique_ptr<Engine>> {
      return std::unique_ptr<Engine>(std::make_unique<HeldEngine>(KV_TRY(open(progress)), gate));
    };
  };
}

}  // namespace kvlab::test
