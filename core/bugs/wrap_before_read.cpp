// SPDX-License-Identifier: Apache-2.0
// Lightning-AI/litgpt#2182, mlx-lm: a prompt longer than the window overwrites keys that its own queries need.
#include "core/bugs/bug_file.h"

namespace kvlab {
KVLAB_BUG_KIND(wrap_before_read, .fullLaps = true)

}  // namespace kvlab
