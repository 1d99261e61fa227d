// SPDX-License-Identifier: Apache-2.0
// What a session is made of besides its state: opened once from a manifest, moved into the session, never copied.
// Engine thread of the session.
#pragma once
#include <memory>

#include "core/api/manifest.h"
#include "core/api/progress.h"
#include "core/kinds/base/policy_files.h"
#include "core/layout/layout_set.h"
#include "core/model/decoder/sampler.h"
#include "core/model/decoder/transformer.h"
#include "core/policy/compressor.h"
#include "core/state/cache_store.h"
#include "core/state/fault_door.h"

namespace kvlab {

class CacheKind;

struct SessionParts {
  SessionParts();
  SessionParts(SessionParts&&) noexcept;
  SessionParts& operator=(SessionParts&&) noexcept;
  ~SessionParts();

  Manifest manifest;
  Manifest opened;        // as the session was opened: what its history starts from
  std::string resources;  // folder
  std::shared_ptr<const Model> model;
  std::shared_ptr<kernels::Backend> backend;  // outlives what follows
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
  std::int64_t capacity = 0;   // resident rows per layer
  std::int32_t maxPhases = 0;  // phases run below this
};

/// An empty cache as the manifest wants it; all slots are free. The fault door stays as it is.
CacheState emptyState(SessionParts& parts);

}  // namespace kvlab
