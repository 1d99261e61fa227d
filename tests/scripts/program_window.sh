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
