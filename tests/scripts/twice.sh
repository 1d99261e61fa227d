#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A shipped script ends with 0, and two runs with a frozen clock write the same bytes: on stdout and in --out.
# twice.sh SCRIPT.js OUT [ARGUMENTS...]; KVLAB names the program.
set -euo pipefail
script=$1 out=$2
shift 2
rm -rf "$out"
mkdir -p "$out/first" "$out/second"
for run in first second; do
  # Both write to a folder of the same name, as messages name it.
  (cd "$out/$run" && "$KVLAB" run "$script" --out files --frozen-clock "$@" | tee stdout.txt)
done
# A sweep's journal and timings.jsonl have seconds.
diff -r -x journal.jsonl -x timings.jsonl "$out/first" "$out/second"
echo "twice: $(find "$out/first" -type f | wc -l) files are the same bytes"
