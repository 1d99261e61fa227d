// SPDX-License-Identifier: Apache-2.0
// Verbs that read and write files.
#include "core/session/verb_args.h"
#include "core/session/verbs.h"

namespace kvlab {

std::span<const Verb> fileVerbs() { return {}; }

}  // namespace kvlab
