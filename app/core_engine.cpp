// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/core_engine.h"

#include <spdlog/spdlog.h>

#include "app/core_replay.h"
#include "core/lanes/lane_verbs.h"
#include "core/session/tiles.h"
#include "core/verbs/verbs.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// A session, or lanes in its place: then lane 0 is what is shown.
class CoreEngine : public Engine {
 public:
  explicit CoreEngine(std::unique_ptr<Session> session) : m_session(std::move(session)) {}
  explicit CoreEngine(std::unique_ptr<Lanes> lanes) : m_lanes(std::move(lanes)) {}

  Result<json> execute(const std::string& verb, const json& args) override {
    auto result = verb == "lanesOpen" ? openLanes(args)
        : verb == "lanesClose"        ? closeLanes(args)
        : m_lanes                     ? kvlab::execute(*m_lanes, verb, args)
                                      : kvlab::execute(*m_session, verb, args);
    if (!result) spdlog::info("{} failed: {}", verb, result.error().text());
    return result;
  }
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) override {
    return m_lanes ? m_lanes->tile(request) : kvlab::tile(*m_session, request);
  }
  SnapshotPtr snapshot() const override { return m_lanes ? m_lanes->snapshot() : m_session->snapshot(); }
  void setPublish(std::function<void(SnapshotPtr)> publish) override {
    m_publish = std::move(publish);
    connect();
  }
  void setProgress(Progress progress) override {
    m_progress = std::move(progress);
    connect();
  }
  Result<std::unique_ptr<Engine>> fork() override { return m_lanes ? made(m_lanes->fork()) : made(m_session->fork()); }

 private:
  template <class Part>
  static Result<std::unique_ptr<Engine>> made(Result<std::unique_ptr<Part>> part) {
    if (!part) return part.error();
    return std::unique_ptr<Engine>(std::make_unique<CoreEngine>(part.take()));
  }

  /// Lanes speak for their sessions, which are not consistent together before all have done a tick.
  void connect() {
    if (m_lanes) {
      m_lanes->setPublish(m_publish);
      m_lanes->setProgress(m_progress);
    } else {
      m_session->setPublish(m_publish);
      m_session->setProgress(m_progress);
    }
  }

  void announce() {
    connect();
    if (m_publish) m_publish(snapshot());
  }

  Result<json> openLanes(const json& args) {
    if (m_lanes)
      return Error{"in_lockstep", "the lanes were not opened", "there are lanes already",
                   "close them first, or fork one"};
    auto lanes = makeLanes(m_session, args);
    if (!lanes) return lanes.error();
    m_lanes = lanes.take();
    announce();
    return json{{"lanes", m_lanes->size()}};
  }

  Result<json> closeLanes(const json& args) {
    if (!m_lanes)
      return Error{"bad_argument", "the lanes were not closed", "there are none", "open some with lab.lanes"};
    auto lane = releaseLane(*m_lanes, args);
    if (!lane) return lane.error();
    m_session = lane.take();
    m_lanes.reset();
    announce();
    return json(nullptr);
  }

  std::unique_ptr<Session> m_session;  // or
  std::unique_ptr<Lanes> m_lanes;
  std::function<void(SnapshotPtr)> m_publish;
  Progress m_progress;
};

Result<std::unique_ptr<Engine>> openManifest(const json& manifest, const std::string& resources,
                                             const Progress& progress) {
  const auto checked = Manifest::fromJson(manifest);
  if (!checked) return checked.error();
  spdlog::info("opening {}", manifest.dump());
  auto session = openSession(*checked, resources, progress);
  if (!session) return session.error();
  return std::unique_ptr<Engine>(std::make_unique<CoreEngine>(session.take()));
}

Result<std::unique_ptr<Engine>> openCapture(const json& request, const std::string& resources,
                                            const Progress& progress) {
  const auto path = request["capture"].get<std::string>();
  std::optional<std::int64_t> to;
  if (request.contains("to")) to = request["to"].get<std::int64_t>();
  spdlog::info("opening {}", path);
  auto session = openCaptured(path, resources, to, progress);
  if (!session) return session.error();
  return std::unique_ptr<Engine>(std::make_unique<CoreEngine>(session.take()));
}

}  // namespace

EngineFactory coreEngines(std::string resources) {
  return [resources = std::move(resources)](const json& request) -> EngineOpener {
    return [resources, request](const Progress& progress) -> Result<std::unique_ptr<Engine>> {
      if (request.contains("capture")) return openCapture(request, resources, progress);
      return openManifest(request.value("manifest", json::object()), resources, progress);
    };
  };
}

std::vector<VerbInfo> coreVerbs() { return verbs(); }

}  // namespace kvlab
