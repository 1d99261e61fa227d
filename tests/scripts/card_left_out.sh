#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A card that no kernel of the module runs on: info says why, a session takes the CPU and the log says why, and who insists
# on CUDA is refused with the reason. KVLAB names the program, KVLAB_CUDA_MODULE far memory.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export KVLAB_FAR_ERROR=209
why="the module has no kernels for far memory of this processor, compute capability 8.6"
fail() { echo "FAIL: $*" >&2; exit 1; }
echo 'const s = lab.open({ model: "synthetic:tiny" }); s.promptIds([3, 4]); log(s.length);' >"$work/s.js"

"$KVLAB" info --model synthetic:tiny >"$work/out"
grep -q "backend cuda *not available: $why" "$work/out" || fail "info: $(cat "$work/out")"
"$KVLAB" run "$work/s.js" --out "$work" >"$work/out" 2>"$work/said" || fail "auto: $(cat "$work/said")"
grep -q "the GPU is not used: $why" "$work/said" || fail "the log of auto: $(cat "$work/said")"
code=0; "$KVLAB" run "$work/s.js" --backend cuda --out "$work" >"$work/out" 2>"$work/said" || code=$?
[[ $code != 0 ]] && grep -q "$why" "$work/said" || fail "cuda: $code $(cat "$work/said")"
echo "ok"
