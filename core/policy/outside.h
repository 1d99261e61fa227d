// SPDX-License-Identifier: Apache-2.0
// Rules from outside that are asked by questions (core/api/added_question.h), and the types of the rules of wLOD and of
// culling. Each rule is a function of what it is given: whoever executes commands again asks it again. Policies alone
// have a memory, and their decisions are kept (policy.h). Any thread.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/added.h"
#include "core/api/added_question.h"
#include "core/api/ids.h"
#include "core/api/tree_node.h"

namespace kvlab {

/// Pairs of neighbours that culling would replace, in the order of its choice.
struct CulledCandidates {
  std::span<const std::int32_t> positions;  // [pairs] of the first token
  std::span<const std::int32_t> tokens;     // [pairs, 2]
  std::span<const float> brightness;        // [pairs, 2]
  std::span<const std::int32_t> context;    // [length] all tokens
  const nlohmann::json& options;
};
struct CompressorRule {
  /// The token that takes a pair's place, [pairs]; -1 = the pair stays.
  std::function<Result<std::vector<std::int32_t>>(const CulledCandidates&)> tokens;
};

struct GistChildren {
  int level = 1, hidden = 0;
  std::span<const float> children;  // [nodes, kGistBlock, hidden]
  const nlohmann::json& options;
};
struct GistRule {
  /// [nodes, hidden]
  std::function<Result<std::vector<float>>(const GistChildren&)> gists;
};

/// The entries of a working context.
struct LensEntries {
  std::span<const std::int32_t> starts, levels;  // [entries] first moment; 0 = token, 1 and 2 = gists
  std::span<const double> mass;                  // [entries] attention received, or empty while there is none
  std::span<const float> vectors;                // [entries, hidden] embeddings
  std::int32_t length = 0;                       // moments of the time line
  int hidden = 0;
  const nlohmann::json& options;
};
struct LensRule {
  /// [entries] -1 .. 1, above 0 = more detail
  std::function<Result<std::vector<double>>(const LensEntries&)> scores;
};

/// Adds a rule. told: {"kind", "name", "help", "options", "revision"}, of a policy also "needs" and "observes". Errors
/// (code of the kind): those of addPolicy(), addCodec(), add().
Status addOutside(const nlohmann::json& told, AskAdded ask);

/// A rule of a type that its kind has, with its options.
template <class Rule>
const Rule& ruleOf(const AddedUse& use) {
  return *static_cast<const Rule*>(use.what->rule.get());
}

}  // namespace kvlab
