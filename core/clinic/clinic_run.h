// SPDX-License-Identifier: Apache-2.0
// Runs a case of the bug clinic in a session of its own. Engine thread.
#pragma once
#include "core/api/report.h"
#include "core/clinic/clinic_case.h"

namespace kvlab {

struct ClinicResult {
  std::vector<Finding> healthy;    // findings of the same steps without the bug; there should be none
  std::vector<Finding> findings;   // at level full behind the steps
  std::optional<Finding> finding;  // finding of the check that the case names
  std::int64_t ticks = 0;          // ticks of the session from planting to the end of the steps
  /// At level cheap: ticks behind the steps until something was found, 0 = at once; none = nothing in a scrub period.
  std::optional<std::int64_t> cheapTicks;
  std::string cheapCheck;

  /// True if the finding that the case names was made, where the case says, and there was none without the bug.
  bool caught(const ClinicCase& one) const;
};

/// Errors: those of the verbs. The files of the steps lie in `folder`, which exists.
Result<ClinicResult> runClinic(const ClinicCase& one, const std::string& resources, const std::string& folder);
/// The arguments of a step with its paths in a folder.
nlohmann::json stepArgs(const ClinicStep& step, const std::string& folder);

}  // namespace kvlab
