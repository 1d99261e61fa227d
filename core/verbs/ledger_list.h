// SPDX-License-Identifier: Apache-2.0
// Rows in replies of verbs. Any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <span>

#include "core/api/ids.h"

namespace kvlab {

/// [12, 40]: the ledger ids as a JSON array.
inline nlohmann::json ledgerList(std::span<const LedgerId> ids) {
  nlohmann::json out = nlohmann::json::array();
  for (const LedgerId id : ids) out.push_back(id.value());
  return out;
}

}  // namespace kvlab
