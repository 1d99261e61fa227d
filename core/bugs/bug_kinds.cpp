// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/bugs/bug_kind.h"
#include "kernels/row_checksum.h"

namespace kvlab {

#define KVLAB_BUG(name, title) extern const BugKind name##Bug;
#include "core/bugs/bugs.inc"
#undef KVLAB_BUG

namespace {

constexpr const BugKind* kKinds[] = {
#define KVLAB_BUG(name, title) &name##Bug,
#include "core/bugs/bugs.inc"
#undef KVLAB_BUG
};

}  // namespace

std::span<const BugKind* const> bugKinds() { return kKinds; }

const BugKind& bugDrawn(std::uint64_t seed) { return *kKinds[kernels::mix64(seed + 1) % std::size(kKinds)]; }

const BugKind* bugNamed(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &BugKind::name);
  return found == std::end(kKinds) ? nullptr : *found;
}

}  // namespace kvlab
