#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The program from outside: its output, the stream, and its exit code. KVLAB names the program.
set -uo pipefail
work=$(mktemp -d)
fixtures=$(cd "$(dirname "${BASH_SOURCE[0]}")/../oracle/gguf" && pwd)
trap 'rm -rf "$work"' EXIT
failures=0
display=()  # set by `check`

# check NAME EXIT [PATTERN...] -- ARGUMENTS...: patterns are looked for in stdout and stderr together.
check() {
  local name=$1 wanted=$2 patterns=() code
  shift 2
  while [[ $1 != -- ]]; do patterns+=("$1"); shift; done
  shift
  env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM "${display[@]}" "$KVLAB" "$@" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  [[ $code == "$wanted" ]] || { echo "$name: exit $code, expected $wanted"; cat "$work/err"; failures=$((failures + 1)); }
  for pattern in "${patterns[@]}"; do
    grep -qE -- "$pattern" "$work/out" "$work/err" || {
      echo "$name: nothing matches $pattern"; cat "$work/out" "$work/err"; failures=$((failures + 1)); }
  done
  # One line of error, never a stack trace.
  if ((wanted != 0)); then
    [[ $(grep -c '^kvlab: error: ' "$work/err") == 1 ]] || { echo "$name: not exactly one error line"; cat "$work/err"; failures=$((failures + 1)); }
  fi
}

js() { printf '%s\n' "$2" >"$work/$1.js"; echo "$work/$1.js"; }

check version 0 '^kvlab [0-9]+\.[0-9]+' -- --version
check help 0 'replay' -- --help
for line in --version --help "list policies" info; do  # output that was not printed is no success
  "$KVLAB" $line >/dev/full 2>"$work/err"
  [[ $? == 3 ]] && grep -q 'the output was not written' "$work/err" || {
    echo "$line on a full disk: $(cat "$work/err")"; failures=$((failures + 1)); }
done
check unknown-verb 2 'frobnicate' -- frobnicate
check unknown-key 2 'frobnicate' -- info --set frobnicate=1
check sweep-no-file 3 'spec.json' -- sweep "$work/spec.json" --out "$work/s0"
cat >"$work/spec.json" <<'JSON'
{"name": "s", "base": {"model": "synthetic:tiny", "capacity": 64}, "axes": [{"name": "rows", "key": "kv", "values": [{"k": "f16"}, {"k": "int8"}]}],
 "prompts": [{"name": "p", "set": {"stories": [{"ids": [5, 6, 7, 8, 9], "questions": [{"ids": [4], "reply_ids": [3, 2], "deciding": 1, "needle_at": 2}]}]}}]}
JSON
sed 's/"prompts"/"promts"/' "$work/spec.json" >"$work/typo.json"
sed 's/"capacity": 64/"capacity": 2/' "$work/spec.json" >"$work/small.json"
check sweep-typo 3 'promts is not a known key' -- sweep "$work/typo.json" --out "$work/s1"
check sweep-jobs 2 'jobs' -- sweep "$work/spec.json" --jobs 0
check sweep-options 2 'base' -- sweep "$work/spec.json" --slurm --dry-run --model demo
check sweep 0 'sweep 2/2' '2 cells, 0 of them from before' -- sweep "$work/spec.json" --out "$work/s" --jobs 2
check sweep-again 2 'resume' -- sweep "$work/spec.json" --out "$work/s"
check sweep-resume 0 '2 of them from before' -- sweep "$work/spec.json" --out "$work/s" --resume
check sweep-changed 3 "specification's base" -- sweep "$work/small.json" --out "$work/s" --resume
check sweep-base 3 "specification's base" -- sweep "$work/spec.json" --out "$work/s" --resume --set capacity=99
check sweep-cell 0 'cell 1, question 0: p, ' 'no generated answers' -- sweep "$work/s" --cell 1
check sweep-cell-none 3 'there is no cell 2' 'name one from 0 to 1' -- sweep "$work/s" --cell 2
check sweep-cell-text 3 'write CELL or CELL:QUESTION' -- sweep "$work/s" --cell one
check sweep-cell-options 2 'cell' -- sweep "$work/s" --cell 1 --resume
check sweep-failed 1 'capacity' '2 of 2 cells failed' -- sweep "$work/small.json" --out "$work/s2"
# Training: refusals, and a recording that is made without PyTorch.
for i in {1..200}; do printf 'sentence %d of the text. ' "$i"; done >"$work/text.txt"
train=(train gates --model synthetic:tiny --text "$work/text.txt" --window 128 --work "$work/t")
# Refusals of kvlab compare; its other exit codes need caches: tests/python/test_compare.py and tests/unit/explain_test.cpp.
check compare-no-file 3 'no-such-cache' -- compare "$work/no-such-cache" --model demo
check compare-ids 2 'no list of token ids' -- compare "$work/no-such-cache" --model demo --ids 1,x
check compare-baseline 3 'no-such.json' -- compare "$work/no-such-cache" --model demo --baseline "$work/no-such.json"
check train-what 2 'heads' -- train heads --model demo --text "$work/text.txt"
check train-no-model 2 '--model' -- train gates --text "$work/text.txt"
check train-no-text 2 'text' -- train gates --model demo
check train-window 2 'window' -- "${train[@]}" --window 3
check train-short 3 'brief.js has [0-9]+ tokens, and training needs at least 1088' -- \
  train gates --model demo --text "$(js brief 'short')" --record-only --work "$work/t0"
