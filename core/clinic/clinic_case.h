// SPDX-License-Identifier: Apache-2.0
// The cases of the bug clinic: for each bug of core/bugs a file resources/clinic/NAME.json that has reports of the bug,
// steps that meet its condition, and the check that finds it. Values; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"

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

}  // namespace kvlab
