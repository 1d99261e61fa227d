// SPDX-License-Identifier: Apache-2.0
// Finds the reading of a layer: a sample of its rows is compared with the rows of the model under every combination of
// up to three mistakes. Lengths do not count, so that a scale needs no combination of its own. Pure; any thread.
#pragma once
#include <vector>

#include "core/explain/reading.h"

namespace kvlab {

struct ReadingAsk {
  const ModelConfig& config;
  Side side = Side::Keys;
  RowShape shape;
  const std::vector<float>& theirs;  // [rows, width] of a layer of the file
  int own = 0;                       // layer of the model that it should be
  const TokenRows& exact;
  std::int64_t length = 0;        // of the text
  std::vector<RowPlaces> places;  // the likeliest first
  std::int32_t page = 0;          // rows, or 0
  double floor = 0;               // mean error that rounding accounts for
};

struct FoundReading {
  SideReading reading;
  std::size_t places = 0;  // which of the ask's
  int own = 0;             // layer of the model that it looks like
  int mistakes = 0;
  double rest = 1;  // mean error of sampled rows and heads, at most 1 each
};

/// Readings that count: the best first, then rivals.
std::vector<FoundReading> findReadings(const ReadingAsk& ask);
/// A mean error that needs no further cause.
double restAllowed(double floor);

/// For each row of values, read as `reading` says: the tokens of the text (the first of each id) whose row it is, the
/// nearest first; empty = it is near none. [rows]
std::vector<std::vector<std::int32_t>> nearTokens(const ReadingAsk& ask, const SideReading& reading,
                                                  std::span<const TokenId> ids);

struct PhaseAsk {
  const KeyTurning& turning;
  int dim = 0;
  std::vector<double> likely;  // phases to try first
  double enough = 0;           // an error that ends the search
  std::int32_t phases = 0;     // whole phases below it are tried
};
struct NearPhase {
  double phase = 0, error = 1;
};
/// The phase at which the key of a token, before rotation, is nearest to a row; rows are [width].
NearPhase nearestPhase(const PhaseAsk& ask, std::span<const float> theirs, std::span<const float> unturned);

}  // namespace kvlab
