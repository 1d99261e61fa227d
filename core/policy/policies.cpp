// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/policy/policy.h"

namespace kvlab {

#define KVLAB_POLICY(factory, name, keys, help) Policy factory();
#include "core/api/policies.inc"
#undef KVLAB_POLICY

const Policy& policyOf(std::string_view name) {
  static const Policy kPolicies[] = {
#define KVLAB_POLICY(factory, name, keys, help) factory(),
#include "core/api/policies.inc"
#undef KVLAB_POLICY
  };
  const std::span<const PolicyName> names = policies();
  const auto found = std::find_if(names.begin(), names.end(), [&](const PolicyName& one) { return one.name == name; });
  return kPolicies[found == names.end() ? 0 : found - names.begin()];
}

}  // namespace kvlab
