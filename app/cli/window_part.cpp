// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/window_part.h"

#include <algorithm>

namespace kvlab {

bool isOfWindowPart(const std::string& verb) {
  static const std::vector<std::string> kVerbs{"run", "test", "bench", "gui"};
  return std::ranges::find(kVerbs, verb) != kVerbs.end();
}

}  // namespace kvlab
