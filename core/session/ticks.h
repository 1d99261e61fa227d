// SPDX-License-Identifier: Apache-2.0
// Ticks of a session, each a wish of its own: tokens, prompts, pending actions. Reports are those of Session::tick().
// Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Generates (or takes) one token and applies it with all pending actions. With ring.block_tokens above 1: a block of
/// so many tokens, or of those given, which is committed or rejected whole.
TickReport step(Session& session, const std::vector<TokenId>& forced = {});
/// The token that step() would generate first; fresh logits are all that changes. Errors: empty, broken, and those of
/// the query pass.
Result<TokenId> peek(Session& session);
/// The pending action that stands highest, alone and without generating; a step where none is left.
TickReport stepAction(Session& session);
/// All pending actions, without generating.
TickReport apply(Session& session);
/// Says after each tick of a run whether a breakpoint holds. A run that history executes again ends where it ended
/// then, whatever has been asked for since.
class Stops {
 public:
  explicit Stops(Session& session);
  /// The tick comes next.
  void begin();
  /// The condition that the tick has met; empty = none.
  std::string after(const TickReport& report);

 private:
  Session& m_session;
  Breakpoints m_breakpoints;
  CacheState m_before;
};
/// Steps until a breakpoint holds, a tick fails, an end-of-text token appears, maxTicks are done or the run is
/// cancelled. stoppedBy: the condition, error, end_of_text, max_ticks or cancelled.
std::vector<TickReport> run(Session& session, int maxTicks, std::string& stoppedBy);
/// Appends tokens (a prompt, or with last == false a part of one) in one commit. Revisers act when the prompt ends.
/// draft: the tokens may be taken back.
TickReport append(Session& session, const std::vector<TokenId>& tokens, Source source, bool last = true,
                  bool draft = false);
/// Ends a prompt that came in parts: a commit where policies evict rows, else nothing.
TickReport endPrefill(Session& session);
/// A report of a tick that was not run.
TickReport refusedTick(const Session& session, Error error);

}  // namespace kvlab
