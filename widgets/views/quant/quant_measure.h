// SPDX-License-Identifier: GPL-3.0-or-later
// What storing rows in fewer bits has cost, as the engine measured it: per layer, K and V apart, row by row.
// Values and pure functions; any thread. semantics.md, section 7.
#pragma once
#include <QString>
#include <vector>

#include "core/api/error.h"
#include "core/api/snapshot.h"

namespace kvlab {

/// One tensor of one layer. Rows that are not resident are not-a-number.
struct QuantTensor {
  QString type;                     // "int8"
  bool scaled = false;              // codes times a scale; other types hold values as they are
  std::vector<float> relative;      // [length] |stored - computed| / |computed|, over all heads
  std::vector<float> cosine;        // [length]
  std::vector<float> scale, atMax;  // [length] largest over the heads; codes of the largest magnitude
  std::vector<float> logit;         // [length] error of the newest query's logits; keys only
  double worst = 0, mean = 0;       // of relative
  double lowestCosine = 0, shareAtMax = 0, worstLogit = 0;  // not-a-number where there is none; share of all values
  // Since the pool was made.
  std::int64_t clipped = 0, nonFinite = 0, floored = 0;
  double scaleMin = 0, scaleMean = 0, scaleMax = 0;
};

struct QuantLayer {
  QuantTensor k, v;
  const QuantTensor& of(bool keys) const { return keys ? k : v; }
  /// Values were clipped or not finite since the pool was made.
  bool spoilt() const { return k.clipped + k.nonFinite + v.clipped + v.nonFinite > 0; }
};

struct QuantMeasure {
  SnapshotPtr of;  // the state that was measured
  int values = 0;  // of a row, in each tensor
  std::vector<QuantLayer> layers;
};

/// The reply to `quantisation {rows: true}`, packed or not; the tick that it names is looked up in the history.
/// Errors: bad_reply, not_found where that tick is no longer kept.
Result<QuantMeasure> quantMeasure(const nlohmann::json& reply, const std::vector<SnapshotPtr>& history);
/// True if both have the same rows, stored in the same types.
bool sameRows(const Snapshot& a, const Snapshot& b);

/// What a lane draws of each row.
enum class QuantFigure : std::uint8_t { Relative, Cosine, Scale, AtMax, Logit };
inline constexpr int kQuantFigures = 5;
const char* name(QuantFigure figure);  // "at_max": of the option
QString title(QuantFigure figure);     // "relative error"
/// Values have no logits: their error stands in its place.
QuantFigure figureOf(bool keys, QuantFigure chosen);
/// [length], larger is worse: 1 - cosine for Cosine. Empty where the type has no codes.
std::vector<float> rowValues(const QuantTensor& tensor, QuantFigure figure);
/// The row with the largest value, the first of equals; -1 = none above zero.
int worstRow(const std::vector<float>& values);
double meanOf(const std::vector<float>& values);  // of those that are numbers; not-a-number if none is

/// All figures of a row in one line, in columns that stand below each other for K and V.
QString rowText(const QuantMeasure& measure, CacheLayer layer, bool keys, int row);

}  // namespace kvlab
