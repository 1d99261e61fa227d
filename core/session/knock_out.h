// SPDX-License-Identifier: Apache-2.0
// Probabilities of the next token without some rows: attention tells where a query looked, not which effect that had. A
// fork drops the rows and makes the pass again; the session stays as it is. Engine thread.
#pragma once
#include <span>
#include <vector>

#include "core/session/session.h"

namespace kvlab {

enum class KnockOutBy : std::uint8_t {
  Eviction,  // the rows leave every layer; later rows keep what they read from them
  Rebuild    // the tokens leave the context, and all rows are computed again: the text never had them
};

struct KnockOut {
  struct Token {
    TokenId id;
    double with = 0, without = 0;  // ln p
  };
  double kl = 0;                   // KL(with || without) of the next token, nats
  std::vector<Token> tokens = {};  // the likeliest with the rows, best first
};

/// Errors: out_of_range (a row is not in the context), empty (the context is empty, or would be), and those of
/// Session::fork(), of the edit and of a rebuild.
Result<KnockOut> knockOut(Session& session, std::span<const LedgerId> rows, KnockOutBy by, int tokens);

}  // namespace kvlab
