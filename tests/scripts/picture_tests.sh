#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# kvlab test: the shipped tests pass, twice with the same reports of names; a colour, a row or a label that is changed
# on purpose fails with a difference that shows it; wrong usage and hostile names do no harm.
# KVLAB names the program, PYTHON an interpreter.
set -uo pipefail
shipped=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../resources/tests" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

say() { echo "$1"; failures=$((failures + 1)); }
# check NAME EXIT [PATTERN...] -- ARGUMENTS...: patterns are looked for in stdout and stderr together.
check() {
  local name=$1 wanted=$2 patterns=() code
  shift 2
  while [[ $1 != -- ]]; do patterns+=("$1"); shift; done
  shift
  (cd "$work" && "$KVLAB" test "$@") >"$work/log" 2>&1
  code=$?
  [[ $code == "$wanted" ]] || { say "$name: exit $code, expected $wanted"; cat "$work/log"; }
  for pattern in "${patterns[@]}"; do
    grep -qE -- "$pattern" "$work/log" || { say "$name: nothing matches $pattern"; cat "$work/log"; }
  done
}
left() { [[ -s $work/$1 ]] || say "$1 was not left"; }

check shipped 0 '9 tests of 4 files: 9 passed, 0 failed' -- "$shipped" --out "$work/o"
[[ ! -e $work/o/index.html ]] || say "a page was written though nothing failed"

check 'no folder' 3 '--out .*cannot be created' -- "$shipped" --out "$work/log/o"

# The expected files are altered: one pixel block of a picture (a colour), one line of a text (a label).
cp -r "$shipped" "$work/t"
"$PYTHON" - "$work/t/expected/rings.png" <<'PY' || say "the picture was not altered"
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
assert (depth, kind) in ((8, 2), (8, 6)), (depth, kind)
size, at, packed, step = 3 if kind == 2 else 4, 8, b"", 0
while at < len(data):
    length, name = struct.unpack(">I4s", data[at:at + 8])
    if name == b"IDAT": packed += data[at + 8:at + 8 + length]
    at += 12 + length
raw, rows, line = zlib.decompress(packed), [], width * size
for y in range(height):  # undo the filters of PNG
    how, row = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
    up = rows[-1] if rows else bytearray(line)
    for x in range(line):
        a, b, c = row[x - size] if x >= size else 0, up[x], up[x - size] if x >= size else 0
        near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        row[x] = (row[x] + (0, a, b, (a + b) // 2, near)[how]) & 255
    rows.append(row)
for y in range(100, 110):
    for x in range(200, 230): rows[y][x * size:x * size + 3] = b"\xff\x80\x00"
body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
chunk = lambda name, body: struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
open(sys.argv[1], "wb").write(data[:8] + chunk(b"IHDR", data[16:29]) + chunk(b"IDAT", body) + chunk(b"IEND", b""))
PY
check colour 1 '^FAILED .*ring.test.js: a ring keeps its window' '300 of 450000 pixels differ by more than 0, all inside 30x10 at \(200, 100\)' \
  '^kvlab: error: .*1 of 2 tests failed' -- "$work/t" --filter ring.test --out "$work/c" --junit "$work/c.xml"
for kind in actual expected diff; do left "c/ring/01-a-ring-keeps-its-window/rings.$kind.png"; done
left c/index.html
grep -q 'src="ring/01-a-ring-keeps-its-window/rings.diff.png"' "$work/c/index.html" || say "the page does not show the difference"
"$PYTHON" - "$work/c.xml" <<'PY' || say "the XML is not what CI servers read"
import os, sys
from xml.etree import ElementTree
root = ElementTree.parse(sys.argv[1]).getroot()
suite, = root.findall("testsuite")
assert (root.get("tests"), root.get("failures"), suite.get("name")) == ("2", "1", "ring.test.js"), root.attrib
failed, = [case for case in suite.findall("testcase") if case.find("failure") is not None]
assert failed.get("name") == "a ring keeps its window" and float(failed.get("time")) > 0
text = failed.find("failure").text
paths = [line for line in text.splitlines() if line.startswith("/") and line.endswith(".png")]
assert len(paths) == 3 and all(os.path.isfile(path) for path in paths), text
PY

cp "$shipped/expected/rings.png" "$work/t/expected/rings.png"
sed -i 's/Stored rows match their checksums/Stored rows have their checksums/' "$work/t/expected/invariants-broken.txt"
check label 1 '^FAILED .*a damaged row is named' '^ +-.*Stored rows have their checksums' '^ +\+.*Stored rows match their checksums' \
  -- "$work/t" --filter broken --out "$work/l"
for kind in actual expected diff; do left "l/broken/02-a-damaged-row-is-named/invariants-broken.$kind.txt"; done

# The session is altered: the row of another word is replaced.
sed -i "s/s.tokenise(\"cellar\")\[0\])/s.tokenise(\"tower\")[0])/" "$work/t/edit.test.js"
check row 1 '^FAILED .*a token is replaced in the strip by hand' '^ +-.*·cellar replaced' 'line 10: “8 ·cellar 255” instead of “- ·cellar replaced”' \
  '^FAILED .*the map shows the rows' 'pixels differ by more than 0, all inside [0-9]+x[0-9]+ at \(' -- "$work/t" --filter edit.test --out "$work/r"
grep -q '^+- ·tower replaced' "$work/r/edit/01-a-token-is-replaced-in-the-strip-by-hand/strip-replaced.diff.txt" ||
  say "the difference lacks the other row"
# --update writes the present pictures, and then all tests pass.
check update 0 -- "$work/t" --update --out "$work/u"
check updated 0 '9 passed' -- "$work/t" --out "$work/u"

# Wrong usage, and files that are no tests.
check unknown-option 2 'frobnicate' -- "$work/t" --frobnicate
check no-folder 2 'there is no such file or folder' -- "$work/nowhere"
mkdir "$work/empty"
check empty-folder 2 'no file below the folder has a name that ends in .test.js' -- "$work/empty"
check no-match 2 'no test has this text' -- "$work/t" --filter 'nothing like this'
echo 'log(1)' >"$work/plain.js"
check no-test-file 2 'ends in .test.js' -- "$work/plain.js"
mkdir "$work/bad"
cp "$work/plain.js" "$work/bad/none.test.js"
echo 'test("a", () => {' >"$work/bad/syntax.test.js"
echo 'test("a", () => {}); test("a", () => {});' >"$work/bad/twice.test.js"
echo 'test("hangs", () => { for (;;) {} }); test("next", () => {});' >"$work/bad/hangs.test.js"
printf 'test("a <b>\\u0001 & ]]> \\"q\\" ../../x", () => expect(false, "\\u0000 </failure>"));\n' >"$work/bad/h <&\".test.js"
check bad 1 'none.test.js: the file has no test' 'SyntaxError' 'two tests have the name a' 'stopped at its time limit of 1 s' \
  '^ok .*hangs.test.js: next' '6 tests of 5 files: 1 passed, 5 failed' -- "$work/bad" --time-limit 1 --out "$work/b" --junit "$work/b.xml"
"$PYTHON" -c 'import sys; from xml.etree import ElementTree as E; assert len(E.parse(sys.argv[1]).findall(".//failure")) == 5' "$work/b.xml" ||
  say "hostile names break the XML"
grep -qE '<b>|</failure>' "$work/b/index.html" && say "hostile names break the page"
check junit-nowhere 3 'nowhere' -- "$work/t" --filter ring.test --junit /proc/nowhere/x.xml
((failures == 0)) && echo "picture tests: all is well"
exit "$((failures > 0))"
