// SPDX-License-Identifier: Apache-2.0
// For the files of bugs alone: names and titles come from bugs.inc.
#pragma once
#include "core/bugs/bug_kind.h"

namespace kvlab {

#define KVLAB_BUG(name, title) inline constexpr std::string_view name##Name = #name, name##Title = title;
#include "core/bugs/bugs.inc"
#undef KVLAB_BUG

/// BugKind of a name, with its bends: {.pass = ...}.
#define KVLAB_BUG_KIND(bug, ...) \
  extern const BugKind bug##Bug; \
  const BugKind bug##Bug{.name = bug##Name, .title = bug##Title, __VA_ARGS__};

}  // namespace kvlab
