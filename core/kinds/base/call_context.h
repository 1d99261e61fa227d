// SPDX-License-Identifier: Apache-2.0
// What a call takes along on its way through the engine, and the part of a tick that it carries out. Engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/edit/planner.h"
#include "core/edit/transaction.h"
#include "core/kinds/base/session_parts.h"
#include "core/policy/pruner.h"

namespace kvlab {

struct CallContext {
  SessionParts& parts;
  Trace& trace;
  const Progress& progress;
  /// History gives up older states, oldest first, until so many slots are free in every layer.
  std::function<void(std::int32_t slots)> makeRoom;
  bool poolsTouched = false;  // what failed had begun to move, turn or overwrite rows that the state names

  Transaction transaction() { return {parts.transformer.get(), parts.store, parts.layouts, parts.faults}; }
};

struct TickPart {
  std::vector<Action> actions;
  Source adds = Source::Model;
  PassKind pass = PassKind::Decode;
  bool generates = false;            // the last action adds a token that was generated, or given in its place
  bool draft = false;                // what it adds may be taken back
  bool settles = true;               // false: more of the same tick follow, rows wait where they were computed
  std::int32_t more = 0;             // tokens of the block that follow
  const Applied* earlier = nullptr;  // parts of the same tick that wait
  TransactionRules rules;
};

/// Plans go by these; adds: what a row of `add` is to be called.
PlanRules planRules(const SessionParts& parts, Source adds);
/// Of the session, with no statistic wanted.
TransactionRules transactionRules(const SessionParts& parts);

}  // namespace kvlab
