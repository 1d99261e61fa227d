// SPDX-License-Identifier: Apache-2.0
// The list of kinds. A kind whose folder is not there is left out.
#include "core/parts/kinds.h"

#include "core/kinds/plain/plain_kind.h"
#if __has_include("core/kinds/wlod/wlod.h")
#include "core/kinds/wlod/wlod.h"
#endif

namespace kvlab {

std::span<const KindInfo> kinds() {
  static const KindInfo kAll[] = {
#if __has_include("core/kinds/wlod/wlod.h")
    wlodKind(),
#endif
    plainKind(),
  };
  return kAll;
}

}  // namespace kvlab
