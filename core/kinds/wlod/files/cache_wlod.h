// SPDX-License-Identifier: Apache-2.0
// Contents of a native cache file of a wLOD session besides rows (since version 3). Tensors, with t = moments, N = t /
// 32^level, e = entries, r = rows in order of arrival:
//   tree.tokens I32 [t]   tree.{level}.names I32 [N] (-1 = none)   tree.{level}.gists F32 [N, hidden], of levels 1 and
//   2 entries.nodes I64 [e]   entries.changed I32 [e] (round of the last edit, -1 = none) entries.mass F64 [e] and
//   entries.scores F64 [e], if the lens has them arrivals.stale U8 [r], if `selective` or `keep` has left rows as they
//   were
// The manifest's "wlod" is null in other sessions, else {settings, round, since_round}. Rows, their order and their
// phases follow from tree and entries. The file holds neither past rounds nor the last change, neither rules that steer
// later edits nor measured costs: these are the session's own. Values; any thread.
#pragma once
#include "core/files/kind_file.h"
#include "core/kinds/wlod/state/wlod_state.h"

namespace kvlab {

class WlodFile : public KindFile {
 public:
  /// rules: of the session; settings: those that rows and entries depend on.
  WlodFile(WlodRules rules, nlohmann::json settings) : m_rules(std::move(rules)), m_settings(std::move(settings)) {}

  std::string key() const override { return "wlod"; }
  nlohmann::json settings() const override { return m_settings; }
  nlohmann::json describe(const CacheState& state) const override;
  void add(ColumnsOut& out, const CacheState& state) const override;
  Result<std::shared_ptr<const KindState>> read(ColumnsIn& in, const nlohmann::json& own, const std::string& path,
                                                const CacheTarget& target,
                                                const std::vector<LedgerRow>& ledger) const override;
  Status checkContext(const KindState& state, const CacheImport& rows, const ColumnsIn& in) const override;
  Status checkGroup(const KindState& state, const std::string& prefix, std::span<const std::int32_t> ids,
                    std::span<const std::int32_t> phases, const ColumnsIn& in) const override;

 private:
  const WlodRules m_rules;
  const nlohmann::json m_settings;
};

}  // namespace kvlab
