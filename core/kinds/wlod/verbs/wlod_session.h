// SPDX-License-Identifier: Apache-2.0
// Calls for wLOD sessions alone. Each is refused with no_wlod in other sessions. Engine thread.
// semantics.md, section 8.
#pragma once
#include "core/kinds/wlod/kind/wlod_kind.h"
#include "core/session/session.h"
#include "core/verbs/verbs.h"

namespace kvlab {

/// The kind of a wLOD session; `what` starts the error for other sessions.
Result<const WlodKind*> wlodOf(const Session& session, const char* what);
/// Runs a round of the focus allocator now. Makes a commit. Errors: no_lens, speculating.
TickReport refocus(Session& session);
/// Sets the input of the lens `script`: one score per entry, -1 .. 1, above 0 = more detail. Makes a commit. Errors:
/// no_lens, bad_scores.
Status setLensScores(Session& session, std::vector<double> scores);
/// Appends tokens that may be taken back. Until endDraft() only tokens may be added. Errors: speculating.
TickReport speculate(Session& session, const std::vector<TokenId>& tokens);
/// Keeps the speculative span, or removes it and restores the state before it. Makes a commit. Errors: no_draft.
Status endDraft(Session& session, bool keep);

/// verbs_wlod.cpp
std::span<const Verb> wlodVerbs();

}  // namespace kvlab
