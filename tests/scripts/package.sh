#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Debian package: everything in its place, dependencies found, metadata valid, and the program
# starts from an unpacked package with the package's own files. BUILD names the build folder.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v dpkg-deb >/dev/null || { echo "skipped: no dpkg-deb"; exit 77; }
cmake --build "$BUILD" --target kvlab kvlab_icon_files >/dev/null
(cd "$work" && cpack -G DEB --config "$BUILD/CPackConfig.cmake" -B "$work" >/dev/null)
package=$(ls "$work"/*.deb)
dpkg-deb -c "$package" >"$work/list"
for file in usr/bin/kvlab usr/share/applications/kvlab.desktop usr/share/metainfo/org.kvlab.kvlab.metainfo.xml \
  usr/share/icons/hicolor/scalable/apps/kvlab.svg usr/share/icons/hicolor/48x48/apps/kvlab.png \
  usr/share/man/man1/kvlab.1 usr/share/kvlab/demo/model.safetensors usr/share/kvlab/gates/demo.safetensors usr/share/kvlab/gists/demo.safetensors usr/share/kvlab/lens/demo.safetensors usr/share/kvlab/scripts/tour.js \
  usr/share/kvlab/script_api.d.ts usr/share/kvlab/manual/index.md usr/share/kvlab/gates/train.py usr/share/kvlab/gists/train.py usr/share/kvlab/lens/train.py \
  usr/share/kvlab/gists/network.py usr/share/kvlab/python/kvlab_training.py usr/share/kvlab/bench/tick.js usr/share/kvlab/bench/parts/rig.js; do
  grep -q " ./$file$" "$work/list" || { echo "not in the package: $file"; exit 1; }
done
! grep -q ' ./usr/kvlab' "$work/list" || { echo "the Python package is in it"; exit 1; }
depends=$(dpkg-deb -f "$package" Depends)
for library in libqt6widgets6 libqt6qml6 libqcustomplot libspdlog libsentencepiece libqt6svg6; do
  [[ $depends == *$library* ]] || { echo "no dependency on $library: $depends"; exit 1; }
done
dpkg-deb -x "$package" "$work/root"
! readelf -d "$work/root/usr/bin/kvlab" | grep -qE 'RUNPATH|RPATH' || { echo "the program carries a run path"; exit 1; }
command -v desktop-file-validate >/dev/null && desktop-file-validate "$work/root/usr/share/applications/kvlab.desktop"
command -v appstreamcli >/dev/null && appstreamcli validate --no-net "$work"/root/usr/share/metainfo/*.xml >/dev/null
# Each subcommand reads the files beside the program, not those of the source tree.
sed -i 's/"title": "/&Unpacked /' "$work/root/usr/share/kvlab/models/models.json"
env -u KVLAB_RESOURCES "$work/root/usr/bin/kvlab" model list | grep -q Unpacked || { echo "files of the source tree"; exit 1; }
echo 'const s = lab.open(); s.prompt("anna puts the silver key in the cellar . where is the silver key ?");
expect(s.step(6).map((t) => t.text).join("").includes("cellar")); view.screenshot("window", "w.png")' >"$work/t.js"
env -u KVLAB_RESOURCES -u DISPLAY -u WAYLAND_DISPLAY "$work/root/usr/bin/kvlab" run "$work/t.js" --out "$work/out"
[[ -s $work/out/w.png ]] || { echo "no picture"; exit 1; }
echo "package: $(basename "$package"), $(wc -l <"$work/list") entries"
