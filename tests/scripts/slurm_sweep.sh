#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep in four shards on a real Slurm, which this script unpacks from Debian's packages into a folder of its own, without
# systemd, munge or installing anything. One shard is killed, one is stopped by SIGTERM and requeued; the merged files are
# those of a single run. KVLAB names the program. Exit code 77: no packages, or not root.
set -euo pipefail
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL: $*" >&2; show; exit 1; }
((EUID == 0)) || skip "slurmctld and slurmd are started as root here"
command -v apt-get dpkg-deb >/dev/null || skip "no apt-get"
cache=${SLURM_DEBS:-${XDG_CACHE_HOME:-$HOME/.cache}/kvlab-slurm}
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
show() {
  tail -n 5 "$work"/*.log "$out"/*.log "$out"/shard-*/slurm.log 2>/dev/null || true
  "$KVLAB" sweep --status "$out" || true
  squeue -a || true
}
within() {  # SECONDS WORDS...: until the words succeed
  local end=$((SECONDS + $1)); shift
  until "$@"; do ((SECONDS < end)) || return 1; sleep 0.2; done
}

# --- Slurm ---------------------------------------------------------------------------------------------------------
packages=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins libmunge2 libhwloc15 liblua5.1-0)
mkdir -p "$cache"
for one in "${packages[@]}"; do
  compgen -G "$cache/${one}_*.deb" >/dev/null || (cd "$cache" && apt-get download "$one" >"$work/apt.log" 2>&1) ||
    skip "the package $one cannot be loaded: $(tail -n 1 "$work/apt.log")"
  dpkg-deb -x "$cache/${one}"_*.deb "$work/slurm"
done
lib=$(dirname "$(find "$work/slurm" -name 'libslurmfull.so' | head -n 1)")
# Commands of Slurm find their libraries without passing LD_LIBRARY_PATH on to what they start.
mkdir "$work/bin" "$work/state" "$work/spool"
for program in "$work"/slurm/usr/bin/s* "$work"/slurm/usr/sbin/slurm*; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s:%s exec %s "$@"\n' "$lib" "$(dirname "$lib")" "$program" \
    >"$work/bin/$(basename "$program")"
done
chmod +x "$work"/bin/*
host=$(hostname -s)
port=$((20000 + $$ % 20000))
export SLURM_CONF=$work/slurm.conf PATH=$work/bin:$PATH
cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_res
SelectTypeParameters=CR_CPU
ReturnToService=2
MinJobAge=60
KillWait=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES State=UP
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
PluginDir=$lib
CONF
export LD_LIBRARY_PATH=$lib:$(dirname "$lib")  # the two processes load plugins, and start slurmstepd
"$work/slurm/usr/sbin/slurmctld-wlm" -c -D -f "$SLURM_CONF" >"$work/ctld.log" 2>&1 &
pids+=($!)
"$work/slurm/usr/sbin/slurmd-wlm" -D -f "$SLURM_CONF" -d "$work/slurm/usr/sbin/slurmstepd-wlm" >"$work/slurmd.out.log" 2>&1 &
pids+=($!)
unset LD_LIBRARY_PATH
out=$work/out
idle() { [[ $(sinfo -h -o %T 2>/dev/null) == idle ]]; }
within 60 idle || fail "Slurm did not start"

# --- a single run, and the shards ------------------------------------------------------------------------------------
cat >"$work/spec.json" <<'JSON'
{"name": "small", "base": {"model": "demo"},
 "axes": [{"name": "policy", "key": "policy", "values": ["h2o", "snapkv", "streaming_llm"]},
          {"name": "budget", "budget": "ratio", "values": [0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7]}],
 "seeds": [1, 2], "measure": ["recall", "kl", "bytes"],
 "prompts": [{"name": "short", "file": "resource:prompts/recall-256.json", "stories": 8, "questions": 3},
             {"name": "seen", "file": "resource:prompts/recall-256.json", "ask": "inside", "stories": 8, "questions": 3}]}
JSON
"$KVLAB" sweep "$work/spec.json" --out "$work/single" 2>"$work/single.log" || fail "the single run"
"$KVLAB" sweep "$work/spec.json" --slurm --array 4 --partition test --time 10 --out "$out" --dry-run >"$work/dry.log"
[[ -s $out/shards.sbatch && -s $out/merge.sbatch && -z $(squeue -h) ]] || fail "a dry run submits, or writes nothing"
array=$("$KVLAB" sweep "$work/spec.json" --slurm --array 4 --partition test --time 10 --out "$out" -- --comment=test |
  tee "$work/submit.log" | sed -n 's/^array \([0-9]*\):.*/\1/p')
[[ $array ]] || fail "no array: $(cat "$work/submit.log")"
cells() { if [[ -e $out/shard-$1/journal.jsonl ]]; then echo $(($(wc -l <"$out/shard-$1/journal.jsonl") - 1)); else echo 0; fi; }
begun() { (($(cells "$1") >= 1)); }
within 120 begun 2 || fail "shard 2 does not begin"
kill -9 "$(pgrep -f -- "--out $out/shard-2 ")" || fail "shard 2 ended before it was killed"
within 120 begun 3 || fail "shard 3 does not begin"
scancel --batch --signal=TERM "${array}_3"
state() { "$KVLAB" sweep --status "$out" | awk -v shard="$1/4" '$1 == shard { print $NF }'; }
finished() { [[ $(state "$1") == finished ]]; }
asked() { grep -q "the sweep was stopped" "$out/shard-3/slurm.log"; }
within 60 asked || fail "shard 3 was not stopped by SIGTERM"
for shard in 1 4 3; do within 240 finished $shard || fail "shard $shard is not finished"; done
(($(grep -c 'kvlab: sweep [1-9][0-9]*/24 ' "$out/shard-3/slurm.log") >= 24)) || fail "shard 3 was not requeued"
[[ $(state 2) == stopped ]] || fail "shard 2: $(state 2)"
[[ ! -e $out/results.csv ]] || fail "an incomplete sweep was merged"
code=0; "$KVLAB" sweep --merge "$out" --out "$work/merged" >"$work/merge.log" 2>&1 || code=$?
[[ $code == 3 ]] && grep -q 'cells are missing: cell .* of shard 2/4' "$work/merge.log" || fail "$code: $(cat "$work/merge.log")"

# --- resumed -----------------------------------------------------------------------------------------------------------
"$KVLAB" sweep "$work/spec.json" --slurm --partition test --out "$out" --resume | tee "$work/again.log"
grep -q '1 of 4 shards' "$work/again.log" || fail "other shards were submitted again"
merged() { [[ -e $out/timings.jsonl ]]; }
within 240 merged || fail "the merge did not run"
for name in results.jsonl results.csv summary.csv pareto.svg; do
  cmp "$work/single/$name" "$out/$name" || fail "$name differs from that of a single run"
done

# --- a shard of another sweep ------------------------------------------------------------------------------------------
rm -rf "$out/shard-4"
sed 's/"model": "demo"/"model": "demo", "dtype": "bf16"/' "$work/spec.json" >"$work/other.json"
"$KVLAB" sweep "$work/other.json" --shard 4/4 --out "$out/shard-4" 2>"$work/other.log" || fail "the other shard"
code=0; "$KVLAB" sweep --merge "$out" --out "$work/merged" >"$work/merge.log" 2>&1 || code=$?
[[ $code == 3 ]] && grep -q "the specification's base of .*/shard-1 is .* and that of .*/shard-4 is " "$work/merge.log" ||
  fail "merge of another sweep: $code $(cat "$work/merge.log")"
echo "slurm_sweep: four shards, one killed, one requeued, bytes equal"
