// SPDX-License-Identifier: GPL-3.0-or-later
// The two files that sbatch takes: an array of shards, a task each, and the merge that waits for it. Texts for bash;
// pure functions of their arguments.
//
// A task stops at SIGTERM, and at SIGUSR1, which Slurm sends a minute before the time limit. Its program then ends with
// exit code 75, and the task asks Slurm for a requeue, unless somebody cancelled the job. A task that was requeued
// three times without one more cell fails.
#pragma once
#include <string>
#include <vector>

namespace kvlab {

struct SlurmJob {
  std::string program, spec, out;  // absolute paths; spec may be the name of a shipped sweep
  std::string name;                // of the sweep
  std::string partition, time;     // empty = the cluster's default
  std::string policyModule;        // absolute path; empty = none
  int shards = 1;
  int jobs = 1;           // threads that run cells in a task, and its CPUs
  std::vector<int> open;  // shards to run
};

std::string arrayScript(const SlurmJob& job);
std::string mergeScript(const SlurmJob& job);

}  // namespace kvlab
