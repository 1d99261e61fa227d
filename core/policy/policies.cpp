// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/api/guarded.h"
#include "core/api/manifest_list.h"
#include "core/policy/policy.h"

namespace kvlab {

#define KVLAB_POLICY(factory, name, keys, help) Policy factory();
#include "core/api/policies.inc"
#undef KVLAB_POLICY

Result<const Policy*> findPolicy(std::string_view name) {
  static const Policy kPolicies[] = {
#define KVLAB_POLICY(factory, name, keys, help) factory(),
#include "core/api/policies.inc"
#undef KVLAB_POLICY
  };
  const std::span<const PolicyName> names = policies();
  const auto found = std::find_if(names.begin(), names.end(), [&](const PolicyName& one) { return one.name == name; });
  if (found != names.end()) return &kPolicies[found - names.begin()];
  return Error("bad_manifest", "the policy was refused", notAPolicy(name), "see kvlab list policies", "name",
               std::string(name));
}

Status knownPolicies(const std::vector<PolicySpec>& specs) {
  for (const PolicySpec& spec : specs) KV_TRY(findPolicy(spec.name));
  return ok();
}

const Policy& policyOf(std::string_view name) {
  const Result<const Policy*> found = findPolicy(name);
  if (!found) throw ErrorThrown(found.error());
  return **found;
}

}  // namespace kvlab
