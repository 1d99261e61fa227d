// SPDX-License-Identifier: Apache-2.0
// SmartKV: the gate of a layer scores a row's key when the key is projected; the score never changes. A row that leaves
// the window therefore competes once, with the rows inside the budget. semantics.md, section 6.
#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> gateScores(const PolicySpec&, const LayerRows& rows) {
  return {rows.gates.begin(), rows.gates.end()};
}

}  // namespace

Policy makeSmartKv() { return {kGates, gateScores}; }

}  // namespace kvlab
