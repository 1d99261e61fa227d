#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Lists in pages of the manual. A line `<!-- generated: NAME -->` of a page stands before the list NAME as
# `kvlab list NAME --markdown` prints it; a line `<!-- end -->` stands behind the list. In resources/script_api.d.ts the
# types of tables stand between `// generated: tables` and `// end`, and the methods that are verbs behind
# `// generated: verbs`.
#   manual_lists.sh            the test: fails where a page is not current
#   manual_lists.sh --update   writes the lists into the pages of resources/manual, and the types of the Python package
# KVLAB names the program; build/dev/kvlab unless given.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
KVLAB=${KVLAB:-$root/build/dev/kvlab}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The page with its lists as they are now. A list that the program does not have ends the script.
current() {
  local page=$1 name
  while read -r name; do
    [[ -s $work/$name.list ]] || "$KVLAB" list "$name" --markdown >"$work/$name.list" ||
      { echo "$page: there is no list $name" >&2; return 1; }
  done < <(sed -n 's/^<!-- generated: \([a-z]*\) -->$/\1/p' "$page")
  # The old text behind a marker is cut up to its end; a page without an end keeps all its text.
  awk -v work="$work" '
    /^<!-- generated: [a-z]+ -->$/ { marks++ }
    { lines[NR] = $0 }
    END {
      for (i = 1; i <= NR; i++) {
        print lines[i]
        if (lines[i] !~ /^<!-- generated: [a-z]+ -->$/) continue
        name = lines[i]; gsub(/^<!-- generated: | -->$/, "", name)
        print ""
        while ((getline line < (work "/" name ".list")) > 0) print line
        close(work "/" name ".list")
        print ""
        print "<!-- end -->"
        for (j = i + 1; j <= NR && lines[j] != "<!-- end -->" && lines[j] !~ /^<!-- generated: /; j++);
        if (lines[j] == "<!-- end -->") i = j
      }
    }' "$page"
}

# check PAGE: false, with the difference, if the page is not current.
check() {
  current "$1" >"$work/now" && diff -u "$1" "$work/now" >"$work/diff" && return 0
  head -20 "$work/diff"
  echo "$1: a list is not current; run tests/scripts/manual_lists.sh --update"
  return 1
}

# The declarations of the script language with its generated parts as they are now.
types=$root/resources/script_api.d.ts
current_types() {
  local part edits=()
  for part in tables verbs; do
    "$KVLAB" list $part --json | python3 "$here/script_types.py" $part >"$work/$part.types" || return 1
    edits+=(-e "/^\/\/ generated: $part\$/,/^\/\/ end\$/{/^\/\/ generated: $part\$/{r $work/$part.types" -e "b};/^\/\/ end\$/!d}")
  done
  sed "${edits[@]}" "$types"
}

update() {
  current "$1" >"$work/now"
  cmp -s "$work/now" "$1" || cp "$work/now" "$1"
}

shopt -s nullglob
pages=("$root"/resources/manual/*.md)
if [[ ${1:-} == --update ]]; then
  for page in "${pages[@]}"; do update "$page"; done
  current_types >"$work/now" && { cmp -s "$work/now" "$types" || cp "$work/now" "$types"; }
  package=$(dirname "$KVLAB")/python python=$root/build/python/bin/python  # where tests/run has built the package
  if [[ -x $python && -d $package ]]; then PYTHONPATH=$package "$python" "$root/tests/python/stubs.py" --update; fi
  exit 0
fi

fail() { echo "manual_lists: $1"; exit 1; }
page=$work/page.md
printf '%s\n' '# A page' '' '<!-- generated: manifest -->' '' 'Behind the first.' '<!-- generated: verbs -->' >"$page"
check "$page" >/dev/null && fail "a page without its lists passes"
update "$page"
check "$page" || fail "an updated page is not current"
grep -q '^| `sampling.top_k` | integer ' "$page" || fail "the list of keys has no sampling.top_k"
grep -q '^| `step` | `n`: integer ' "$page" || fail "the list of verbs has no step"
[[ $(grep -c '^Behind the first\.$' "$page") == 1 ]] || fail "text between two lists did not stay"
cp "$page" "$work/once.md"
update "$page"
cmp -s "$page" "$work/once.md" || fail "an update of a current page changes it"
sed -i 's/^| `step` |/| `stride` |/' "$page"
check "$page" >/dev/null && fail "a changed list passes"
echo '<!-- generated: nothing -->' >"$page"
check "$page" >/dev/null 2>&1 && fail "a list that does not exist passes"

for page in "${pages[@]}"; do check "$page" || failed=1; done
current_types | diff -u "$types" - | head -20 || true
current_types | cmp -s - "$types" || { echo "$types is not current; run tests/scripts/manual_lists.sh --update"; failed=1; }
((${failed:-0} == 0)) || exit 1
echo "manual_lists: ${#pages[@]} pages, all current"
