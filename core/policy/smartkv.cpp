// SPDX-License-Identifier: Apache-2.0
// SmartKV: the score of a row is what its layer's gate said of its key when it was projected, and never changes;
// so a row that leaves the window competes with the budget's rows once. semantics.md, section 6.
#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> gateScores(const PolicySpec&, const LayerRows& rows) {
  return {rows.gates.begin(), rows.gates.end()};
}

}  // namespace

Policy makeSmartKv() { return {kGates, gateScores}; }

}  // namespace kvlab