check train-no-python 3 'nowhere/python does not start' 'python3 -m venv V && V/bin/pip install torch safetensors' -- "${train[@]}" --python /nowhere/python
[[ ! -e $work/t/recording.json ]] || { echo "train-no-python: something was recorded"; failures=$((failures + 1)); }
check train-gists-synthetic 3 'synthetic:tiny, which has no files' -- train gists --model synthetic:tiny --text "$work/text.txt"
check train-out 3 'text.txt/gates cannot be written' -- "${train[@]}" --out "$work/text.txt/gates"
check train-unknown-model 3 '/nowhere' -- train gates --model /nowhere --text "$work/text.txt" --record-only
check train-record 0 'windows recorded 1/' 'tokens in [0-9]+ windows, 0 of them from before' -- "${train[@]}" --record-only
check train-again 2 'resume' -- "${train[@]}" --record-only
check train-resume 0 'tokens in ([0-9]+) windows, \1 of them from before' -- "${train[@]}" --record-only --resume
check train-changed 3 'begun with rows 20480' -- "${train[@]}" --record-only --resume --rows 999
check list-invariants 0 '^mirror_length' -- list invariants
check list-json 0 '"id": "indirection"' -- list layouts --json
check list-verbs 0 '^step +n, tokens +commits +steps' '^lanesOpen +lanes' -- list verbs
check list-manifest 0 '^sampling.top_k +integer 0 .. [0-9]+ +0 ' '^layers\[\]\.match ' -- list manifest
check list-errors 0 '^bad_manifest ' -- list errors
check list-markdown 0 '^\| `paged` \|' -- list layouts --markdown
check info 0 'demo \(llama\)' 'KV cache' 'cuda not' -- info
check info-types 0 ', f16 \(8 tensors\), f32 \(3\), [0-9.]+ MiB$' -- info --model "$fixtures/words.gguf"
check info-dequantise 0 ', f16 \(8 tensors\), f32 \(3\) brought to f32, ' -- info --model "$fixtures/words.gguf" --set weights=dequantise
check info-missing 3 '/nowhere' -- info --model /nowhere
check info-json 0 '"numerics"' -- info --json
# On a platform with invisible windows, replay prints a capture: a missing capture is an error, and the program ends.
QT_QPA_PLATFORM=offscreen timeout 60 "$KVLAB" replay "$work/none.kvcap" --to 1 >"$work/out" 2>"$work/err" </dev/null
code=$?
[[ $code == 3 ]] && grep -q none.kvcap "$work/err" || { echo "replay-missing: exit $code"; cat "$work/err"; failures=$((failures + 1)); }
check list-benches 0 '^tick +a tick with all probes' -- list benches
check bench 0 '^tick +demo, depth 64 +probes_ratio +[0-9.]+ x ' 'bench tick: a tick with' -- bench tick --quick --json "$work/tick.json"
grep -q '"metric": "probes_sum_ratio"' "$work/tick.json" || { echo "bench: no figures in its file"; failures=$((failures + 1)); }
check bench-name 2 'benchmark frobs: no benchmark has that name; name some of: batch, calls, focus, .*, wlod' -- bench tick frobs
check bench-option 2 'frob' -- bench --frob
check bench-model 3 '/nowhere' -- bench generate --model /nowhere
check bench-file 3 'nowhere/tick.json' -- bench tick --quick --json /nowhere/tick.json
# Another folder of scripts: an error in one of them is reported with its place.
resources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../resources" && pwd)
mkdir -p "$work/own/bench" && ln -s "$resources"/{demo,scripts} "$work/own/" && ln -s "$resources/bench/parts" "$work/own/bench/"
printf '//\n// a plain figure\nbench.row("one", "figure", "x", [3, 1, 2]);\n' >"$work/own/bench/plain.js"
printf '//\n// nothing\nbench.row("one", "figure", "x", []);\n' >"$work/own/bench/nothing.js"
printf '//\n// broken\nbench.frob();\n' >"$work/own/bench/broken.js"
printf '//\n// a figure of its own making\nbench.rows.push({ case: "a", metric: "b", unit: "c", samples: [] });\n' >"$work/own/bench/odd.js"
KVLAB_RESOURCES=$work/own check bench-odd 3 'benchmark odd was stopped' -- bench odd
KVLAB_RESOURCES=$work/own check bench-own 0 '^plain +one +figure +2 x +1\.\.3\.\.3 \(3\)' 'bench plain: a plain figure' -- bench plain
KVLAB_RESOURCES=$work/own check bench-nothing 3 'one: figure was not measured' -- bench nothing
KVLAB_RESOURCES=$work/own check bench-broken 3 'benchmark broken: .*broken.js:3: TypeError' -- bench broken
if "$KVLAB" --help | grep -q '^run, test, gui: this program was built without Qt'; then
  for words in "run x.js" "test x" gui ""; do
    # shellcheck disable=SC2086
    check "without Qt: $words" 3 "kvlab ${words%% *}.*: this program was built without Qt" -- $words
  done
  check list-views 2 'views' -- list views
  printf '//\n// a picture\nview.show("map");\n' >"$work/own/bench/picture.js"
  KVLAB_RESOURCES=$work/own check bench-view 3 'picture.js:3|the call of a view was refused: this program was built without Qt' -- bench picture
else
  # shellcheck source=tests/scripts/program_window.sh
  source "$(dirname "${BASH_SOURCE[0]}")/program_window.sh"
fi
KVLAB_RESOURCES=$work/void check resources 3 'KVLAB_RESOURCES' -- info

((failures == 0)) || { echo "$failures failures"; exit 1; }
echo "program: all as promised"
