// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/wlod.h"

#include "core/kinds/wlod/check/wlod_checks.h"
#include "core/kinds/wlod/kind/wlod_kind.h"

namespace kvlab {

KindInfo wlodKind() {
  static constexpr Invariant kInvariants[] = {
      {"wlod_tiling", "The working context tiles the time line within its budget", &checkWlodTiling, Of::State,
       Cheap::All},
      {"wlod_rows", "wLOD rows, maps and phases follow the working context; nothing clean hangs on anything dirty",
       &checkWlodRows, Of::State, Cheap::Part},
  };
  return {.serves = [](const Manifest& manifest) { return manifest.wlod.has_value(); },
          .make = []() -> std::unique_ptr<CacheKind> { return std::make_unique<WlodKind>(); },
          .fileKey = "wlod",
          .verbs = &wlodVerbs,
          .invariants = kInvariants};
}

}  // namespace kvlab
