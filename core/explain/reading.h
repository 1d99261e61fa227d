// SPDX-License-Identifier: Apache-2.0
// How the rows of a cache are to be read: how their values lie, how keys are turned, which rows of the model stand
// where. Found on one layer (reading_search.h), it reads all layers. Values; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/explain/explain.h"
#include "core/explain/key_turning.h"
#include "core/explain/row_layout.h"
#include "core/explain/token_rows.h"

namespace kvlab {

/// Which token each row belongs to, and the phase that its key is turned to.
struct RowPlaces {
  std::string text;                  // "by the file's positions"
  std::vector<std::int32_t> tokens;  // [rows] -1 = none
  std::vector<double> phases;        // [rows]
};

struct SideReading {
  Side side = Side::Keys;
  std::vector<LayoutStep> layout;  // in order of undoing
  KeyTurning turning;              // of the layer that was searched; of keys
  Side source = Side::Keys;        // rows of the model that it holds
  std::vector<int> headMap;        // [heads] head of the model; empty = each its own
  double scale = 1;                // of the rows
  // Codes were multiplied by the scales of a head, or of a row, so many places behind; a scale follows the largest
  // value.
  int scaleHeads = 0, scaleRows = 0;
  int heads = 0;  // of a row, where scales are others'

  bool otherScales() const { return scaleHeads != 0 || scaleRows != 0; }
  /// Rows of the file as the format lays them out.
  std::vector<float> undone(const RowShape& shape, std::vector<float> rows) const;
  /// Rows of the format as the file lays them out.
  std::vector<float> applied(const RowShape& shape, std::vector<float> rows) const;
};

/// The rows that a layer of the file should hold, [rows, width], as its format lays them out: of a layer `own` of the
/// model. Rows without a token are NaN. phases: [rows] that keys are turned to.
std::vector<float> expectedRows(const SideReading& reading, const ModelConfig& config, const TokenRows& exact, int own,
                                const RowPlaces& places, std::int64_t length);

/// What is mistaken in a reading; `of` names rows: "keys", "values", "keys and values".
std::vector<Cause> causesOf(const SideReading& reading, const std::string& of);
/// The causes of both sides; what both have in common is one cause.
std::vector<Cause> causesOf(const SideReading& keys, const SideReading& values);

/// |theirs - ours| / |ours| of each head of each row, [rows, heads]; NaN where ours is, infinite where theirs is not
/// finite.
std::vector<float> relativeErrors(std::span<const float> theirs, std::span<const float> ours, int dim);

}  // namespace kvlab
