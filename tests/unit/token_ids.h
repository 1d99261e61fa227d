// SPDX-License-Identifier: Apache-2.0
// Token ids as tests write them.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"

namespace kvlab::test {

/// Empty after an error.
inline std::vector<int> plain(const Result<std::vector<TokenId>>& ids) {
  std::vector<int> out;
  if (ids)
    for (const TokenId id : *ids) out.push_back(id.value());
  return out;
}

inline std::vector<TokenId> tokenIds(const nlohmann::json& ids) {
  std::vector<TokenId> out;
  for (const nlohmann::json& id : ids) out.emplace_back(id.get<int>());
  return out;
}

}  // namespace kvlab::test
