// SPDX-License-Identifier: Apache-2.0
// The way of one tick through the engine: generate, observe, plan, apply, up to a commit that the session takes or
// leaves. A ring block is a tick of several tokens, of which all but the last wait unsettled. One per tick; engine
// thread. core/architecture.md, "The tick".
#pragma once
#include <optional>
#include <span>

#include "core/kinds/base/cache_kind.h"

namespace kvlab {

/// What a tick is asked to do.
struct TickWish {
  bool generates = false;  // tokens: `forced`, or as many as a block has
  std::vector<TokenId> forced = {};
  std::vector<Action> actions = {};
  Source adds = Source::User;  // what rows of `add` actions are called
  PassKind pass = PassKind::Decode;
  bool draft = false;                     // what is added may be taken back
  bool pending = false;                   // takes the pending actions, too
  std::optional<std::size_t> place = {};  // of these, only the one here
};

using Revisers = std::vector<std::unique_ptr<Reviser>>;

class Ticker {
 public:
  /// allAttention: somebody looks at every layer's, whatever revisers want.
  Ticker(CallContext& call, const Revisers& revisers, bool allAttention)
      : m_call(call), m_revisers(revisers), m_allAttention(allAttention) {}

  /// Tokens, actions and what else happened go to the report. Nothing has changed where this fails, unless
  /// call.poolsTouched.
  Result<Commit> run(const CacheState& state, TickWish wish, TickReport& report);
  /// True if the failed run() got so far that it had a token to add, or needed none.
  bool begun() const { return m_begun; }
  /// True if the last run() was of one token, and not of a block.
  bool single() const { return m_tokens == 1; }
  /// What the last token was computed on.
  const CacheState& observed() const { return m_observed; }

  /// The token alone, on a state that was observed already.
  Result<Commit> addAlone(const CacheState& observed, TokenId token);
  /// The next token, or `forced` once it is checked; `state` gets fresh logits and the sampler's next state.
  Result<TokenId> generate(std::optional<TokenId> forced, CacheState& state);
  /// The same, and brightness sees the attention that the token was chosen by.
  Result<TokenId> observe(std::optional<TokenId> forced, CacheState& state);
  /// What passes over a state are to bring back.
  TransactionRules rules(const CacheState& state) const;

 private:
  Status runToken(std::optional<TokenId> forced, TickPart part, TickReport& report);
  Status apply(TickPart part, TickReport& report);
  bool followed(const CacheState& state) const;
  Error giveUp(Error error);

  CallContext& m_call;
  const Revisers& m_revisers;
  bool m_allAttention;
  bool m_begun = false;
  std::size_t m_tokens = 0;
  CacheState m_observed;
  std::optional<Applied> m_applied;  // what waits, or at the end what the commit is made of
};

}  // namespace kvlab
