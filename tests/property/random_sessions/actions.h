// SPDX-License-Identifier: Apache-2.0
// Draws edits for inject and plan, and the rows, nodes and tokens that calls name. Engine thread.
#pragma once
#include "property/random_sessions/verbs.h"

namespace kvlab::random_sessions {

std::vector<int> drawTokens(Drawing& in, int most);
std::string drawText(Drawing& in, int mostWords);
/// A list of one to three actions, not always possible together.
json drawActions(Drawing& in);
/// A row of the context; sometimes a row that is not there.
int drawLedger(Drawing& in);
/// Rows of a layer: {layer, kvHead?, ledger}.
json drawEviction(Drawing& in);
/// A node of the working context: one to expand, or the gist of a block to collapse.
std::int64_t drawNode(Drawing& in, bool expand);
/// {layer, kvHead?}
json drawLayer(Drawing& in);

int lengthOf(const Session& session);

}  // namespace kvlab::random_sessions
