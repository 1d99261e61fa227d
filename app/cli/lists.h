// SPDX-License-Identifier: GPL-3.0-or-later
// The lists of `kvlab list`: those of the engine, and those of the window. Values; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/lists/named_lists.h"

namespace kvlab {

const std::vector<NamedList>& lists();
/// Null if there is no such list.
const NamedList* listNamed(const std::string& name);
/// "verbs, manifest or errors"
std::string listNames();

}  // namespace kvlab
