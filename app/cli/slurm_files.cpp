// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/slurm_files.h"

namespace kvlab {

namespace {

/// One word of bash.
std::string word(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    if (c == '\'') out += "'\\''";
    else out += c;
  return out + "'";
}

/// A path in a directive of sbatch, which knows %a and \ as signs.
std::string outputPath(const std::string& folder, const std::string& rest) {
  std::string out = "\"";
  for (const char c : folder) {
    if (c == '%') out += '%';
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + rest + "\"";
}

/// Name of a job: sbatch breaks a directive at blanks.
std::string jobName(const std::string& name) {
  std::string out = "kvlab-";
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    out += plain ? c : '_';
  }
  return out;
}

std::string directive(const std::string& option) { return "#SBATCH --" + option + "\n"; }

std::string commonDirectives(const SlurmJob& job) {
  return directive("nodes=1") + directive("ntasks=1") +
      (job.partition.empty() ? "" : directive("partition=" + job.partition));
}

/// "1-4" or "2,4".
std::string arrayOf(const SlurmJob& job) {
  if (static_cast<int>(job.open.size()) == job.shards) return "1-" + std::to_string(job.shards);
  std::string out;
  for (const int one : job.open) out += (out.empty() ? "" : ",") + std::to_string(one);
  return out;
}

constexpr const char* kTask = R"(folder=$out/shard-$SLURM_ARRAY_TASK_ID
journal=$folder/journal.jsonl
lines() { if [[ -e $journal ]]; then wc -l <"$journal"; else echo 0; fi; }
mkdir -p "$folder"
before=$(lines)
"${sweep[@]}" --shard "$SLURM_ARRAY_TASK_ID/$shards" --out "$folder" --resume &
child=$!
asked=
trap 'asked=1; kill -TERM "$child" 2>/dev/null' TERM USR1
wait "$child"; code=$?
while ((code > 128)) && kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
if [[ $asked ]] && ((code > 128)); then wait "$child"; again=$?; ((again == 127)) || code=$again; fi
trap '' TERM USR1
((code == 75)) || exit "$code"
if (($(lines) <= before && ${SLURM_RESTART_COUNT:-0} >= 3)); then
  echo "no cell was finished, and the task was queued again three times already: give a longer --time" >&2
elif [[ $(scontrol show job "$SLURM_JOB_ID" -o) == *JobState=RUNNING* ]]; then  # nobody cancelled it
  scontrol requeue "$SLURM_JOB_ID" && sleep 60
fi
exit "$code"
)";

}  // namespace

std::string arrayScript(const SlurmJob& job) {
  std::string out = "#!/bin/bash\n# A shard of the sweep per task; kvlab sweep --slurm wrote this file.\n";
  out += directive("job-name=" + jobName(job.name)) + directive("array=" + arrayOf(job)) + commonDirectives(job);
  if (!job.time.empty()) out += directive("time=" + job.time);
  out += directive("cpus-per-task=" + std::to_string(job.jobs));
  out += directive("output=" + outputPath(job.out, "/shard-%a/slurm.log")) + directive("open-mode=append");
  out += directive("requeue") + directive("signal=B:USR1@60");
  out += "out=" + word(job.out) + "\nshards=" + std::to_string(job.shards) + "\n";
  out += "sweep=(" + word(job.program) + " sweep " + word(job.spec) + " --jobs " + std::to_string(job.jobs);
  if (!job.policyModule.empty()) out += " --policy-module " + word(job.policyModule);
  return out + ")\n" + kTask;
}

std::string mergeScript(const SlurmJob& job) {
  std::string out = "#!/bin/bash\n# The merge of the shards; kvlab sweep --slurm wrote this file.\n";
  out += directive("job-name=" + jobName(job.name) + "-merge") + commonDirectives(job);
  out += directive("output=" + outputPath(job.out, "/merge.log")) + directive("open-mode=append");
  return out + "exec " + word(job.program) + " sweep --merge " + word(job.out) + " --out " + word(job.out) + "\n";
}

}  // namespace kvlab
