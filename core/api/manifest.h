// SPDX-License-Identifier: Apache-2.0
// The description of a run: one JSON object from which the run can be built again. Unknown keys and
// bad values are errors (code bad_manifest) that name the key. Values; any thread.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

enum class PositionMode : std::uint8_t { Context, Absolute, Cache };
enum class Executor : std::uint8_t { Batch, Descending };
enum class AfterEdit : std::uint8_t { Keep, Recompute, Selective };
enum class NewRows : std::uint8_t { Forward, EmbeddingOnly };
enum class CheckLevel : std::uint8_t { Off, Cheap, Full };

struct BrightnessSettings {
  double decay = 2, gain = 10, max = 255;
  std::map<std::string, double> start = {};  // per source; others start at max
  int target = 500;                          // culling begins here
  std::string compressor = "off";            // off | nearest (built in) | outside (action lists)
  double minCosine = 0;                      // a replacement below this is no replacement
};

struct SamplingSettings {
  double temperature = 0;  // 0 = greedy
  int topK = 0;            // 0 = all
  double topP = 1;
  double repetitionPenalty = 1;
  std::uint64_t seed = 1;
};

struct Manifest {
  std::string model = "demo";
  std::string backend = "auto";
  int threads = 0;             // 0 = all cores
  std::string dtype = {};      // f32 | bf16 | f16; empty = the weights' type
  std::string kvK = {}, kvV = {};  // row formats; empty = dtype
  std::string keyPhase = "on_read";
  PositionMode position = PositionMode::Context;
  std::string layout = "indirection";
  std::string policy = "full";
  std::int64_t capacity = 0;  // rows per layer; 0 = the model's context
  int staging = 64;
  std::int64_t historyBytes = std::int64_t{1} << 30;
  Executor executor = Executor::Batch;
  AfterEdit afterEdit = AfterEdit::Keep;
  double selectiveRatio = 0.15;
  NewRows newRows = NewRows::Forward;
  bool shiftOnOverflow = false;  // absolute_overflow: shift
  int prefillChunk = 256;        // rows per forward pass
  BrightnessSettings brightness = {};
  SamplingSettings sampling = {};
  CheckLevel check = CheckLevel::Cheap;
  int scrubPeriod = 64;
  bool opEvents = false;  // every op call is an event, with its time and bytes
  bool probes = true;
  bool faults = false;  // opens the door of the fault drill

  static Result<Manifest> fromJson(const nlohmann::json& json);
  /// Complete: every key with its value.
  nlohmann::json toJson() const;
};

}  // namespace kvlab
