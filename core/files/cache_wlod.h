// SPDX-License-Identifier: Apache-2.0
// Contents of a native cache file of a wLOD session besides rows (since version 3). Tensors, with t = moments, N = t /
// 32^level, e = entries, r = rows in order of arrival:
//   tree.tokens I32 [t]   tree.{level}.names I32 [N] (-1 = none)   tree.{level}.gists F32 [N, hidden], of levels 1 and
//   2 entries.nodes I64 [e]   entries.changed I32 [e] (round of the last edit, -1 = none) entries.mass F64 [e] and
//   entries.scores F64 [e], if the lens has them arrivals.stale U8 [r], if `selective` has left rows as they were
// The manifest's "wlod" is null in other sessions, else {settings, round, since_round}. Rows, their order and their
// phases follow from tree and entries. The file holds neither past rounds nor the last change, neither rules that steer
// later edits nor measured costs: these are the session's own. Values; any thread.
#pragma once
#include "core/files/cache_columns.h"

namespace kvlab {

/// The manifest's "wlod".
nlohmann::json wlodJson(const CacheState& state, const nlohmann::json& settings);
void addWlod(ColumnsOut& out, const WlodState& state);
/// One checked state with the rules of `target`. Errors: bad_file, capacity.
Result<std::shared_ptr<const WlodState>> readWlod(ColumnsIn& in, const nlohmann::json& wlod, const std::string& path,
                                                  const CacheTarget& target, const std::vector<LedgerRow>& ledger);

}  // namespace kvlab
