// SPDX-License-Identifier: GPL-3.0-or-later
// A program that is built without Qt (KVLAB_GUI=OFF) has no window.
#include "app/cli/ending.h"
#include "app/cli/window_part.h"

namespace kvlab {

const WindowPart& windowPart() {
  static const WindowPart kNone{{}, [] { return false; }, nullptr};
  return kNone;
}

}  // namespace kvlab
