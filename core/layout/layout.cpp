// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"

namespace kvlab {

#define KVLAB_LAYOUT(factory, name, help) std::unique_ptr<StorageLayout> factory(int block);
#include "core/api/layouts.inc"
#undef KVLAB_LAYOUT

Result<std::unique_ptr<StorageLayout>> makeLayout(std::string_view text) {
  static constexpr std::unique_ptr<StorageLayout> (*kMake[])(int) = {
#define KVLAB_LAYOUT(factory, name, help) factory,
#include "core/api/layouts.inc"
#undef KVLAB_LAYOUT
  };
  const LayoutSpec spec = KV_TRY(parseLayout(text));
  return kMake[spec.index](spec.block);
}

}  // namespace kvlab
