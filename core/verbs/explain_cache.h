// SPDX-License-Identifier: Apache-2.0
// explain() for callers who have no session. Engine thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/explain/explain.h"

namespace kvlab {

/// manifest: names the model of the cache. resources: folder. Errors: those of opening a session, and of explain().
Result<Explanation> explainCache(const ForeignCache& cache, nlohmann::json manifest, const std::string& resources,
                                 const ExplainAsk& ask);

}  // namespace kvlab
