// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine/core_engine.h"

#include <chrono>

#include "app/plain/core_replay.h"
#include "core/api/log.h"
#include "core/api/manifest_values.h"
#include "core/api/read_json.h"
#include "core/experiment/sweep_moment.h"
#include "core/lanes/session_holder.h"
#include "core/tables/tables.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/verbs.h"
#include "kernels/cuda/runtime/find_module.h"

namespace kvlab {

using nlohmann::json;

namespace {

class CoreEngine : public Engine {
 public:
  explicit CoreEngine(std::unique_ptr<Session> session)
      : m_holder(std::make_unique<SessionHolder>(std::move(session))) {}
  explicit CoreEngine(std::unique_ptr<SessionHolder> holder) : m_holder(std::move(holder)) {}
  CoreEngine(Recovered recovered, std::string path) : CoreEngine(std::move(recovered.session)) {
    m_path = std::move(path);
    m_lost = std::move(recovered.lost);
  }

  std::optional<Effect> effect(const std::string& verb, const json& args) const override {
    return effectOf(verb, args);
  }
  Result<json> execute(const std::string& verb, const json& args) override {
    auto result = m_holder->execute(verb, args);
    if (!result) logInfo(verb + " failed: " + result.error().text());
    followRecovery();
    return result;
  }
  Result<json> keepRecovery(const std::string& path) override {
    if (std::exchange(m_path, path) != path && m_holder->session()) KV_TRY(startRecovery(*m_holder->session(), path));
    json out = json::object();
    if (const std::optional<Error> lost = std::exchange(m_lost, std::nullopt)) out["lost"] = lost->toJson();
    return out;
  }
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) override { return m_holder->tile(request); }
  SnapshotPtr snapshot() const override { return m_holder->snapshot(); }
  Result<SnapshotPtr> snapshotAt(Tick tick) override { return m_holder->snapshotAt(tick); }
  void setPublish(std::function<void(SnapshotPtr)> publish) override { m_holder->setPublish(std::move(publish)); }
  void setProgress(Progress progress) override { m_holder->setProgress(std::move(progress)); }
  void setIdle(std::function<void()> idle) override { m_holder->setBetweenTicks(std::move(idle)); }
  Result<std::unique_ptr<Engine>> fork() override {
    return std::unique_ptr<Engine>(std::make_unique<CoreEngine>(KV_TRY(m_holder->fork())));
  }

 private:
  /// A session that came out of lanes has no recovery yet, and one that a full disk has ended is tried again.
  void followRecovery() {
    Session* session = m_holder->session();
    const auto now = std::chrono::steady_clock::now();
    if (m_path.empty() || !session || now < m_notBefore) return;
    const History::Log& kept = session->history().recovery();
    if (kept.file && !kept.file->ended()) return;
    if (!startRecovery(*session, m_path)) m_notBefore = now + kPause;
  }

  static constexpr std::chrono::seconds kPause{30};
  std::unique_ptr<SessionHolder> m_holder;
  std::string m_path;                                   // recovery file; empty = none is wanted
  std::optional<Error> m_lost;                          // command that a recovery could not repeat
  std::chrono::steady_clock::time_point m_notBefore{};  // the next try
};

/// The reason why a session that chose its back end itself does not use an installed card; else empty.
std::string whyNoCard(const Session& session) {
  if (session.snapshot()->info->backend != "cpu" || session.manifest().backend != "auto") return {};
  const kernels::CudaAnswer cuda = kernels::askForCuda();
  return kernels::cudaCardIsThere(cuda.device) ? cuda.why : std::string();
}

/// An engine over a session that was opened; the log has the notices for a person.
std::unique_ptr<Engine> engineOf(std::unique_ptr<Session> session) {
  if (const std::string notice = session->kind().notice(); !notice.empty()) logWarning(notice);
  if (const std::string why = whyNoCard(*session); !why.empty()) logWarning("the GPU is not used: " + why);
  return std::make_unique<CoreEngine>(std::move(session));
}

Result<std::unique_ptr<Engine>> openManifest(const json& manifest, const std::string& resources,
                                             const Progress& progress) {
  const Manifest checked = KV_TRY(Manifest::fromJson(manifest));
  logInfo("opening " + manifest.dump());
  std::unique_ptr<Session> session = KV_TRY(openSession(checked, resources, progress));
  for (const std::string& one : idleKeys(checked)) logWarning(one);
  return engineOf(std::move(session));
}

Result<std::unique_ptr<Engine>> openCapture(const json& request, const std::string& resources,
                                            const Progress& progress) {
  const auto path = memberOr(request, "capture", std::string());
  std::optional<std::int64_t> to;
  if (request.contains("to")) to = memberOr(request, "to", std::int64_t{0});
  logInfo("opening " + path);
  return engineOf(KV_TRY(openCaptured(path, resources, to, progress)));
}

Result<std::unique_ptr<Engine>> openCell(const json& request, const std::string& resources, const Progress& progress) {
  SweepPlace place{memberOr(request, "sweep", std::string()), memberOr(request, "cell", std::int64_t{-1})};
  place.question = static_cast<int>(memberOr(request, "question", std::int64_t{0}));
  logInfo("opening cell " + std::to_string(place.cell) + " of " + place.folder);
  SweepMoment moment = KV_TRY(openSweepCell(place, resources, progress));
  if (!moment.same()) logWarning("the cell answers otherwise than its sweep did");
  return engineOf(std::move(moment.session));
}

Result<std::unique_ptr<Engine>> openLeft(const json& request, const std::string& resources, const Progress& progress) {
  const auto path = memberOr(request, "recovery", std::string());
  logInfo("opening " + path);
  Recovered recovered = KV_TRY(openRecovered(path, resources, progress));
  return std::unique_ptr<Engine>(std::make_unique<CoreEngine>(std::move(recovered), path));
}

}  // namespace

EngineFactory coreEngines(std::string resources) {
  return [resources = std::move(resources)](const json& request) -> EngineOpener {
    return [resources, request](const Progress& progress) -> Result<std::unique_ptr<Engine>> {
      if (request.contains("recovery")) return openLeft(request, resources, progress);
      if (request.contains("capture")) return openCapture(request, resources, progress);
      if (request.contains("sweep")) return openCell(request, resources, progress);
      return openManifest(request.contains("manifest") ? member(request, "manifest") : json::object(), resources,
                          progress);
    };
  };
}

Schema coreSchema() { return {verbs(), {tables().begin(), tables().end()}}; }

}  // namespace kvlab
