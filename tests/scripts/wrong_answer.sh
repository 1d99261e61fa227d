#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# wrong_answer.js on SmolLM2, where that model is there. Wants KVLAB, XDG_DATA_HOME and a folder for the pictures.
set -euo pipefail
model=smollm2-135m
if ! [[ -d $XDG_DATA_HOME/kvlab/models/$model ]]; then
  echo "skipped: the model $model is not in $XDG_DATA_HOME; kvlab model get $model fetches it"
  exit 77
fi
exec "$KVLAB" run "$(dirname "$0")/wrong_answer.js" --out "$1" -- "$model"
