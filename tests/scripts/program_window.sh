# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# What program.sh checks of a program with its window; that script sources this one.
check no-display 2 'DISPLAY' -- gui
display=(WAYLAND_DISPLAY=no-such-socket XDG_RUNTIME_DIR="$work")
check no-compositor 2 'no Wayland compositor answers at WAYLAND_DISPLAY=no-such-socket' -- gui
display=(DISPLAY=:61234)
check no-x-server 2 'no X server answers at DISPLAY=:61234' -- gui
display=()
check list-views 0 '^map ' '^mirror ' -- list views
check list-commands 0 '^step +F10' '^palette +Ctrl\+P' -- list commands
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
check script-ok 0 '^hello 2$' -- run "$(js ok 'log("hello", args.length)')" -- a b
check script-fails 1 'fails.js:2: .*two' -- run "$(js fails $'\nexpect(false, "two")')"
check script-syntax 1 'syntax.js:1: SyntaxError' -- run "$(js syntax 'let = =')"
check script-model 3 'model.js:1: ' '/nowhere' -- run "$(js model 'lab.open({model:"/nowhere"})')"
check script-backend 3 'the backend cuda was refused' -- run "$(js backend 'lab.open()')" --backend cuda
check script-missing 3 'none.js' -- run "$work/none.js"
check script-limit 1 'time limit' -- run "$(js loop 'for(;;){}')" --time-limit 0.5
check script-options 0 '^f32$' -- run "$(js options 'const s = lab.open(); s.prompt("a"); log("f32")')" --dtype f32
check picture 0 -- run "$(js picture 'view.screenshot("window", "deep/w.png")')" --out "$work/pictures"
[[ -s $work/pictures/deep/w.png ]] || { echo "picture: no file"; failures=$((failures + 1)); }
check figure 0 -- run "$(js figure 'const s = lab.open(); s.prompt("a red ball"); for (const form of ["svg", "pdf"]) view.screenshot("map", "m." + form)')" --out "$work/pictures"
grep -q '<text.*>layer</text>' "$work/pictures/m.svg" && [[ $(head -c 4 "$work/pictures/m.pdf") == %PDF ]] ||
  { echo "figure: no text, or no PDF"; failures=$((failures + 1)); }
check figure-bad 1 'bad_argument|\.svg or \.pdf' -- run "$(js jpeg 'view.screenshot("map", "new/m.jpeg")')" --out "$work/pictures"
[[ ! -e $work/pictures/new ]] || { echo "figure-bad: a folder was made"; failures=$((failures + 1)); }
check picture-bad 1 'unknown_|no view' -- run "$(js bad 'view.screenshot("nothing", "w.png")')" --out "$work/pictures"
cat >"$work/same.js" <<'JS'
expectDump({ a: args[0] }, "same.json");
JS
check expect-missing 1 'same.json is not what it should be' 'update' -- run "$work/same.js" --out "$work/e" -- 1
check expect-update 0 -- run "$work/same.js" --update -- 1
check expect-met 0 -- run "$work/same.js" -- 1
check expect-missed 1 'line 2: .*“ "a": "2"” instead of “ "a": "1"”' 'same.\{actual,expected,diff\}.json' -- run "$work/same.js" --out "$work/e" -- 2
for kind in actual expected diff; do
  [[ -s $work/e/same.$kind.json ]] || { echo "expect-missed: no $kind"; failures=$((failures + 1)); }
done
