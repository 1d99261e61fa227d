// SPDX-License-Identifier: Apache-2.0
// The plain kind: every token of the context has a row in every layer that keeps it. Edits go through the planner and
// the transaction, culling through a reviser. Engine thread. semantics.md, sections 2 and 3.
#pragma once
#include "core/parts/kinds.h"
#include "core/parts/reviser.h"

namespace kvlab {

class PlainKind : public CacheKind {
 public:
  KindSizes sizes(const Manifest& manifest, const ModelConfig& config) const override;
  Status open(const SessionParts& parts) override;
  void start(const SessionParts& parts, CacheState& state) const override;
  Status allows(const SessionParts& parts, Capability capability, const char* what) const override;
  std::vector<std::unique_ptr<Reviser>> revisers() const override;
  std::int64_t remaining(const SessionParts& parts, const CacheState& state) const override;
  Result<EditPlan> plan(const SessionParts& parts, const CacheState& state, std::vector<Action> actions) const override;
  Result<Applied> apply(const CacheState& observed, TickPart& part, CallContext& call) override;
  Result<Rebuilt> rebuild(const CacheState& state, CallContext& call) override;
  Result<RowPair> rebuiltRow(const CacheState& state, CacheLayer layer, LedgerId id, CallContext& call) override;
  Result<Drift> drift(const CacheState& state, CallContext& call) override;
  ExactnessMap exactness(const SessionParts& parts, const CacheState& state) const override;
  std::vector<Exactness> lastExactness(const SessionParts& parts, const CacheState& state) const override;
};

/// Serves manifests without settings of another kind.
KindInfo plainKind();

}  // namespace kvlab
