// SPDX-License-Identifier: Apache-2.0
// Compares two states layer by layer: two ticks, branches, lanes, or a state and a file. Rows are matched as
// row_pairs.h says. Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// A row that a layer holds in both states, but not alike.
struct RowDifference {
  LedgerId row, rowThen;  // one id, unless both states went different ways when it came
  double phaseThen = 0, phaseNow = 0;
  double k = 0, v = 0;  // |now − then| / max(|now|, |then|) over the layer's KV heads, keys without rotation

  bool operator==(const RowDifference&) const = default;
};

struct LayerDifference {
  CacheLayer layer;
  std::string typeThen = {}, typeNow = {};            // "K/V": types that the rows are stored in
  std::vector<LedgerId> onlyThen = {}, onlyNow = {};  // ascending, each with the id of its own state
  std::vector<RowDifference> changed = {};            // another phase or other values; ascending
  std::int32_t moved = 0;                             // rows with the same values in another slot
  std::int32_t same = 0;                              // rows with the same values in the same slot
};

struct ExactnessDifference {
  LedgerId row, rowThen;
  Exactness then, now;
};

struct StateDifference {
  Tick then, now;
  std::vector<LedgerId> onlyThen = {}, onlyNow = {};  // in the context of one state only; ascending
  std::vector<LayerDifference> layers = {};           // [layers]
  std::vector<ExactnessDifference> exactness = {};    // rows of both contexts, in the last layer; ascending
  std::optional<double> kl = {};                      // KL(then || now) of the next token, nats; none without logits

  /// True if rows, values and contexts are the same; slots may differ.
  bool alike() const;
};

/// [rows of the layer's map in the later state] how far keys (or values) are apart: 0 where they are equal, 1 where the
/// other state has no such row.
std::vector<float> apartByIndex(const LayerDifference& found, const ResidencyView& map, bool keys);

/// Compares the states that two sessions stand in, with a pass per session where logits are outdated. Errors:
/// not_comparable (another model, or residency by KV head in one of them), and those of refreshLogits().
Result<StateDifference> difference(Session& then, Session& now);

/// The entry before the last edit that did more than to generate tokens. Error: no_edit.
Result<int> beforeLastEdit(const Timeline& timeline);

/// The first tick at which the present branch and another one differ in anything that a state hash covers; none if one
/// of them only goes on from the other. Both are executed from where they part. Errors: unknown_branch, cancelled, and
/// those of Past::at().
Result<std::optional<Tick>> firstDifference(Session& session, const std::string& branch);

}  // namespace kvlab
