// SPDX-License-Identifier: Apache-2.0
// Probabilities of the next token without some rows: attention tells where a query looked, not which effect that had. A
// fork drops the rows and makes the pass again; the session stays as it is. Engine thread.
#pragma once
#include <span>

#include "core/api/knock_out.h"
#include "core/session/session.h"

namespace kvlab {

enum class KnockOutBy : std::uint8_t {
  Eviction,  // the rows leave every layer; later rows keep what they read from them
  Rebuild    // the tokens leave the context, and all rows are computed again: the text never had them
};

struct KnockOutAsked {
  std::vector<LedgerId> rows;
  KnockOutBy by = KnockOutBy::Eviction;
  int tokens = 10;    // so many of the likeliest
  bool each = false;  // also hides each row alone: one fork for each
};

/// Errors: out_of_range (a row is not in the context), empty (the context is empty, or would be), cancelled, and those
/// of Session::fork(), of the edit and of a rebuild.
Result<KnockOut> knockOut(Session& session, const KnockOutAsked& asked);

/// The same; readers of the session see the answer until its state changes (Snapshot::knockOut).
Result<KnockOut> measureKnockOut(Session& session, const KnockOutAsked& asked);

}  // namespace kvlab
