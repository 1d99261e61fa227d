// SPDX-License-Identifier: GPL-3.0-or-later
// The interface of the engine thread's work: a session, or lanes. core_engine implements it with core/session; tests
// implement it without an engine. All calls come from the engine thread.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/error.h"
#include "core/api/progress.h"
#include "core/api/snapshot.h"
#include "core/api/tile.h"
#include "core/api/verb.h"

namespace kvlab {

class Engine {
 public:
  virtual ~Engine() = default;
  /// The effect of a call; none if there is no such verb.
  virtual std::optional<Effect> effect(const std::string& verb, const nlohmann::json& args) const = 0;
  virtual Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args) = 0;
  /// Starts a tile. The caller takes the tile before it requests another one, and before it deletes the engine.
  virtual Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) = 0;
  virtual SnapshotPtr snapshot() const = 0;
  /// The snapshot of an earlier tick of the branch, while no verb runs. Commands may be executed again for it.
  virtual Result<SnapshotPtr> snapshotAt(Tick tick) = 0;
  /// Called on the engine thread after every tick and command, when the state is consistent.
  virtual void setPublish(std::function<void(SnapshotPtr)> publish) = 0;
  /// Receives the progress of verbs, and can cancel them at their next safe point.
  virtual void setProgress(Progress progress) = 0;
  /// Called within a long verb, only between two ticks, when the state is consistent. Reads and tiles are allowed in
  /// this call, and while no verb runs.
  virtual void setIdle(std::function<void()> idle) = 0;
  /// Keeps a capture of the session in this file from now on, in case that the program ends without a word; an engine
  /// that was opened from this very file goes on with it. Reply: {"lost"?: error}, what of that file could not be done
  /// again. Error: bad_file.
  virtual Result<nlohmann::json> keepRecovery(const std::string& path) {
    (void)path;
    return nlohmann::json::object();
  }
  /// A second engine in the present state, for another thread.
  virtual Result<std::unique_ptr<Engine>> fork() = 0;
};

/// Builds an engine on the engine thread.
using EngineOpener = std::function<Result<std::unique_ptr<Engine>>(const Progress& progress)>;
/// Makes engines for requests of the program: the opener for {"manifest":{..}}, {"capture":"path", "to":tick?},
/// {"sweep":"folder", "cell":index, "question":n?} or {"recovery":"path"}. Any thread.
using EngineFactory = std::function<EngineOpener(const nlohmann::json& request)>;

}  // namespace kvlab
