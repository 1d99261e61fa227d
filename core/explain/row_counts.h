// SPDX-License-Identifier: Apache-2.0
// Causes that show in the number of rows alone: layers that end too early, rows behind the end of the text, more rows
// than an eviction policy leaves. Pure; any thread.
#pragma once
#include <span>
#include <vector>

#include "core/api/manifest.h"
#include "core/explain/explain.h"

namespace kvlab {

/// tokens: of the text. manifest: that of the question; its policy is the one that the cache should have kept to.
std::vector<Cause> rowCountCauses(std::span<const ExplainedLayer> layers, const ForeignCache& cache,
                                  std::int64_t tokens, const Manifest& manifest);

}  // namespace kvlab
