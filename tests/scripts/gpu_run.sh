#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tests/gpu/run makes of a pack whose programs only act: its table, its JSON of figures, its exit code and its time
# limits, without a GPU.
set -uo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
pack=$work/pack
mkdir -p "$pack"/{bin,lib,libc,tests,data,sanitizer} "$work/bin"
program() { { echo '#!/usr/bin/env bash'; cat; } >"$1" && chmod +x "$1"; }

program "$work/bin/nvidia-smi" <<'F'
echo "NVIDIA \"Test\" 9000, 580.1, 8192, 9.0"
F
program "$pack/bin/kvlab" <<'F'
[[ -z ${OLD_MACHINE:-} || -n ${LOADED:-} ]] || exit 1
case $1 in
  --version) echo "kvlab 0" ;;
  info) echo "model x"; echo "backend cuda:0 not available: ${CUDA_SAYS:-old}"
    [[ -n ${CUDA_SAYS:-} ]] || echo "backend cuda:1 runs on NVIDIA Test" ;;
  run) exit "${AGREES:-0}" ;;
  bench) while [[ $1 != --json ]]; do shift; done; echo '{"rows": [{"median": 1.5}]}' >"$2" ;;
esac
F
program "$pack/bin/bench" <<'F'
[[ $1 != "${BROKEN_BENCH:-}" ]] || { echo "kvlab: error: out of \"memory\""; exit 3; }
while [[ $1 != --json ]]; do shift; done
echo '{"rows": []}' >"$2"
F
program "$pack/bin/kernels_tests" <<'F'
[[ -n $KVLAB_REAL_DEVICE && $KVLAB_CUDA_MODULE == */kvlab_cuda.so ]] || exit 4
[[ -z ${ENDLESS:-} ]] || sleep 100
case $1 in
  "${FAILS:-}") echo "PASS   : a"; echo $'FAIL!  : Ops::bits(linear "f32")\tCompared\\values'; echo "Totals: 3 passed, 1 failed, 0 skipped, 0 blacklisted, 5ms"; exit 1 ;;
  "${SKIPS:-}") echo "SKIP   : Ops::initTestCase() no device"; echo "Totals: 2 passed, 0 failed, 1 skipped, 0 blacklisted, 5ms" ;;
  "${DIES:-}") echo "QFATAL : Ops::bits() CUDA: illegal address"; kill -9 $$ ;;
  *) echo "Totals: 9 passed, 0 failed, 1 skipped, 0 blacklisted, 5ms" ;;
esac
F
program "$pack/sanitizer/compute-sanitizer" <<'F'
[[ $1 != --version ]] || { echo "Version 1.2"; exit; }
tool=$2
while [[ $1 != */bin/* ]]; do shift; done
[[ $1 == */kernels_tests ]] || exit 5
[[ $tool != "${BLIND:-}" ]] || { echo "========= Error: couldn't find exit code."; exit 0; }
"$@" || code=$?
[[ $tool != "${FINDS:-}" ]] || { echo "========= Invalid __global__ read of size 4 bytes"; echo "========= ERROR SUMMARY: 1 error"; exit 9; }
[[ $tool == racecheck ]] && echo "========= RACECHECK SUMMARY: 0 hazards displayed" || echo "========= ERROR SUMMARY: 0 errors"
exit "${code:-0}"
F
program "$pack/libc/ld-linux-x86-64.so.2" <<'F'
shift 2
LOADED=1 exec "$@"
F
touch "$pack/lib/libcudart.so.13"
printf 'kernels/a_test 60\nkernels/b_test 60\n' >"$pack/tests/list"
echo a_test b_test >"$pack/tests/sanitized"
echo "$work/elsewhere/tree" >"$pack/source"
echo 0123abc >"$pack/commit"
cp "$source/tests/gpu/run" "$pack/run"

