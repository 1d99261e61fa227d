// SPDX-License-Identifier: Apache-2.0
// Which shard of a sweep runs which cells. Pure functions; any thread.
#pragma once
#include <string>

#include "core/api/sweep_table.h"

namespace kvlab {

struct SweepCell;
struct SweepSpec;

/// "2/4". Error: bad_shard.
Result<SweepShard> parseShard(const std::string& text);
/// Groups of cells that share a reference run: prompt sets times seeds.
int sweepGroups(const SweepSpec& spec);
/// The shard of `count` that runs a cell, from 1.
int shardOf(const SweepSpec& spec, const SweepCell& cell, int count);
/// Error (bad_shard): the sweep has fewer groups than shards.
Status checkShard(const SweepSpec& spec, const SweepShard& shard);

}  // namespace kvlab
