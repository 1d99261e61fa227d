// SPDX-License-Identifier: Apache-2.0
// Rotations that keys of a cache may have: that of the model, and others by mistake. Rows are in the form of Hugging
// Face (TokenRows). Computes in double; pure; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/api/ids.h"
#include "core/model/files/config.h"

namespace kvlab {

struct KeyTurning {
  std::string kind = {};                              // name in causeKinds(); empty = the model's own
  nlohmann::json parameters = {};                     // without "side"
  std::string text = {};                              // behind "keys are"
  std::vector<std::int32_t> first = {}, second = {};  // [pairs] places in a head
  std::vector<double> frequencies = {};               // [pairs]
  double factor = 1;                                  // of pairs that turn
  double times = 1, shift = 0;  // a row turns by times * phase + shift; times 0 = rows do not turn at all

  /// Turns keys [rows, heads * dim] to their phases [rows], in place.
  void turn(std::span<float> keys, int dim, std::span<const double> phases) const;
  void turnBack(std::span<float> keys, int dim, std::span<const double> phases) const;
};

/// The model's own rotation of a layer, in a context of `length` tokens.
KeyTurning turningOf(const ModelConfig& config, Layer layer, std::int64_t length);
/// Mistakes of it: none, inverse, twice, other pairs, by one off, other bases and scalings.
std::vector<KeyTurning> otherTurnings(const ModelConfig& config, Layer layer, std::int64_t length);
/// The same rotation with another base, for a search for the base.
KeyTurning turningWithBase(const ModelConfig& config, Layer layer, std::int64_t length, double base);
/// The turning of another layer that has the same mistake as one of layer `of`.
KeyTurning turningLike(const KeyTurning& mistake, const ModelConfig& config, Layer layer, std::int64_t length);

}  // namespace kvlab
