#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sweeps in shards from outside: exit codes, signals, states, and what goes to sbatch, which is a script here.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*" >&2; cat "$work/said" >&2; exit 1; }
run() {  # CODE WORDS...: runs kvlab sweep, its output in $work/said
  local wanted=$1 code=0; shift
  "$KVLAB" sweep "$@" >"$work/said" 2>&1 </dev/null || code=$?
  [[ $code == "$wanted" ]] || fail "kvlab sweep $*: exit code $code, expected $wanted"
}
says() { for text in "$@"; do grep -qE -- "$text" "$work/said" || fail "nothing matches $text"; done; }

cat >"$work/spec.json" <<'JSON'
{"name": "small parts", "base": {"model": "demo"}, "seeds": [1, 2, 3], "measure": ["recall", "bytes"],
 "axes": [{"name": "policy", "key": "policy", "values": ["h2o", "streaming_llm"]},
          {"name": "budget", "budget": "ratio", "values": [0.25, 0.5]}],
 "prompts": [{"name": "short", "file": "resource:prompts/recall-256.json", "stories": 1, "questions": 1}]}
JSON
spec=$work/spec.json
run 0 "$spec" --dry-run --jobs 1 --out "$work/none"
says '^12 cells, [0-9]+ tokens, about .* s on this machine \(4 cells'
[[ ! -e $work/none ]] || fail "a dry run made a folder"
run 0 "$spec" --out "$work/whole"

# Wrong words.
run 2; says 'names no specification'
run 2 --merge "$work/a"; says '--out is missing'
run 2 "$spec" --shard 1/2 --slurm
run 2 "$spec" --array 2
run 2 --status "$work/a" "$spec"
run 2 "$spec" -- --mem=1G; says 'only kvlab run, train and sweep --slurm'
run 3 "$spec" --shard 3/2; says '3/2 is no shard'
run 3 "$spec" --shard 1/4 --out "$work/a"; says '3 such groups for 4 shards'
run 3 --status "$work/nothing"; says 'there is no sweep'

# Shards, and a merge.
run 0 "$spec" --shard 1/2 --out "$work/a"; says '8 cells, .* once all shards are merged'
run 3 --merge "$work/a" --out "$work/merged"; says '4 of 12 cells are missing: cell 4 \(short, h2o, .* of shard 2/2'
run 0 "$spec" --shard 2/2 --out "$work/b"
run 3 "$spec" --shard 1/2 --out "$work/b" --resume; says 'shard is not what the journal was begun with'
run 0 --merge "$work/a" "$work/b" --out "$work/merged"; says '^12 cells'
for name in results.jsonl results.csv summary.csv pareto.svg; do
  cmp "$work/whole/$name" "$work/merged/$name" || fail "$name of the merge"
done

# A signal of a queue asks for more time, and Ctrl+C does not; finished cells stay.
sed 's/"stories": 1, "questions": 1/"stories": 8/; s/0.25, 0.5/0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9/' "$spec" >"$work/long.json"
for signal in TERM:75 USR1:75 INT:1; do
  folder=$work/signal-${signal%:*} code=0
  env --default-signal=INT "$KVLAB" sweep "$work/long.json" --jobs 2 --out "$folder" >"$work/said" 2>&1 &
  child=$!
  until [[ -e $folder/journal.jsonl ]] && (($(wc -l <"$folder/journal.jsonl") > 1)); do
    kill -0 "$child" || fail "the sweep has ended"
    sleep 0.1
  done
  "$KVLAB" sweep --status "$folder" | grep -q 'running$' || fail "--status of a running sweep"
  kill -"${signal%:*}" "$child"
  wait "$child" || code=$?
  [[ $code == "${signal#*:}" ]] || fail "SIG${signal%:*}: exit code $code"
  says 'the sweep was stopped: [0-9]+ of 54 cells are done; go on with --resume'
  run 0 --status "$folder"; says '^1/1 +[0-9]+/54 +0  20[0-9-]+ [0-9:]+ +stopped$'
done

# Files for Slurm. sbatch is not found first, and then a script that keeps its words.
nothing=$work/bin-none && mkdir "$nothing"
code=0; PATH=$nothing "$KVLAB" sweep "$spec" --slurm --out "$work/out" >"$work/said" 2>&1 || code=$?
((code == 0)) || fail "without sbatch: exit code $code"
says 'wrote shards.sbatch \(3 of 3 shards' 'nothing was submitted: this machine has no sbatch'
bash -n "$work/out/shards.sbatch" && bash -n "$work/out/merge.sbatch" || fail "scripts that bash cannot read"
mkdir "$work/bin"
cat >"$work/bin/sbatch" <<'SH'
#!/bin/sh
echo "$*" >>"$SBATCH_WORDS"
[ -z "$SBATCH_FAILS" ] || { echo "sbatch: error: no such partition" >&2; exit 1; }
echo "4$(wc -l <"$SBATCH_WORDS");cluster"
SH
chmod +x "$work/bin/sbatch"
export SBATCH_WORDS=$work/words SBATCH_FAILS= PATH=$work/bin:$PATH
out="$work/o'ut 100% \"x\""
run 0 "$spec" --slurm --array 3 --jobs 2 --partition p1 --time 1:00 --out "$out" -- --mem=1G
says '^array 41: 3 of 3 shards' '^merge 42: results in '
[[ $(cat "$work/words") == "--parsable --mem=1G $out/shards.sbatch
--parsable --dependency=afterok:41 --kill-on-invalid-dep=yes --mem=1G $out/merge.sbatch" ]] || fail "$(cat "$work/words")"
grep -q '^#SBATCH --job-name=kvlab-small_parts$' "$out/shards.sbatch" && grep -q '^#SBATCH --cpus-per-task=2$' "$out/shards.sbatch" ||
  fail "directives"
# The tasks themselves, with scontrol as Slurm's words: a task that is stopped is queued again once.
printf '#!/bin/sh\necho "$*" >>%s\n[ "$1" != show ] || echo JobState=RUNNING\n[ "$1" != requeue ] || kill $PPID\n' "$work/control" >"$work/bin/scontrol"
chmod +x "$work/bin/scontrol"
for task in 1 2; do SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=7 bash "$out/shards.sbatch" >"$work/said" 2>&1 || fail "task $task"; done
run 0 --status "$out"; says '^1/3 +4/4 .* finished$' '^3/3 +0/\? +0  - +not begun$'
run 2 "$spec" --slurm --out "$out"; says 'holds a shard of a sweep'
run 3 "$spec" --slurm --array 2 --out "$out" --resume; says 'holds shard 1/3, not 1/2'
SBATCH_FAILS=1 run 3 "$spec" --slurm --out "$out" --resume; says 'sbatch ended with code 1' 'no such partition'
run 0 "$spec" --slurm --out "$out" --resume --json; says '"open": \[' '"array": "44"'
grep -q '^#SBATCH --array=3$' "$out/shards.sbatch" || fail "another array than 3"
SLURM_ARRAY_TASK_ID=3 SLURM_JOB_ID=7 bash "$out/shards.sbatch" >"$work/said" 2>&1 || fail "task 3"
[[ ! -e $work/control ]] || fail "a finished task asked for a requeue"
bash "$out/merge.sbatch" >"$work/said" 2>&1 || fail "the merge"
cmp "$work/whole/results.jsonl" "$out/results.jsonl" || fail "the merge's bytes"
echo "sweep_shards: all as promised"
