// SPDX-License-Identifier: Apache-2.0
// Predicted lifespans of gates beside the lifespans that a recording found, per layer and KV head, as the
// window and scripts see them. Both are log4 of tokens. Values; any thread. semantics.md, section 6.
#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"

namespace kvlab {

/// Rows with similar predictions: the mean prediction and the mean of the recorded lifespans.
struct CalibrationBin {
  float predicted = 0, actual = 0;
  std::int32_t rows = 0;
  bool operator==(const CalibrationBin&) const = default;
};

struct HeadLifespans {
  std::int32_t rows = 0;      // with a prediction
  std::int32_t censored = 0;  // rows in use until the end of the recording: their lifespan is a lower bound
  // Figures over the rows that are not censored; not-a-number where there are fewer than two.
  double r2 = 0;                     // 1 - squared error / variance of the recorded values
  double bias = 0;                   // mean of predicted - actual
  std::vector<CalibrationBin> bins;  // by rising prediction, half a log4 wide; without censored rows
  // Points to draw: every row, or the wanted number of rows, evenly spaced.
  std::vector<float> predicted, actual;  // [points]
  std::vector<std::uint8_t> cut;         // [points] 1 = censored
};

struct LifespanView {
  std::uint64_t serial = 0;                        // grows with every recording of a session
  Tick tick;                                       // when it was recorded
  std::int32_t rows = 0;                           // tokens of the recording
  float threshold = 0;                             // attention that counts as use
  std::vector<std::vector<HeadLifespans>> layers;  // [layers][kvHeads]; empty where no gate predicted
};

/// All lists are [rows]; a row without a predicted number is left out.
HeadLifespans headLifespans(std::span<const float> predicted, std::span<const float> actual,
                            std::span<const std::uint8_t> censored, std::size_t mostPoints);

nlohmann::json toJson(const LifespanView& view);
/// Errors: bad_reply.
Result<LifespanView> lifespanViewFromJson(const nlohmann::json& json);

}  // namespace kvlab
