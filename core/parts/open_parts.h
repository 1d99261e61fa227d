// SPDX-License-Identifier: Apache-2.0
// Opens the parts of a session, with the kind that serves its manifest. Engine thread.
#pragma once
#include "core/parts/session_parts.h"

namespace kvlab {

/// Memory that a session of a manifest takes, in bytes, and its rows by layer of the model.
struct MemoryNeed {
  struct LayerRows {
    Layer layer;
    std::string layout, k, v;
    std::int64_t rowBytes = 0;  // bytes of a row in all KV heads
    std::int64_t slots = 0;     // slots of all residency maps of the layer, without history
  };
  std::int64_t weights = 0;
  std::int64_t allocated = 0;  // room for rows at capacity, and staging
  std::int64_t reserved = 0;   // with room for rows of older states
  bool atOnce = false;         // a device gives all of `reserved` when the session opens; the CPU gives addresses
  std::int64_t work = 0;       // scratch memory of a pass
  std::int64_t capacity = 0;   // rows per layer
  std::vector<LayerRows> layers = {};
};
/// Memory that openParts() would take. Opens no weights but those of `model`. Errors: bad_manifest, no_backend.
Result<MemoryNeed> memoryNeed(const Manifest& manifest, std::shared_ptr<const Model> model);

/// Errors: bad_manifest, no_backend, out_of_memory, and those of the files that the manifest names.
Result<SessionParts> openParts(const Manifest& manifest, const std::string& resources, const Progress& progress);
/// Parts that share model, weights and files with `origin`. They use the kind of backend and the device of `origin`,
/// whatever "auto" would choose now.
Result<SessionParts> siblingParts(const SessionParts& origin, const Manifest& manifest);
/// Parts of a session with the manifest and the storage of `origin`, with its rows of these slots, [layers]. beside:
/// the new session computes on this one's threads, and the two are called one at a time; or null.
Result<SessionParts> forkedParts(const SessionParts& origin, const LayerSlots& rows, const SessionParts* beside);

}  // namespace kvlab
