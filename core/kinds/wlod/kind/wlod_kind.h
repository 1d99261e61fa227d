// SPDX-License-Identifier: Apache-2.0
// The wLOD kind: a tree over a time line, and a working context of tokens and gists. The state of the session is
// wlodIn(state); context, phases and maps are derived from it (edit/wlod_mirror). Exactness labels of its rows. Engine
// thread. semantics.md, section 8.
#pragma once
#include "core/analysis/exactness.h"
#include "core/kinds/wlod/kind/wlod_parts.h"
#include "core/kinds/wlod/state/wlod_state.h"
#include "core/parts/cache_kind.h"

namespace kvlab {

class WlodKind : public CacheKind {
 public:
  KindSizes sizes(const Manifest& manifest, const ModelConfig& config) const override;
  void share(const Manifest& wanted, const CacheKind& other) override;
  Status open(const SessionParts& parts) override;
  void start(const SessionParts& parts, CacheState& state) const override;
  Status allows(const SessionParts& parts, Capability capability, const char* what) const override;
  std::vector<std::unique_ptr<Reviser>> revisers() const override;
  /// Before blocks collapse to make room for more.
  std::int64_t remaining(const SessionParts& parts, const CacheState& state) const override {
    return parts.capacity - state.length();
  }
  Result<EditPlan> plan(const SessionParts& parts, const CacheState& state, std::vector<Action> actions) const override;
  Result<Applied> apply(const CacheState& observed, TickPart& part, CallContext& call) override;
  Result<Applied> evict(Applied applied, std::vector<Action> evictions, const TransactionRules& rules,
                        CallContext& call) override;
  Result<RowsBrought> look(const CacheState& state, const QueryPass& pass, const TransactionRules& rules,
                           CallContext& call) override;
  Result<Rebuilt> rebuild(const CacheState& state, CallContext& call) override;
  Result<RowPair> rebuiltRow(const CacheState& state, CacheLayer layer, LedgerId id, CallContext& call) override;
  Result<Drift> drift(const CacheState& state, CallContext& call) override;
  /// As long as no row has left a layer, all rows are exact but those that a file brought, those that `selective` left
  /// as they were, and all rows after these. semantics.md, section 9.
  ExactnessMap exactness(const SessionParts& parts, const CacheState& state) const override;
  std::string notice() const override;
  void describe(const CacheState& state, Snapshot& snapshot) const override;

  /// The settings that rows and entries depend on are those that a file must share.
  std::shared_ptr<const KindFile> file(const CacheState& state) const override;
  const Lens& lens() const { return m_parts->lens; }
  /// Blocks to collapse behind the pending actions, the weakest first, until a gist's children fit into the budget;
  /// none if they fit. Error over_budget: no blocks but those that hold the gist are left.
  Result<std::vector<TreeNode>> roomFor(TreeNode gist, const CacheState& state,
                                        const std::vector<Action>& pending) const;
  /// Estimated recomputing costs, from passes measured on this machine.
  RecomputeCosts costs(const CacheState& state) const { return m_parts->costs.costs(wlodIn(state).rules.costs); }

 private:
  WlodTransaction transaction(CallContext& call) const;
  WlodMirrorRules mirrorRules(const SessionParts& parts, double memory) const;
  Result<WlodApplied> rebuilt(const CacheState& state, CallContext& call);
  Result<Applied> commitOf(const CacheState& before, WlodApplied applied, CallContext& call,
                           const WlodMirrorRules& rules) const;

  WlodSettings m_settings;
  std::optional<WlodParts> m_parts;  // set by open()
};

/// Error (bad_manifest) that names a manifest key which does not combine with a working context.
Status wlodPossible(const SessionParts& parts);
/// Loads the gist network and the lens. Errors: bad_manifest, bad_gist_net, those of the files.
Result<WlodParts> openWlod(const SessionParts& parts, const WlodSettings& settings);

}  // namespace kvlab
