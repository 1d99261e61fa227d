// SPDX-License-Identifier: Apache-2.0
#include "core/check/checks.h"

namespace kvlab {
namespace {

constexpr Invariant kInvariants[] = {
#define KVLAB_INVARIANT(id, function, of, cheap, title) {#id, title, &function, Of::of, Cheap::cheap},
#include "core/check/invariants.inc"
#undef KVLAB_INVARIANT
};

}  // namespace

std::span<const Invariant> commonInvariants() { return kInvariants; }

}  // namespace kvlab
