// SPDX-License-Identifier: Apache-2.0
// Parts of a session besides its state. Opened once from a manifest and moved into the session. Engine thread
// of the session.
#pragma once
#include <list>
#include <memory>
#include <optional>

#include "core/api/manifest.h"
#include "core/api/progress.h"
#include "core/layout/layout_set.h"
#include "core/model/decoder/sampler.h"
#include "core/model/decoder/transformer.h"
#include "core/parts/policy_files.h"
#include "core/policy/compressor.h"
#include "core/state/cache_store.h"
#include "core/state/fault_door.h"

namespace kvlab {

class CacheKind;

/// Parts that a change under way has replaced, each once. They come back where the change fails.
struct ReplacedParts {
  std::optional<CacheStore> store;
  std::optional<LayoutSet> layouts;
  std::unique_ptr<Transformer> transformer;
  std::unique_ptr<Sampler> sampler;
};

struct SessionParts {
  SessionParts();
  SessionParts(SessionParts&&) noexcept;
  SessionParts& operator=(SessionParts&&) noexcept;
  ~SessionParts();

  Manifest manifest;
  Manifest opened;        // the manifest at opening, from which the history starts
  std::string resources;  // folder
  std::shared_ptr<const Model> model;
  std::shared_ptr<kernels::Backend> backend;  // outlives the members below
  std::shared_ptr<const PlacedWeights> weights;
  PolicyFiles policyFiles;
  std::unique_ptr<CacheKind> kind;
  std::unique_ptr<Transformer> transformer;
  CacheStore store;
  LayoutSet layouts;
  FaultDoor faults;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<NearestCompressor> compressor;
  CacheLayers cacheLayers;
  std::int64_t capacity = 0;          // resident rows per layer
  std::int32_t maxPhases = 0;         // exclusive upper bound of a phase
  ReplacedParts* replaced = nullptr;  // set during a change; see session/parts_before.h
  /// Decisions of added policies that the next commits repeat, one for each; empty = the policies decide.
  std::list<std::shared_ptr<const Decisions>> decisions;
};

/// An empty cache as the manifest describes it.
CacheState emptyContent(const SessionParts& parts);
/// The same; frees all slots and forgets the log of overwritten rows. Does not change the
/// fault drill.
CacheState emptyState(SessionParts& parts);

}  // namespace kvlab
