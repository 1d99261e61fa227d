#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A card that no kernel of the module runs on, alone and beside another: info says why, a session takes the CPU or the
# other card and the log says why, and who insists on the card is refused with the reason. KVLAB names the program,
# KVLAB_CUDA_MODULE far memory.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export KVLAB_FAR_ERROR=209
why="the module has no kernels for far memory of this processor, compute capability 8.6"
fail() { echo "FAIL: $*" >&2; exit 1; }
echo 'const s = lab.open({ model: "synthetic:tiny" }); s.promptIds([3, 4]); log(s.length);' >"$work/s.js"

"$KVLAB" info --model synthetic:tiny >"$work/out"
grep -q "backend cuda:0 *not available: $why" "$work/out" || fail "info: $(cat "$work/out")"
"$KVLAB" run "$work/s.js" --out "$work" >"$work/out" 2>"$work/said" || fail "auto: $(cat "$work/said")"
grep -q "the GPU is not used: $why" "$work/said" || fail "the log of auto: $(cat "$work/said")"
code=0; "$KVLAB" run "$work/s.js" --backend cuda --out "$work" >"$work/out" 2>"$work/said" || code=$?
[[ $code != 0 ]] && grep -q "$why" "$work/said" || fail "cuda: $code $(cat "$work/said")"

# Of two cards the second one computes.
export KVLAB_FAR_DEVICES=2 KVLAB_FAR_ORDINAL=0
echo 'const d = lab.open({ model: "synthetic:tiny" }).bytes().device; log(d.id + " " + (d.free > 0));' >"$work/d.js"
"$KVLAB" info --model synthetic:tiny >"$work/out"
grep -q "backend cuda:0 *not available: $why" "$work/out" || fail "the first card: $(cat "$work/out")"
grep -q "backend cuda:1 *runs on far memory" "$work/out" || fail "the second card: $(cat "$work/out")"
[[ $(grep -c "  device .*compute capability 8.6, .*GiB.*, driver of CUDA 13.0" "$work/out") == 2 ]] ||
  fail "facts of the cards: $(cat "$work/out")"
grep -q "MiB taken on the device with history" "$work/out" || fail "memory: $(cat "$work/out")"
for backend in auto cuda cuda:1; do
  "$KVLAB" run "$work/d.js" --backend $backend --out "$work" >"$work/out" 2>"$work/said" || fail "$(cat "$work/said")"
  grep -q "cuda:1 true" "$work/out" "$work/said" || fail "$backend: $(cat "$work/out" "$work/said")"
done
for refused in "cuda:0 $why" "cuda:2 the driver sees 2 CUDA devices, cuda:0 to cuda:1"; do
  code=0; "$KVLAB" run "$work/d.js" --backend "${refused%% *}" --out "$work" >"$work/out" 2>"$work/said" || code=$?
  [[ $code != 0 ]] && grep -q "${refused#* }" "$work/said" || fail "$refused: $code $(cat "$work/said")"
done
echo "ok"
