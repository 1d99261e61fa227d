// SPDX-License-Identifier: Apache-2.0
// The next token without some rows, as it was measured in a state. A value; any thread.
#pragma once
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

struct KnockOut {
  struct Token {
    TokenId id;
    double with = 0, without = 0;  // ln p
  };
  /// One of the rows, hidden alone.
  struct Row {
    LedgerId ledger;
    double kl = 0;      // KL(with || without it) of the next token, nats
    TokenId likeliest;  // without it
  };
  std::vector<LedgerId> rows;      // that were hidden together
  double kl = 0;                   // KL(with || without) of the next token, nats
  std::vector<Token> tokens = {};  // the likeliest with the rows, best first; behind them those that are among the
                                   // likeliest without the rows alone
  std::vector<Row> each = {};      // in the order of `rows`; empty unless it was asked for
};

}  // namespace kvlab
