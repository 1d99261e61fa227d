// SPDX-License-Identifier: Apache-2.0
// Input: a manifest. An accepted manifest is complete and the same after writing and reading again.
#include "core/api/manifest.h"

#include "core/model/files/strict_json.h"
#include "fuzz.h"

using namespace kvlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parseJson(fuzz::text(data, size), "f", "bad_manifest");
  if (!json) return 0;
  const auto manifest = Manifest::fromJson(*json);
  if (!manifest) {
    fuzz::checkError(manifest.error());
    return 0;
  }
  const auto whole = manifest->toJson();
  const auto again = Manifest::fromJson(whole);
  fuzz::require(static_cast<bool>(again), "not read again");
  fuzz::require(again->toJson() == whole, "another manifest");
  return 0;
}
