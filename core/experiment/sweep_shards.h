// SPDX-License-Identifier: Apache-2.0
// A sweep in parts. Each shard is a process with a folder and a journal of its own, on one machine or on several; a
// merge makes the files of a whole sweep of the journals, byte for byte those of a single run. Functions know shards by
// their journals alone: no model is opened, no queue is asked. Any thread.
//
// A folder that holds shard-1, shard-2, .. stands for these.
#pragma once
#include <string>
#include <vector>

#include "core/api/sweep_table.h"

namespace kvlab {

/// What a sweep in shards is before it runs.
struct SweepPlan {
  std::string name, spec;       // spec: absolute path of the file, or the name of a shipped sweep
  std::string out;              // absolute
  int groups = 0;               // most shards
  std::vector<int> cells = {};  // [shards]
};
/// options: out, folder, resources. shards = 0: one per group, but 1000 at most. Errors: bad_sweep, bad_shard.
Result<SweepPlan> planSweep(const std::string& file, SweepOptions& options, int shards);

/// Folder of a shard, OUT/shard-I.
std::string shardFolder(const std::string& out, int index);

struct ShardState {
  std::string folder;
  SweepShard shard;
  std::int64_t done = 0, cells = -1, failed = 0;  // cells: -1 = not known before it begins
  double last = -1;                               // when the journal was written last, seconds since 1970; -1 = never
  bool running = false;                           // a process holds the journal
  bool finished() const { return cells >= 0 && done >= cells; }
};
/// The shards in `folder`, or the sweep that it holds itself. Errors: bad_file (there is none), bad_journal.
Result<std::vector<ShardState>> shardStates(const std::string& folder);

/// Merges shards into `out`, which gets the files of a whole sweep, its journal among them. A cell may stand in several
/// folders with the same content. An `out` that holds a merge of the same sweep is written anew. Errors: bad_file,
/// bad_journal; shards_differ, naming two folders and what differs: specification, model, prompts, arithmetic, or a
/// cell; missing_cells, naming them; sweep_exists, `out` holds something else.
Result<SweepOutcome> mergeSweeps(const std::vector<std::string>& folders, const std::string& out);

}  // namespace kvlab
