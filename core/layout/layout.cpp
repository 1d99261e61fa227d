// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"

#include <charconv>

namespace kvlab {

#define KVLAB_LAYOUT(factory, name, help) std::unique_ptr<StorageLayout> factory(int block);
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

namespace {

constexpr int kBlock = 16, kMostBlock = 4096;

Error refused(std::string_view spec, const std::string& why, const std::string& remedy) {
  return Error{"bad_manifest", "the layout was refused", why, remedy, std::nullopt, "layout", std::string(spec)};
}

}  // namespace

Result<std::unique_ptr<StorageLayout>> makeLayout(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  const auto info = std::find_if(layouts().begin(), layouts().end(), [&](const LayoutInfo& one) { return one.name == name; });
  if (info == layouts().end()) return refused(spec, std::string(name) + " is not a layout", "see kvlab list layouts");
  if (colon == std::string_view::npos) return info->make(kBlock);
  constexpr std::string_view kKey = "block=";
  const std::string_view parameter = spec.substr(colon + 1);
  int block = 0;
  const bool number = parameter.starts_with(kKey) &&
                      std::from_chars(parameter.data() + kKey.size(), parameter.data() + parameter.size(), block).ptr == parameter.data() + parameter.size();
  if (name != "paged" || !number || block < 1 || block > kMostBlock)
    return refused(spec, std::string(parameter) + " is not a parameter of " + std::string(name),
                   "paged takes block=1 .. " + std::to_string(kMostBlock) + ", the others take none");
  return info->make(block);
}

}  // namespace kvlab
