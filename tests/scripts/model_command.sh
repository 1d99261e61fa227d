#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# kvlab model get|list|remove with pip and a package that this script makes, without a network. Exit code 77: no pip.
set -euo pipefail
python3 -m pip --version >/dev/null 2>&1 || { echo "skipped: python3 has no pip"; exit 77; }
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export XDG_DATA_HOME=$home/data PIP_NO_INDEX=1 PIP_FIND_LINKS=$home/links PIP_CONFIG_FILE=/dev/null
models=$XDG_DATA_HOME/kvlab/models
mkdir -p "$models" "$PIP_FIND_LINKS"
fail() { echo "FAIL: $*" >&2; exit 1; }

# Two packages with a half of the "model" each; names of the list: good, changed (other SHA-256), lost (no package).
python3 - "$PIP_FIND_LINKS" "$models/models.json" <<'PY'
import hashlib, json, sys, zipfile
links, target = sys.argv[1:]
halves, packages = [b"first half, ", b"second half"], []
for i, half in enumerate(halves, 1):
    stem = f"kvlab_test_part{i}-1.0"
    with zipfile.ZipFile(f"{links}/{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"part{i}/data.bin", half)
        wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: kvlab-test-part{i}\nVersion: 1.0\n")
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")
    packages.append({"name": f"kvlab-test-part{i}", "version": "1.0", "bytes": 900, "member": f"part{i}/data.bin"})
whole = b"".join(halves)
good = {"title": "Test", "licence": "none", "file": "model.bin", "bytes": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(), "packages": packages}
lost = [{**packages[0], "name": "kvlab-test-lost"}]
json.dump({"good": good, "changed": {**good, "sha256": "0" * 64}, "lost": {**good, "packages": lost}}, open(target, "w"))
PY

path=$("$KVLAB" model get good 2>"$home/said") || fail "get: $(cat "$home/said")"
[[ $path == "$models/good/model.bin" && $(cat "$path") == "first half, second half" ]] || fail "content of $path"
"$KVLAB" model list | grep -q "good .*$path" || fail "list does not show the file"
"$KVLAB" model list | grep -q "smollm2-135m .*Apache-2.0 .*93 MiB  not fetched" || fail "list lacks the program's own"
"$KVLAB" model list --json | python3 -c 'import json,sys; assert {m["name"]: m["fetched"] for m in json.load(sys.stdin)}["good"]'
[[ $(PIP_FIND_LINKS=/nowhere "$KVLAB" model get good) == "$path" ]] || fail "a second get asks pip again"

refused() {  # NAME CODE WORDS...: exit code and message, and nothing is left
  local name=$1 code=$2 got=0; shift 2
  "$KVLAB" model get "$name" >"$home/out" 2>"$home/said" || got=$?
  [[ $got == "$code" ]] || fail "get $name: exit code $got, expected $code"
  for word in "$@"; do grep -q -- "$word" "$home/said" || fail "get $name does not say '$word': $(cat "$home/said")"; done
  [[ ! -e $models/$name && -z $(find "$models" -name ".$name*") ]] || fail "get $name left something behind"
}
refused changed 1 "SHA-256" "try again"
refused lost 1 "kvlab-test-lost==1.0" "check the network"
refused goof 2 "the nearest is good" "kvlab model list"
printf '#!/bin/sh\nexec python3 -S "$@"\n' >"$home/bare" && chmod +x "$home/bare"  # without site-packages
without_pip=$("$KVLAB" model get lost --python "$home/bare" 2>&1 || true)
[[ $without_pip == *"has no module pip; install it"*"apt-get install python3-pip"* ]] || fail "no pip: $without_pip"
refused_python=$("$KVLAB" model get lost --python /nowhere/python 2>&1 || true)
[[ $refused_python == *"does not start; install Python 3"* ]] || fail "no interpreter: $refused_python"

# A model that is not there says how to fetch it; one that is there is opened by its name (and is no model here).
unfetched=$("$KVLAB" info --model lost 2>&1 || true)
[[ $unfetched == *"kvlab model get lost"* ]] || fail "opening says no remedy: $unfetched"
if "$KVLAB" info --model good >"$home/out" 2>&1; then fail "the test's file is a model?"; fi

"$KVLAB" model remove good
[[ ! -e $models/good ]] || fail "remove left the folder"
code=0; "$KVLAB" model remove good 2>"$home/said" || code=$?
[[ $code == 3 ]] && grep -q "not on this machine" "$home/said" || fail "second remove: $code"

# A list that cannot be read is refused with its place.
echo '{"good": {"title": 3}}' >"$models/models.json"
code=0; "$KVLAB" model list 2>"$home/said" || code=$?
[[ $code == 3 ]] && grep -q "models.json: title 3 is not text" "$home/said" || fail "bad list: $code $(cat "$home/said")"
echo "ok"
