// SPDX-License-Identifier: Apache-2.0
// Draws calls of every verb of a session's list: most of them right, some wrong. Looks at the session through verbs
// that read, so that rows, nodes and tokens of a call exist as a rule. Engine thread.
#pragma once
#include "property/random_sessions/draw.h"
#include "property/random_sessions/sequence.h"
#include "support/scripted.h"

namespace kvlab::random_sessions {

/// State that the draws of one session share.
struct Drawing {
  Draw& draw;
  Session& session;
  int files = 0;                        // paths given so far
  std::vector<std::string> saved = {};  // cache files among them
};

Step drawStep(Drawing& in);

/// Verbs of the session's list that no draw knows, and verbs that draws know and the list does not.
std::vector<std::string> unmatchedVerbs();

/// True for verbs that leave a session as it is, whatever they are given.
bool onlyReads(const std::string& verb);

}  // namespace kvlab::random_sessions
