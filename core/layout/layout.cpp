// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"

namespace kvlab {

#define KVLAB_LAYOUT(factory, name, help) std::unique_ptr<StorageLayout> factory();
#include "core/layout/layouts.inc"
#undef KVLAB_LAYOUT

std::span<const LayoutInfo> layouts() {
  static constexpr LayoutInfo kLayouts[] = {
#define KVLAB_LAYOUT(factory, name, help) {name, help, factory},
#include "core/layout/layouts.inc"
#undef KVLAB_LAYOUT
  };
  return kLayouts;
}

Result<std::unique_ptr<StorageLayout>> makeLayout(std::string_view name) {
  for (const LayoutInfo& info : layouts())
    if (info.name == name) return info.make();
  return Error{"bad_manifest", "the layout was refused", std::string(name) + " is not a layout",
               "see kvlab list layouts", std::nullopt, "layout", std::string(name)};
}

}  // namespace kvlab
