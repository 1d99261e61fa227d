// SPDX-License-Identifier: Apache-2.0
// Runs one tick, step by step: generate, observe, plan, prune where policies decide, apply. The result is a commit that
// the session takes or discards. A ring block is a tick of several tokens, each with its own steps; all but the last
// stay unsettled until the end. One object per tick; engine thread. core/architecture.md, "The tick".
#pragma once
#include <optional>
#include <span>

#include "core/api/stage_view.h"
#include "core/parts/cache_kind.h"

namespace kvlab {

/// Request for a tick.
struct TickWish {
  bool generates = false;  // adds tokens: `forced`, or as many as a block has
  std::vector<TokenId> forced = {};
  std::vector<Action> actions = {};
  Source adds = Source::User;  // source recorded for rows of `add` actions
  PassKind pass = PassKind::Decode;
  bool draft = false;                     // the added rows may be taken back
  bool scores = false;                    // writes down how surprising the added tokens are
  bool pending = false;                   // also takes the pending actions
  std::optional<std::size_t> place = {};  // only the pending action at this place
  /// What a look at this state showed (lookAtPromptEnd), for a prompt that ends without tokens; null: the tick looks.
  std::shared_ptr<const PromptLooks> looks = nullptr;
};

using Revisers = std::vector<std::unique_ptr<Reviser>>;

class Ticker {
 public:
  /// allAttention: passes return every layer's attention, even if no reviser needs it.
  Ticker(CallContext& call, const Revisers& revisers, bool allAttention)
      : m_call(call), m_revisers(revisers), m_allAttention(allAttention) {}

  /// A tick over a state; next() makes its steps.
  void begin(const CacheState& state, TickWish wish);
  /// Makes the next step; returns which. Writes tokens, actions and events to the report. After an error the session
  /// takes the tick back.
  Result<Stage> next(TickReport& report);
  bool done() const { return m_done; }
  Commit take();
  /// The state on which the last token was computed.
  const CacheState& observed() const { return m_observed; }
  /// With computed tokens that wait: those of a block, or all of them behind the stage prune. Null = there are none.
  const CacheState* waiting() const { return m_applied ? &m_applied->state : nullptr; }
  /// Rows of the state were rewritten before the commit.
  bool rewritten() const { return m_applied && m_applied->rewritten; }
  /// The actions that were planned last, and whether applying them ends the tick.
  const std::vector<Action>& planned() const { return m_part.actions; }
  bool settles() const { return m_last; }
  bool commitsNext() const { return m_next == Stage::Apply && m_last; }
  /// Policies decide about the rows that were planned last, before they settle.
  bool prunes() const { return m_last && followed(m_revised); }
  /// True if the tick has chosen its token, or needs none.
  bool begun() const { return m_begun; }
  /// True if the tick adds one token and not a block.
  bool single() const { return m_tokens == 1; }

  /// Samples the next token, or checks and returns `forced`. `state` gets fresh logits and the sampler's next state.
  Result<TokenId> generate(std::optional<TokenId> forced, CacheState& state);
  /// Brightness takes in the attention of the pass that produced the logits.
  void observe(CacheState& state);
  /// Rules of passes over a state, with the results that they should return.
  TransactionRules rules(const CacheState& state) const;

 private:
  Status choose(TickReport& report);
  Status plan(TickReport& report);
  Status compute(TickReport& report);
  Status carryOut();
  Status apply(TickReport& report);
  bool followed(const CacheState& state) const;
  void noteSurprise();

  CallContext& m_call;
  const Revisers& m_revisers;
  bool m_allAttention;
  bool m_begun = false, m_done = false;
  TickWish m_wish;
  std::size_t m_tokens = 0, m_place = 0;  // tokens of the tick, and how many of them are computed
  Stage m_next = Stage::Generate;         // Generate, Observe, Plan, Prune or Apply
  bool m_last = false;                    // the part that was planned last ends the tick
  TokenId m_token;                        // chosen last
  TickPart m_part;                        // planned last
  CacheState m_observed;
  CacheState m_revised;              // m_observed with the notes of revisers
  std::optional<Applied> m_applied;  // unsettled rows; in the end the content of the commit
};

}  // namespace kvlab
