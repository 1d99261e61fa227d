// SPDX-License-Identifier: Apache-2.0
// The description of a run: one JSON object from which the run can be built again. Unknown keys and
// bad values are errors (code bad_manifest) that name the key. Values; any thread.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/policy_spec.h"
#include "core/api/wlod_settings.h"

namespace kvlab {

#ifdef NDEBUG
inline constexpr bool kDebugBuild = false;
#else
inline constexpr bool kDebugBuild = true;
#endif

enum class PositionMode : std::uint8_t { Context, Absolute, Cache };
enum class Executor : std::uint8_t { Batch, Descending };
enum class AfterEdit : std::uint8_t { Keep, Recompute, Selective };
enum class NewRows : std::uint8_t { Forward, EmbeddingOnly };
enum class CheckLevel : std::uint8_t { Off, Cheap, Full };

struct BrightnessSettings {
  double decay = 2, gain = 10, max = 255;
  std::map<std::string, double> start = {};  // per source; others start at max
  int target = 500;                          // culling begins here
  std::string compressor = "off";            // off | nearest (built in) | outside (action lists) | an added one
  double minCosine = 0;                      // a replacement below this is no replacement
  /// Culling asks a rule from outside.
  bool asksOutside() const { return compressor != "off" && compressor != "nearest" && compressor != "outside"; }
  bool operator==(const BrightnessSettings&) const = default;
};

struct SamplingSettings {
  double temperature = 0;  // 0 = greedy
  int topK = 0;            // 0 = all
  double topP = 1;
  double repetitionPenalty = 1;
  std::uint64_t seed = 1;
  bool operator==(const SamplingSettings&) const = default;
};

/// Settings of some layers in place of the session's own.
struct LayerOverride {
  Layer from, to;                               // both included
  std::string layout = {}, kvK = {}, kvV = {};  // empty = the session's
  std::int32_t window = -1;                     // phases that the mask lets through; -1 = the model's
  std::optional<PolicySpec> policy = {};
  bool operator==(const LayerOverride&) const = default;
  bool empty() const { return layout.empty() && kvK.empty() && kvV.empty() && window < 0 && !policy; }
};

/// Unit that has a residency map of its own (cache_layers.h).
enum class Residency : std::uint8_t { Auto, ByLayer, ByHead };  // Auto: by KV head where a policy needs it

struct RingSettings {
  std::int32_t window = 0;       // rows that a ring keeps; 0 = as many as the layer's mask lets through
  std::int32_t blockTokens = 1;  // tokens per tick
  bool tailOnly = false;         // assembled reads take only rows that the mask lets through
  bool operator==(const RingSettings&) const = default;
};

/// The value of the key `weights` that brings weights in blocks to f32.
inline constexpr const char* kDequantise = "dequantise";

struct Manifest {
  std::string model = "demo";
  std::string backend = "auto";  // or cpu, cuda, cuda:N
  std::string weights =
      {};  // int8: matrices as codes, core/model/decoder/int8_weights.h; kDequantise; empty = as the files have them
  std::string numerics = {};       // id of an arithmetic; empty = the exact one of the back end
  int threads = 0;                 // 0 = all cores
  std::string dtype = {};          // f32 | bf16 | f16; empty = the weights' type
  std::string kvK = {}, kvV = {};  // row formats; empty = dtype
  std::string keyPhase = "on_read";
  PositionMode position = PositionMode::Context;
  std::string layout = "indirection";      // with parameters: paged:block=16
  std::vector<LayerOverride> layers = {};  // later ones win
  RingSettings ring = {};
  PolicySpec policy = {};
  Residency residency = Residency::Auto;
  std::optional<WlodSettings> wlod = {};
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
  bool guards = kDebugBuild;  // rings: rows that are read are compared with the map, one by one
  bool opEvents = false;      // every op call is an event, with its time and bytes
  bool probes = true;
  bool faults = false;  // opens the door of the fault drill

  bool operator==(const Manifest&) const = default;
  static Result<Manifest> fromJson(const nlohmann::json& json);
  /// Complete: every key with its value.
  nlohmann::json toJson() const;
  /// Keys of a manifest whose values name things that were added (added.h) as the manifest keeps them, with their
  /// revisions; everything else as it is.
  static nlohmann::json pinned(nlohmann::json keys);

  /// With the keys of `change`, which has the form of a manifest and may leave any out. An object takes its keys one by
  /// one, except policy, after_edit and brightness.start, which are replaced. layout, kv and policy hold for all layers
  /// then, except where `layers` of the change says otherwise. Errors: bad_manifest.
  Result<Manifest> with(const nlohmann::json& change) const;

  const std::string& layoutOf(Layer layer) const;
  /// "" = dtype, or the weights' type.
  const std::string& kOf(Layer layer) const;
  const std::string& vOf(Layer layer) const;
  const PolicySpec& policyOf(Layer layer) const;
  bool residentByHead() const;
  /// -1 = the model's.
  std::int32_t windowOf(Layer layer) const;
};

/// Keys that a living session takes other values of (verb settings), in their order; those of an object are meant
/// with it.
std::span<const std::string_view> livingKeys();
/// The same for one key, as its path.
bool livingKey(std::string_view path);

/// The storage types of rows, as manifests name them.
std::span<const std::string_view> rowTypes();

}  // namespace kvlab
