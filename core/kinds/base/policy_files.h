// SPDX-License-Identifier: Apache-2.0
// Files that eviction policies name: gates and recorded runs. Each is read once and shared by forks and lanes.
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
  /// Reads what the specs name and has not been read. Errors: bad_manifest where these policies do not go together or
  /// with the session, and those of the files.
  Status load(const SessionParts& parts, const std::vector<PolicySpec>& specs);
  /// Of files that load() has read; null where no policy asks for one.
  std::shared_ptr<const GateWeights> gates(const SessionParts& parts, const std::vector<PolicySpec>& specs) const;
  std::shared_ptr<const FutureMass> future(const std::vector<PolicySpec>& specs) const;

 private:
  Status loadGates(const SessionParts& parts, const std::vector<PolicySpec>& specs);
  Status loadRecords(const SessionParts& parts, const std::vector<PolicySpec>& specs);

  std::vector<std::shared_ptr<const GateWeights>> m_gates;
  std::map<std::string, std::shared_ptr<const FutureMass>> m_records;  // by file
};

/// [cache layers] as the manifest names them.
std::vector<PolicySpec> policiesWanted(const SessionParts& parts);
/// Before anything was seen, with files that load() has read; null where all policies keep everything.
std::shared_ptr<const PolicyState> startPolicies(const SessionParts& parts);
bool keepAll(const std::vector<PolicySpec>& specs);

}  // namespace kvlab
