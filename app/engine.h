// SPDX-License-Identifier: GPL-3.0-or-later
// What the engine thread drives: a session behind a few calls. core_engine implements it over
// core/session; tests implement it over nothing at all. Every call comes from the engine thread.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
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
  /// What the table says of a verb; null = there is no such verb.
  virtual const VerbInfo* verb(const std::string& name) const = 0;
  virtual Result<nlohmann::json> execute(const std::string& verb, const nlohmann::json& args) = 0;
  /// What it gives is taken before the next one is asked for, and before the engine ends.
  virtual Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) = 0;
  virtual SnapshotPtr snapshot() const = 0;
  /// Called on the engine thread after every tick and command, when the state is consistent.
  virtual void setPublish(std::function<void(SnapshotPtr)> publish) = 0;
  /// Where verbs report, and learn that they should stop at their next safe point.
  virtual void setProgress(Progress progress) = 0;
  /// Called in the middle of a long verb where the state is whole: between two ticks, and nowhere else. There, and
  /// while no verb runs, reads and tiles may be asked for.
  virtual void setIdle(std::function<void()> idle) = 0;
  /// A second engine in the present state, for a thread of its own.
  virtual Result<std::unique_ptr<Engine>> fork() = 0;
};

/// Builds an engine on the engine thread.
using EngineOpener = std::function<Result<std::unique_ptr<Engine>>(const Progress& progress)>;

}  // namespace kvlab
