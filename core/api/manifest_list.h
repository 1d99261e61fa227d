// SPDX-License-Identifier: Apache-2.0
// The keys of manifests as `kvlab list manifest` shows them, from the readers themselves. Values; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvlab {

class ManifestKeys;

struct ManifestKey {
  std::string key;           // with its path: "sampling.top_k", "layers[].match"
  std::string type;          // "integer 0 .. 64"
  nlohmann::json otherwise;  // the value if the key is left out; null = no fixed value, see the meaning
  std::string meaning;
};

/// All of them, in the order in which they are read.
std::vector<ManifestKey> manifestKeys();
/// Adds the keys of all policies to the list.
void listPolicyKeys(ManifestKeys& keys);
/// "h3o is not a policy; the nearest is h2o"
std::string notAPolicy(std::string_view name);

}  // namespace kvlab
