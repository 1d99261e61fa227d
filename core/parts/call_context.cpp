// SPDX-License-Identifier: Apache-2.0
#include "core/parts/call_context.h"

namespace kvlab {

PlanRules planRules(const SessionParts& parts, Source adds) {
  const Manifest& m = parts.manifest;
  return {m.position, m.shiftOnOverflow, parts.model->config().vocab, parts.capacity, parts.maxPhases, adds};
}

TransactionRules transactionRules(const SessionParts& parts) {
  const Manifest& m = parts.manifest;
  TransactionRules rules;
  rules.executor = m.executor;
  rules.afterEdit = m.afterEdit;
  rules.selectiveRatio = m.selectiveRatio;
  rules.newRows = m.newRows;
  rules.probes = m.probes;
  rules.guards = m.guards;
  rules.splice = {m.position, m.brightness.start, static_cast<float>(m.brightness.max)};
  return rules;
}

}  // namespace kvlab
