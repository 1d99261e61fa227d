// SPDX-License-Identifier: Apache-2.0
// KVCache-Factory#54, VeloxQuant-MLX PR#367: the policy decides, and its decision never reaches the cache.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void policyNeverRan(std::vector<Evict>& evictions) { evictions.clear(); }

}  // namespace

KVLAB_BUG_KIND(policy_never_ran, .evicted = policyNeverRan)

}  // namespace kvlab
