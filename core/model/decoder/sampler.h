// SPDX-License-Identifier: Apache-2.0
// The next token from logits: repetition penalty, temperature, top-k, top-p, in the order and with the definitions of
// transformers' logits processors; then one draw from a counter-based generator. Equal logits rank by lower id. One
// owner. The likelihood of a token is a pure function.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/manifest.h"

namespace kvlab {

/// Whole state of the draws: save, restore, hash.
struct RandomState {
  std::uint64_t seed = 1;
  std::uint64_t counter = 0;
  friend bool operator==(const RandomState&, const RandomState&) = default;
};

struct Candidate {
  TokenId id;
  float p = 0;  // after penalty, temperature and cuts
};

class Sampler {
 public:
  explicit Sampler(const SamplingSettings& options) : m_options(options), m_state{options.seed, 0} {}

  const SamplingSettings& options() const { return m_options; }
  const RandomState& state() const { return m_state; }
  void restore(const RandomState& state) { m_state = state; }

  /// logits [vocab]; history = ids the penalty applies to, each once. Greedy draws nothing;
  /// anything else advances the state by one. Error (code bad_logits): a not-a-number, or nothing
  /// above minus infinity; the state stays.
  Result<TokenId> sample(std::span<const float> logits, std::span<const TokenId> history = {});
  /// The tokens that sample() would draw from, best first; greedy takes the first. Errors: as sample().
  Result<std::vector<Candidate>> candidates(std::span<const float> logits, std::span<const TokenId> history = {}) const;

 private:
  SamplingSettings m_options;
  RandomState m_state;
};

/// The k most likely tokens of softmax(logits), best first, ties by lower id. Not-a-number ranks
/// last.
std::vector<Candidate> topCandidates(std::span<const float> logits, int k);

// The likelihood of a token under logits. Pure functions; any thread.

/// ln of the sum of the exponentials; x is not empty.
double logSumExp(std::span<const float> x);

/// -ln softmax(logits)[token], nats; not-a-number for a token outside of the logits.
double negativeLogLikelihood(std::span<const float> logits, TokenId token);

}  // namespace kvlab
