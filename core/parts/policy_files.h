// SPDX-License-Identifier: Apache-2.0
// Files that eviction policies name: gates and recorded runs. Each file is read once and shared by forks and lanes.
// Owned by SessionParts; engine thread. semantics.md, section 6.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/policy_spec.h"
#include "core/state/policy_state.h"

namespace kvlab {

class GateWeights;
struct SessionParts;

class PolicyFiles {
 public:
  /// Reads the files that the specs name, unless they were read before. Errors: bad_manifest if the policies are
  /// incompatible with each other or with the session, and the errors of the files.
  Status load(const SessionParts& parts, const std::vector<PolicySpec>& specs);
  /// Content of files that load() has read; null if no policy needs such a file.
  std::shared_ptr<const GateWeights> gates(const SessionParts& parts, const std::vector<PolicySpec>& specs) const;
  std::shared_ptr<const FutureMass> future(const std::vector<PolicySpec>& specs) const;

 private:
  Status loadGates(const SessionParts& parts, const std::vector<PolicySpec>& specs);
  Status loadRecords(const SessionParts& parts, const std::vector<PolicySpec>& specs);

  std::vector<std::shared_ptr<const GateWeights>> m_gates;
  std::map<std::string, std::shared_ptr<const FutureMass>> m_records;  // by file name
};

/// [cache layers] policies of the manifest.
std::vector<PolicySpec> policiesWanted(const SessionParts& parts);
/// State of the policies before the first token, with files that load() has read; null if all policies keep everything.
std::shared_ptr<const PolicyState> startPolicies(const SessionParts& parts);
bool keepAll(const std::vector<PolicySpec>& specs);

}  // namespace kvlab
