// SPDX-License-Identifier: Apache-2.0
// What two states of a session have in common and what not: rows matched by their ledger ids, layer by layer. Engine
// thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// A row that a layer holds in both states, but not alike.
struct RowDifference {
  LedgerId row;
  double phaseThen = 0, phaseNow = 0;
  double k = 0, v = 0;  // |now − then| / max(|now|, |then|) over the layer's KV heads, keys without rotation

  bool operator==(const RowDifference&) const = default;
};

struct LayerDifference {
  CacheLayer layer;
  std::string typeThen = {}, typeNow = {};            // "K/V": types that the rows are stored in
  std::vector<LedgerId> onlyThen = {}, onlyNow = {};  // ascending
  std::vector<RowDifference> changed = {};            // another phase or other values; ascending
  std::int32_t moved = 0;                             // rows with the same values in another slot
  std::int32_t same = 0;                              // rows with the same values in the same slot
};

struct ExactnessDifference {
  LedgerId row;
  Exactness then, now;
};

struct StateDifference {
  Tick then, now;
  std::vector<LedgerId> onlyThen = {}, onlyNow = {};  // in the context of one state only; ascending
  std::vector<LayerDifference> layers = {};           // [layers]
  std::vector<ExactnessDifference> exactness = {};    // of rows of both contexts, in the last layer; ascending
  std::optional<double> kl = {};                      // KL(then || now) of the next token, nats; none without logits

  /// True if rows, values and contexts are the same; slots may differ.
  bool alike() const;
};

/// Compares the states that two sessions stand in. One must be the other's fork, so that ledger ids mean the same rows.
/// A pass per session where logits are outdated. Errors: those of refreshLogits().
Result<StateDifference> difference(Session& then, Session& now);

}  // namespace kvlab
