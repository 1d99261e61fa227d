// SPDX-License-Identifier: Apache-2.0
// The rows that a layer keeps, as manifests write it: "h2o:ratio=0.25,window=8" or an object with the same keys.
// A layer's rows are three bands: the first `sinks`, the last `window`, and of those between `budget`
// rows by score; semantics.md, section 6. Values; any thread.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/added.h"
#include "core/api/error.h"

namespace kvlab {

/// The rule that makes one score per row of the scores of the KV heads. Each: every head has rows of its own and keeps
/// its scores; without such rows the largest score counts.
enum class HeadRule : std::uint8_t { Mean, Max, Sum, Each };
enum class Allocator : std::uint8_t { Uniform, Pyramid };
enum class HeadBudget : std::uint8_t { Uniform, Adaptive };
enum class Pooling : std::uint8_t { Average, Maximum };

struct PolicyName {
  std::string_view name, keys, help;        // keys: its own, separated by blanks
  const nlohmann::json* options = nullptr;  // of an added one: keys that the program knows nothing of, with defaults
  bool takes(std::string_view key) const;
};
/// Those of the program, then those that were added, in their order. Names and texts stay valid for good. Any thread.
std::vector<PolicyName> policies();
/// None where there is none. Any thread.
std::optional<PolicyName> policyNamed(std::string_view name);
/// Adds a policy to the registry (core/api/added.h); more.keys are the keys that it takes. Errors (code bad_policy):
/// those of add(); the name is one of the program's; an option has the name of another key. Any thread.
Status addPolicyName(Added policy);

struct PolicyPreset {
  std::string_view policy, name, keys, source;  // keys: a JSON object
};
std::span<const PolicyPreset> policyPresets();

struct PolicySpec {
  std::string name = "full";
  std::string preset = {};
  // rows of the bands
  std::int32_t sinks = 0, window = 0;
  std::optional<std::int32_t> budget = {};
  // all bands together, in place of budget: rows, or a share of the rows that the end of a prefill finds.
  // If they do not suffice for sinks and window, the default window takes at most half of the rows that the sinks
  // leave.
  std::optional<std::int32_t> capacity = {};
  std::optional<double> ratio = {};
  bool windowGiven = false;              // by the manifest, not by the preset
  std::optional<double> threshold = {};  // rows below it leave, budget or not
  /// A tick decides when so many rows stand beyond the bands; the end of a prompt decides in any case.
  std::int32_t interval = 1;
  HeadRule heads = HeadRule::Sum;
  Allocator allocator = Allocator::Uniform;
  double beta = 20;                             // pyramid: mean budget / smallest budget
  HeadBudget headBudget = HeadBudget::Uniform;  // budgets of a layer's KV heads; adaptive needs residency by head
  double alpha = 0.2;                           // adaptive: share of the budget that every head keeps
  std::uint64_t seed = 1;
  std::int32_t observe = 32;  // queries looked at, at the end of a prefill; 0 = all
  std::int32_t kernel = 5;    // rows pooled, odd
  Pooling pooling = Pooling::Average;
  std::int32_t future = 512;  // positions ahead
  double epsilon = 0;
  std::string record = {};           // file of recordLifespans(); empty = the session is told otherwise
  std::string gates = {};            // file of gate weights; empty = those shipped for the model
  std::string by = "position";       // expression over the figures of a row; policy/expression_policy.cpp
  nlohmann::json options = nullptr;  // of an added policy: an object

  bool operator==(const PolicySpec&) const = default;
  bool keepsAll() const { return name == "full"; }
  bool byHead() const { return headBudget == HeadBudget::Adaptive; }
  /// True if the policy is at its best where each KV head has rows of its own.
  bool prefersHeads() const { return byHead() || heads == HeadRule::Each; }
  /// Errors (code bad_manifest) name the key and the remedy.
  static Result<PolicySpec> fromJson(const nlohmann::json& json);
  /// The keys that the policy takes, complete; fromJson() of it is this value.
  nlohmann::json toJson() const;
};

}  // namespace kvlab
