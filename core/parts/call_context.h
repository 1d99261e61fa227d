// SPDX-License-Identifier: Apache-2.0
// The context that a call passes through the engine, and the part of a tick that it applies. Engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/edit/planner.h"
#include "core/edit/transaction.h"
#include "core/parts/session_parts.h"
#include "core/policy/pruner.h"

namespace kvlab {

struct CallContext {
  SessionParts& parts;
  Trace& trace;
  const Progress& progress;
  /// Drops older states of the history, oldest first, until `slots` slots are free in every layer.
  std::function<void(std::int32_t slots, Placing placing)> makeRoom;

  Transaction transaction() { return {parts.transformer.get(), parts.store, parts.layouts, parts.faults}; }
};

/// What the last queries of a prompt have seen, as policies ask for it at the prompt's end. Moments leave out the rows
/// before `momentsFrom`.
struct PromptLook {
  std::int32_t queries = 0, momentsFrom = 0;
  Observation seen;
};
using PromptLooks = std::vector<PromptLook>;

struct TickPart {
  std::vector<Action> actions;
  Source adds = Source::Model;
  PassKind pass = PassKind::Decode;
  bool generates = false;                    // the last action adds the generated or the given token
  bool draft = false;                        // the added rows may be taken back
  bool settles = true;                       // false: parts of the same tick follow; rows stay where they were computed
  std::int32_t more = 0;                     // tokens of the block that follow this part
  const Applied* earlier = nullptr;          // unsettled parts of the same tick
  std::vector<CulledPairNote> culling = {};  // the pairs that culling looked at
  std::shared_ptr<const PromptLooks> looks;  // taken ahead, see TickWish
  TransactionRules rules;
};

/// Rules for plans. adds: source recorded for rows of `add` actions.
PlanRules planRules(const SessionParts& parts, Source adds);
/// Rules for the session's passes; no statistic is requested.
TransactionRules transactionRules(const SessionParts& parts);

}  // namespace kvlab
