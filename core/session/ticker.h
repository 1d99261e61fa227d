// SPDX-License-Identifier: Apache-2.0
// Runs one tick: generate, observe, plan, apply. The result is a commit that the session takes or discards. A ring
// block is a tick of several tokens; all but the last stay unsettled until the end. One object per tick; engine thread.
// core/architecture.md, "The tick".
#pragma once
#include <optional>
#include <span>

#include "core/kinds/base/cache_kind.h"

namespace kvlab {

/// What a tick should do.
struct TickWish {
  bool generates = false;  // adds tokens: `forced`, or as many as a block has
  std::vector<TokenId> forced = {};
  std::vector<Action> actions = {};
  Source adds = Source::User;  // source recorded for rows of `add` actions
  PassKind pass = PassKind::Decode;
  bool draft = false;                     // the added rows may be taken back
  bool pending = false;                   // also takes the pending actions
  std::optional<std::size_t> place = {};  // only the pending action at this place
};

using Revisers = std::vector<std::unique_ptr<Reviser>>;

class Ticker {
 public:
  /// allAttention: passes return every layer's attention, even if no reviser needs it.
  Ticker(CallContext& call, const Revisers& revisers, bool allAttention)
      : m_call(call), m_revisers(revisers), m_allAttention(allAttention) {}

  /// Writes tokens, actions and events to the report. On error nothing has changed unless call.poolsTouched is set.
  Result<Commit> run(const CacheState& state, TickWish wish, TickReport& report);
  /// True if the failed run() had chosen its token, or needed none.
  bool begun() const { return m_begun; }
  /// True if the last run() added one token and not a block.
  bool single() const { return m_tokens == 1; }

  /// Samples the next token, or checks and returns `forced`. `state` gets fresh logits and the sampler's next state.
  Result<TokenId> generate(std::optional<TokenId> forced, CacheState& state);
  /// generate(), and then brightness takes in the attention of the pass that produced the logits.
  Result<TokenId> observe(std::optional<TokenId> forced, CacheState& state);
  /// What passes over a state should return.
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
  std::optional<Applied> m_applied;  // unsettled rows; in the end the content of the commit
};

}  // namespace kvlab
