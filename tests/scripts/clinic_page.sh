#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of the manual with the cases of the bug clinic: story, threads, script, the check that finds the bug, and a
# picture of the view that shows it, made by the script of the case.
# clinic_page.sh the test: fails if the page differs from the clinic, or a picture is missing
#   clinic_page.sh --update   writes page and pictures anew
# KVLAB names the program; build/dev/kvlab unless given.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
KVLAB=${KVLAB:-$root/build/dev/kvlab}
manual=$root/resources/manual
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$KVLAB" clinic --json >cases.json
python3 - <<'END'
import json

page = ["# Cases of the bug clinic",
        "Each case of the [bug clinic](bug-clinic.md): what happens, where people met it, a script, and what finds it. The",
        "picture shows the view to look at, as the script leaves it.", ""]
script = ["// Every case, and a picture of the view that shows its bug."]
for case in json.load(open("cases.json")):
    name, found = case["bug"], case["found"]
    where = ", ".join(f"{key} {found[key]}" for key in ("layer", "row") if key in found)
    page += [f"## {name}", f"*{case['title']}.*", "", case["story"], "",
             f"Where people met it: {', '.join(case['threads'])}.", ""]
    page += ["    " + line for line in case["script"]]
    page += ["", f"`{found['check']}` finds it ({where}): {found['says']}.", "",
             f"![{name}](pictures/clinic/{name}.png)", "", case["look"], ""]
    script += ["{"] + ["  " + line for line in case["script"] if not line.startswith("for (")]
    script += ["  s.invariants();", "  view.command(\"go_to_finding\");", f"  view.show({json.dumps(case['view'])});",
               f"  view.screenshot({json.dumps(case['view'])}, \"{name}.png\", {{ width: 1000, height: 420 }});", "}"]
open("bug-cases.md", "w").write("\n".join(page).rstrip() + "\n")
open("pictures.js", "w").write("\n".join(script) + "\n")
END
if [[ ${1:-} == --update ]]; then
  "$KVLAB" run pictures.js --out pictures --frozen-clock
  mkdir -p "$manual/pictures/clinic"
  cp pictures/*.png "$manual/pictures/clinic/"
  cp bug-cases.md "$manual/bug-cases.md"
  exit
fi
diff -u "$manual/bug-cases.md" bug-cases.md || { echo "bug-cases.md is not current: clinic_page.sh --update" >&2; exit 1; }
sed -n 's/^!\[.*(pictures\/\(.*\))$/\1/p' bug-cases.md | while read -r picture; do
  [[ -s $manual/pictures/$picture ]] || { echo "$picture is missing: clinic_page.sh --update" >&2; exit 1; }
done
