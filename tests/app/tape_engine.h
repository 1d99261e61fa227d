// SPDX-License-Identifier: GPL-3.0-or-later
// An engine over the real one, which records the reply of each verb, and afterwards plays the replies without doing
// anything, with one reply changed. The tape is shared by the engine thread and the test.
#pragma once
#include <map>
#include <mutex>
#include <set>

#include "app/engine/core_engine.h"

namespace kvlab::test {

struct Tape {
  std::mutex mutex;
  bool playing = false;
  std::map<std::string, nlohmann::json> replies;  // by verb
  std::map<std::string, nlohmann::json> changed;  // said in place of them
  std::set<std::string> asked;
};

class TapeEngine : public Engine {
 public:
  TapeEngine(std::unique_ptr<Engine> inside, std::shared_ptr<Tape> tape)
      : m_inside(std::move(inside)), m_tape(std::move(tape)) {}

  std::optional<Effect> effect(const std::string& verb, const nlohmann::json& args) const override {
    return m_inside->effect(verb, args);
  }
  Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args) override {
    if (const auto said = playBack(verb, args)) return *said;
    Result<nlohmann::json> reply = m_inside->execute(verb, args);
    const std::lock_guard lock(m_tape->mutex);
    if (reply) m_tape->replies[verb] = *reply;
    return reply;
  }
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) override { return m_inside->tile(request); }
  SnapshotPtr snapshot() const override { return m_inside->snapshot(); }
  Result<SnapshotPtr> snapshotAt(Tick tick) override { return m_inside->snapshotAt(tick); }
  void setPublish(std::function<void(SnapshotPtr)> publish) override {
    m_publish = publish;
    m_inside->setPublish(std::move(publish));
  }
  void setProgress(Progress progress) override { m_inside->setProgress(std::move(progress)); }
  void setIdle(std::function<void()> idle) override { m_inside->setIdle(std::move(idle)); }
  Result<std::unique_ptr<Engine>> fork() override { return m_inside->fork(); }

 private:
  /// None while the tape records. The verb `poke` publishes the state again as a new one, so that views ask again.
  std::optional<Result<nlohmann::json>> playBack(const std::string& verb, const nlohmann::json& args) {
    const std::lock_guard lock(m_tape->mutex);
    if (!m_tape->playing) return {};
    if (verb == "poke") {
      auto next = std::make_shared<Snapshot>(*m_inside->snapshot());
      next->serial += ++m_poked;
      m_publish(std::move(next));
      return nlohmann::json();
    }
    const std::string name = verb == "at" ? args.value("verb", verb) : verb;
    m_tape->asked.insert(name);
    if (const auto found = m_tape->changed.find(name); found != m_tape->changed.end()) return found->second;
    if (const auto found = m_tape->replies.find(name); found != m_tape->replies.end()) return found->second;
    return Error("unknown_verb", verb + " is not on the tape", "it was not recorded", "record it");
  }

  std::unique_ptr<Engine> m_inside;
  std::shared_ptr<Tape> m_tape;
  std::function<void(SnapshotPtr)> m_publish;
  std::uint64_t m_poked = 0;
};

inline EngineFactory tapeEngines(const std::shared_ptr<Tape>& tape) {
  return [tape, real = coreEngines(KVLAB_RESOURCES_DIR)](const nlohmann::json& request) -> EngineOpener {
    return [tape, open = real(request)](const Progress& progress) -> Result<std::unique_ptr<Engine>> {
      return std::unique_ptr<Engine>(std::make_unique<TapeEngine>(KV_TRY(open(progress)), tape));
    };
  };
}

/// The reply with each member and the first element of each list left out, and made null, a number, a text, a list, an
/// object and so on: one change each.
inline std::vector<nlohmann::json> hostileVersions(const nlohmann::json& reply) {
  using nlohmann::json;
  static const std::vector<json> kOthers = {
      nullptr, -1, 1e300, std::uint64_t{0} - 1, true, "x", json::array(), json::object(), json::array({nullptr})};
  std::vector<json> out(kOthers);
  const auto visit = [&](const auto& self, const json::json_pointer& place) -> void {
    const json at = reply.at(place);
    if (!at.is_structured() || at.empty()) return;
    for (const auto& item : at.items()) {
      const json::json_pointer inside = at.is_array() ? place / std::size_t{0} : place / item.key();
      for (const json& other : kOthers) out.emplace_back(reply)[inside] = other;
      json& without = out.emplace_back(reply)[place];
      at.is_array() ? without.erase(std::size_t{0}) : static_cast<void>(without.erase(item.key()));
      self(self, inside);
      if (at.is_array()) return;
    }
  };
  visit(visit, json::json_pointer());
  return out;
}

}  // namespace kvlab::test
