// SPDX-License-Identifier: Apache-2.0
// Ways in which the values of a cache may lie other than its format says: [rows, heads, head size], pairs of rotation
// in two halves. Each step is a bijection with its own undoing. The list is made for the shape of a model. Pure; any
// thread.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/model/files/config.h"

namespace kvlab {

struct RowShape {
  std::int64_t rows = 0;
  int heads = 0, dim = 0;
  std::int64_t width() const { return std::int64_t{heads} * dim; }
};

struct LayoutStep {
  std::string kind;           // name in causeKinds()
  nlohmann::json parameters;  // without "side"
  std::string text;           // behind "keys are": "transposed within blocks of 32 rows"
  /// Where a value lies, among all rows; empty = values stay in their row.
  std::function<std::int64_t(const RowShape&, std::int64_t row, int head, int dim)> place = {};
  std::vector<std::int32_t> order = {};  // [width] where the values of a row lie; empty = where they are
  int hadamard = 0;                      // values that a Hadamard matrix mixes; 0 = none

  bool ofTable() const { return static_cast<bool>(place); }
  /// From the file to the format, rows in place; only a step that leaves values in their rows takes some rows alone.
  void undo(const RowShape& shape, std::vector<float>& rows) const;
  /// From the format to the file.
  void apply(const RowShape& shape, std::vector<float>& rows) const;
};

/// Steps that move values among rows. page: rows of a page, or 0.
std::vector<LayoutStep> tableSteps(const RowShape& shape, std::int32_t page);
/// Steps within a row.
std::vector<LayoutStep> rowSteps(const RowShape& shape, const ModelConfig& config);

}  // namespace kvlab
