// SPDX-License-Identifier: Apache-2.0
#include "core/api/layout_names.h"

#include <algorithm>
#include <charconv>

#include "core/api/texts.h"

namespace kvlab {
namespace {

constexpr int kMostBlock = 4096;

Error refused(std::string_view spec, const std::string& why, const std::string& remedy) {
  return Error("bad_manifest", "the layout was refused", why, remedy, "layout", std::string(spec));
}

}  // namespace

std::span<const LayoutName> layouts() {
  static constexpr LayoutName kLayouts[] = {
#define KVLAB_LAYOUT(factory, name, help) {name, help},
#include "core/api/layouts.inc"
#undef KVLAB_LAYOUT
  };
  return kLayouts;
}

Result<LayoutSpec> parseLayout(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::span<const LayoutName> all = layouts();
  const auto found = std::find_if(all.begin(), all.end(), [&](const LayoutName& one) { return one.name == name; });
  if (found == all.end())
    return refused(text, std::string(name) + " is not a layout" + nearestNote(name, namesOf(all)),
                   "see kvlab list layouts");
  LayoutSpec spec{static_cast<std::size_t>(found - all.begin())};
  if (colon == std::string_view::npos) return spec;
  constexpr std::string_view kKey = "block=";
  const std::string_view parameter = text.substr(colon + 1);
  const char* const end = parameter.data() + parameter.size();
  const bool number =
      parameter.starts_with(kKey) && std::from_chars(parameter.data() + kKey.size(), end, spec.block).ptr == end;
  if (name != "paged" || !number || spec.block < 1 || spec.block > kMostBlock)
    return refused(text, std::string(parameter) + " is not a parameter of " + std::string(name),
                   "paged takes block=1 .. " + std::to_string(kMostBlock) + ", the others take none");
  return spec;
}

}  // namespace kvlab
