// SPDX-License-Identifier: Apache-2.0
// The storage layouts by name, for manifests, menus and lists. Values; any thread.
#pragma once
#include <span>
#include <string_view>

#include "core/api/error.h"

namespace kvlab {

struct LayoutName {
  std::string_view name, help;
};
std::span<const LayoutName> layouts();

/// A layout as manifests write it: "NAME", or "paged:block=16".
struct LayoutSpec {
  std::size_t index = 0;  // into layouts()
  int block = 16;         // slots per page
};
/// Error (code bad_manifest) for an unknown name or parameter.
Result<LayoutSpec> parseLayout(std::string_view spec);

}  // namespace kvlab