# start NAME EXIT SETTINGS...
start() {
  local name=$1 wanted=$2 code
  shift 2
  rm -rf "$work/out"
  env PATH="$work/bin:/usr/bin:/bin" "$@" "$pack/run" "$work/out" >"$work/said" 2>&1 </dev/null
  code=$?
  # shellcheck disable=SC2053
  [[ $code == $wanted ]] || { echo "$name: exit $code, expected $wanted"; cat "$work/said"; failures=$((failures + 1)); }
}
# holds EXPRESSION: true of the figures `f`; `r` has the result of each part by name.
holds() {
  python3 - "$work/out/figures.json" "$1" <<'P' || failures=$((failures + 1))
import json, sys
f = json.load(open(sys.argv[1]))
r = {p["name"]: p["result"] for p in f["parts"]}
p = {p["name"]: p for p in f["parts"]}
if not eval(sys.argv[2]):
    sys.exit(f"not so: {sys.argv[2]}\n{json.dumps(f, indent=1)}")
P
}
wants() { grep -qE -- "$2" "$work/out/$1" || { echo "$1 lacks: $2"; cat "$work/out/$1"; failures=$((failures + 1)); }; }

start good 0
holds 'set(r.values()) == {"passed"} and f["failures"] == 0 and len(r) == 17'
holds 'f["device"] == {"name": "NVIDIA \"Test\" 9000", "driver": "580.1", "memory_mib": 8192, "capability": "9.0"}'
holds 'f["says"] == "backend cuda:1 runs on NVIDIA Test"'
holds 'f["commit"] == "0123abc" and f["date"][:2] == "20" and f["sanitizer"] == "Version 1.2" and f["seconds"] < 30'
holds 'p["kernels/a_test"]["passed"] == 9 and p["kernels/a_test"]["seconds"] < 5'
holds 'f["benches"]["generate"] == {"rows": [{"median": 1.5}]} and len(f["benches"]) == 5'
wants table.txt '^tests +kernels/a_test +[0-9.]+ s  passed$'
[[ $(find "$work/out" -type f | wc -l) == 3 ]] || { echo "not three files"; failures=$((failures + 1)); }
[[ -L $work/elsewhere/tree ]] || { echo "the data of the tests are not where they look"; failures=$((failures + 1)); }

# The tests fail by themselves, and once more in each tool.
start faults 12 FAILS=a_test SKIPS=b_test BLIND=initcheck AGREES=1 BROKEN_BENCH=depth
holds 'r["kernels/a_test"] == "failed" and r["kernels/b_test"] == "skipped" and r["backends_agree.js"] == "failed"'
holds 'p["kernels/a_test"]["why"].startswith("FAIL!  : Ops::bits(linear \"f32\")")'
holds 'r["initcheck a_test"] == r["initcheck b_test"] == "failed" and r["depth"] == "failed" and r["tick"] == "passed"'
wants table.txt 'FAILED  FAIL!  : Ops::bits'
wants messages.txt 'no device'

start findings 2 FINDS=memcheck
holds 'r["memcheck a_test"] == "failed" and "Invalid __global__ read" in p["memcheck a_test"]["why"]'
holds 'r["racecheck a_test"] == "passed"'

start killed 5 DIES=b_test
holds 'r["kernels/b_test"] == "failed" and "illegal address" in p["kernels/b_test"]["why"]'

start no_device 1 CUDA_SAYS="no NVIDIA driver is installed"
holds 'len(r) == 1 and r["kvlab info"] == "failed" and "no NVIDIA driver" in f["says"]'

start loader 0 OLD_MACHINE=1

begin=$SECONDS
# The tests and tools, and on a slow machine some of the benchmarks behind them.
start endless '1[1-6]' ENDLESS=1 KVLAB_GPU_HASTE=100
holds '{r[n] for n in r if "_test" in n} <= {"out of time", "not run"}'
((SECONDS - begin < 40)) || { echo "the limits took $((SECONDS - begin)) s"; failures=$((failures + 1)); }

((failures == 0)) && echo ok
exit "$((failures > 0))"
