// SPDX-License-Identifier: GPL-3.0-or-later
// The scripts of `kvlab bench`, which lie in resources/bench. Any thread.
#pragma once
#include <nlohmann/json.hpp>

namespace kvlab {

/// [{id, title}], by name: the line behind the licence of a script says what it measures.
nlohmann::json listBenches();

}  // namespace kvlab
