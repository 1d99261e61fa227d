// SPDX-License-Identifier: GPL-3.0-or-later
// A believable wLOD session by formula: a story told over and over for 3000 moments, a budget of 300 entries, pyramid
// attention. Two snapshots: before and after the expansion of LOD1 [1728, 1760) by the third round of the allocator.
// The rules (tiling, summaries, dirty rows of an edit) are those of semantics.md, section 8, written a second time.
#pragma once
#include "core/api/wlod_view.h"
#include "fixture_session.h"

namespace kvlab::fixture {

constexpr std::int32_t kExpanded = 1728, kBudget = 300;
constexpr std::int32_t kGistsEnd = 2912, kProtected = 64;

/// Rows in order of arrival: entries, and behind them the complete nodes under which every entry is finer.
std::vector<WlodRow> rowsOf(const std::vector<TreeNode>& entries);

/// LOD2 over the first 1024 moments, LOD1 up to 2912 except for the opened blocks, tokens behind.
std::vector<TreeNode> tilingOf(std::int32_t moments, const std::vector<std::int32_t>& opened);
FocusDecision decision(TreeNode node, bool expand, double score, const char* code, std::string reason);
std::vector<std::shared_ptr<const FocusRound>> roundsUpTo(std::int64_t tick);
std::shared_ptr<const WlodChange> expansionChange(const std::vector<WlodRow>& before, const std::vector<WlodRow>& after,
                                                  std::int64_t tick);
std::shared_ptr<const WlodView> wlodView(std::int32_t moments, bool expanded);

/// A snapshot of the view: its tokens and gists in the ledger, its entries as the context.
SnapshotPtr wlodSnapshot(std::shared_ptr<const WlodView> wlod, std::int64_t tick, std::uint64_t serial);

/// Before (tick 40) and after (tick 41) the expansion; `broken`: with a wrong checksum in the row of entry 12.
std::vector<SnapshotPtr> wlodHistory(bool broken = false);

}  // namespace kvlab::fixture
