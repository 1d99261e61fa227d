// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/core_engine.h"

#include <spdlog/spdlog.h>

#include "app/core_replay.h"
#include "core/session/verbs.h"

namespace kvlab {

using nlohmann::json;

namespace {

class CoreEngine : public Engine {
 public:
  explicit CoreEngine(std::unique_ptr<Session> session) : m_session(std::move(session)) {}

  Result<json> execute(const std::string& verb, const json& args) override {
    auto result = kvlab::execute(*m_session, verb, args);
    if (!result) spdlog::info("{} failed: {}", verb, result.error().text());
    return result;
  }
  Result<Tile> tile(const TileRequest& request) override { return m_session->tile(request); }
  SnapshotPtr snapshot() const override { return m_session->snapshot(); }
  void setPublish(std::function<void(SnapshotPtr)> publish) override {
    m_session->setPublish(std::move(publish));
  }
  void setProgress(Progress progress) override { m_session->setProgress(std::move(progress)); }
  Result<std::unique_ptr<Engine>> fork() override {
    auto copy = m_session->fork();
    if (!copy) return copy.error();
    return std::unique_ptr<Engine>(std::make_unique<CoreEngine>(copy.take()));
  }

 private:
  std::unique_ptr<Session> m_session;
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
