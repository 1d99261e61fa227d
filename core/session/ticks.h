// SPDX-License-Identifier: Apache-2.0
// Ticks of a session: generate tokens, append prompts, apply pending actions. Reports as Session::tick(). Engine
// thread.
#pragma once
#include <deque>

#include "core/parts/reviser.h"
#include "core/session/session.h"

namespace kvlab {

/// Generates one token (or takes the given one) and applies it with all pending actions. With ring.block_tokens above 1
/// the tick is a block of that many tokens, or of the given ones, which is committed or rejected as a whole.
/// stops: where the tick may stop and stay open (Session::stage()).
TickReport step(Session& session, const std::vector<TokenId>& forced = {}, const StageStop& stops = {});
/// The token that step() would generate first. Only the logits are refreshed. Errors: empty, broken, and those of the
/// query pass.
Result<TokenId> peek(Session& session);
/// Applies the pending action with the highest position, without generating. Without pending actions: a step.
TickReport stepAction(Session& session);
/// Applies all pending actions without generating.
TickReport apply(Session& session);
/// The report of a call's last tick with the work of the ticks before it.
TickReport joined(const TickReport& before, TickReport last);
/// Says after each tick of a run whether a breakpoint holds. A run that history executes again ends where it ended
/// then, whatever has been asked for since.
class Stops {
 public:
  explicit Stops(Session& session);
  /// The tick comes next.
  void begin();
  /// The stages at which the tick may stop inside.
  StageStop inside();
  /// The condition that the tick has met, or at which it stopped inside; empty = none.
  std::string after(const TickReport& report);

 private:
  Session& m_session;
  Breakpoints m_none;
  Breakpoints& m_breakpoints;
  CacheState m_before;
  SightState m_then;                                          // measured of it, where a condition needs it
  std::shared_ptr<const std::vector<BreakpointView>> m_seen;  // before the tick
  std::string m_inside;                                       // the condition that has stopped inside the tick
};
struct RunOutcome {
  std::deque<TickReport> reports;  // reports of the last ticks
  std::int64_t count = 0;          // ticks that ran
  std::string stoppedBy;           // the condition, error, end_of_text, max_ticks or cancelled
};
/// Steps until a breakpoint holds, a tick fails, an end-of-text token appears, maxTicks are done or the run is
/// cancelled. Keeps the last `reports` reports: the reports of a long run would not fit into memory.
RunOutcome run(Session& session, int maxTicks, std::size_t reports);
/// Appends tokens: a prompt, or with last == false a part of one. Revisers act when the prompt ends. A long prompt
/// takes several ticks: if one of them fails or is cancelled, those before it stay, and the prompt has not ended.
/// draft: the tokens may be taken back, and come in one tick. The report has the work of all ticks.
TickReport append(Session& session, const std::vector<TokenId>& tokens, Source source, bool last = true,
                  bool draft = false);
/// Appends a text and records the surprise of each token (LedgerRow::surprise), except for the first token of a context
/// or behind an edit. each: the tokens come one by one, as generated tokens do, so that policies act between them; a
/// kind that derives its context always takes them so. Pending actions stay pending. Returns the report of the last
/// tick; if it failed, the tokens before it stay.
TickReport score(Session& session, const std::vector<TokenId>& tokens, bool each);
/// A prompt was appended in parts and has not ended.
bool promptOpen(const Session& session);
/// Ends a prompt that was appended in parts. Makes a commit if policies evict rows.
TickReport endPrefill(Session& session, const StageStop& stops = {});
/// What the session's policies look at when a prompt ends, for TickWish::looks of a session with the same rows whose
/// policies look at the same. Errors: device, cancelled.
Result<std::shared_ptr<const PromptLooks>> lookAtPromptEnd(Session& session);

}  // namespace kvlab
