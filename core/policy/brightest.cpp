// SPDX-License-Identifier: Apache-2.0
// Brightness as an eviction score: a token has one brightness for all layers. semantics.md, section 4.
#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> brightnessScores(const PolicySpec&, const LayerRows& rows) {
  return {rows.brightness.begin(), rows.brightness.end()};
}

}  // namespace

Policy makeBrightness() { return {kBrightness, brightnessScores}; }

}  // namespace kvlab
