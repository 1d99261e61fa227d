#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The situations of ../walk.md in a real window, by keys and the mouse: a picture of the whole screen for each. If the
# folder has both pictures of a situation, they become a pair: "before" above "now".
#   pictures.sh PROGRAM FOLDER            this program
#   pictures.sh PROGRAM FOLDER before     the program that the walk was made with, which lacks two views
# Needs xvfb, openbox, xdotool and imagemagick (kvlab_install in app/setup.sh).
set -uo pipefail
program=${1:?the program} folder=${2:?a folder for the pictures} when=${3:-now}
mkdir -p "$folder"
unset QT_QPA_PLATFORM

key() { for one in "$@"; do xdotool key "$one"; sleep 0.35; done; }
click() { xdotool mousemove "$1" "$2" click "${3:-1}"; sleep 0.5; }
console() { key alt+shift+2; click 600 968; xdotool type --delay 8 "$1"; key Return; sleep 1; }

# shoot NAME WIDTH HEIGHT [OPTION...]: opens a window with fresh settings, calls NAME, takes the picture.
shoot() {
  local name=$1 width=$2 height=$3 number=60 window home
  shift 3
  while [[ -e /tmp/.X11-unix/X$number ]]; do number=$((number + 1)); done
  export DISPLAY=:$number
  home=$(mktemp -d)
  mkdir -m 700 "$home/run"
  Xvfb "$DISPLAY" -screen 0 "${width}x${height}x24" >"$home/x.log" 2>&1 &
  sleep 1
  openbox >"$home/wm.log" 2>&1 &
  HOME=$home XDG_CONFIG_HOME=$home XDG_DATA_HOME=$home XDG_RUNTIME_DIR=$home/run "$program" gui "$@" >"$home/log" 2>&1 &
  for _ in {1..40}; do
    window=$(xdotool search --onlyvisible --name kvlab 2>/dev/null | tail -1)
    [[ $window ]] && break
    sleep 0.25
  done
  [[ $window ]] || { cat "$home/log" >&2; kill $(jobs -p); exit 1; }
  xdotool windowsize "$window" "$width" "$height" windowmove "$window" 0 0
  xdotool windowactivate --sync "$window"
  sleep 2
  "$name"
  import -window root "$folder/$name-$when.png"
  [[ -e $folder/$name-before.png && -e $folder/$name-now.png ]] &&
    convert "$folder/$name-before.png" "$folder/$name-now.png" -resize 800x -append "$folder/$name.png"
  mapfile -t jobs < <(jobs -p)
  kill "${jobs[@]}"
  wait
  rm -rf "$home"
}

live() {
  [[ $when == now ]] && console 'view.set("map",{quantity:"brightness"})' && key alt+6
  key F5
  sleep 5
}
undo() { console 's.inject({action:"delete",position:3});s.apply()'; key ctrl+z; sleep 1; }
choose() { click 120 560; xdotool mousemove 270 560 keydown shift click 1 keyup shift; click 180 560 3; sleep 1; }
form() { key ctrl+n; sleep 1.5; }
jobs_end() { key F5; sleep 5; [[ $when == now ]] && key ctrl+alt+0; sleep 1; }
truth() { key F10 F10; console 's.fault("value_bit",{layer:2,index:7})'; key ctrl+i; sleep 1.5; }
row() {
  key F10
  console 'view.focus({layer:2,ledger:7})'
  if [[ $when == now ]]; then key ctrl+alt+3; else key alt+5; fi
  sleep 1.5
}
calm() { sleep 1; }
start() { sleep 1; }

shoot live 1600 1000 --set 'brightness={"compressor":"nearest","target":256}' --set capacity=1024
shoot undo 1600 1000
shoot choose 1600 1000
shoot form 1600 1000
shoot jobs_end 1600 1000 --set capacity=160
shoot truth 1600 1000 --set faults=true
shoot row 1600 1000
shoot calm 1280 720
shoot start 1600 1000
