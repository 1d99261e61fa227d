// SPDX-License-Identifier: Apache-2.0
// Input: a config.json. An accepted file has sane numbers and makes a rotary table.
#include "core/model/files/config.h"

#include <algorithm>
#include <cmath>

#include "core/model/decoder/rotary.h"
#include "core/model/files/strict_json.h"
#include "fuzz.h"

using namespace kvlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parseJson(fuzz::text(data, size), "f", "bad_model");
  if (!json) {
    fuzz::checkError(json.error());
    return 0;
  }
  auto config = configFromJson(*json, "f");
  if (!config) {
    fuzz::checkError(config.error());
    return 0;
  }
  fuzz::require(config->heads % config->kvHeads == 0, "heads do not fit");
  fuzz::require(config->headDim % 2 == 0 || config->ropes.front().dims != 0, "a value turns without a partner");
  fuzz::require(config->windowPerLayer.size() == static_cast<std::size_t>(config->layers), "windows");
  fuzz::require(config->parameters() > 0, "parameters overflow");
  config->maxPositions = std::min(config->maxPositions, 64);
  Rotary rotary(*config);
  const auto row = rotary.index(Phase(3.5), 2);
  for (int i = 0; i < rotary.width(); ++i)
    fuzz::require(std::isfinite(rotary.data()[row * rotary.width() + i]), "rotation is not finite");
  return 0;
}
