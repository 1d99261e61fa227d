// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/window_part.h"

#include <algorithm>

namespace kvlab {

const std::vector<std::string>& windowVerbs() {
  static const std::vector<std::string> kVerbs{"run", "test", "bench", "gui"};
  return kVerbs;
}

bool needsWindow(const std::string& verb) { return std::ranges::find(windowVerbs(), verb) != windowVerbs().end(); }

}  // namespace kvlab
