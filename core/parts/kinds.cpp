// SPDX-License-Identifier: Apache-2.0
#include "core/parts/kinds.h"

#include "core/check/checks.h"

namespace kvlab {

std::span<const Invariant> invariants() {
  static const std::vector<Invariant> kAll = [] {
    std::vector<Invariant> all(commonInvariants().begin(), commonInvariants().end());
    for (const KindInfo& kind : kinds()) all.insert(all.end(), kind.invariants.begin(), kind.invariants.end());
    return all;
  }();
  return kAll;
}

std::vector<Violation> checkAll(const CheckInput& input, std::vector<Harm>* harms) {
  std::vector<Violation> out;
  for (const Invariant& invariant : invariants()) {
    Findings findings(invariant.id, out, harms);
    invariant.check(input, findings);
  }
  return out;
}

}  // namespace kvlab
