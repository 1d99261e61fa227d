// SPDX-License-Identifier: Apache-2.0
// The cases of the bug clinic: for each bug of core/bugs a file resources/clinic/NAME.json that has reports of the bug,
// steps that meet its condition, and the check that finds it. A case runs in a session of its own. Cases are values,
// for any thread; they run on the engine thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/report.h"

namespace kvlab {

/// A call of a verb of a session. A path written as {"temp": NAME} lies in a folder that the case has for itself.
struct ClinicStep {
  std::string verb;
  nlohmann::json args;
};

struct ClinicCase {
  std::string bug, title;  // as in bugs/bug_kinds.cpp
  std::string story;
  std::vector<std::string> threads;       // threads in which people reported the bug
  nlohmann::json session;                 // keys of the manifest beside those of the clinic
  std::vector<ClinicStep> before, after;  // the bug is planted between them
  struct {
    std::string check;  // invariant
    std::optional<CacheLayer> layer;
    std::optional<LedgerId> row;
  } found;
  std::string view;  // id of the view that shows the bug best
  std::string look;  // tells the user what to look for there
};

/// All cases in the order of bugKinds(). Errors: bad_file names the file and the key.
Result<std::vector<ClinicCase>> readClinic(const std::string& resources);
/// The name of the bug that a seed draws, as the verb `bug` does.
std::string drawnBug(std::int64_t seed);
/// The manifest of a case with the door open, at a level of checking ("full", "cheap").
nlohmann::json clinicManifest(const ClinicCase& one, const std::string& level);

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
