# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by app/run, app/wheel/build and tests/run: installs what is missing, then configures and builds a preset.
# shellcheck shell=bash
kvlab_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

kvlab_packages=(
  g++ cmake ninja-build pkg-config python3 python3-pip python3-venv ccache
  libspdlog-dev nlohmann-json3-dev libcli11-dev
  libhwy-dev libxxhash-dev libsentencepiece-dev libpcre2-dev libutf8proc-dev
)
# Those of the window and of the tests with it. kvlab_window=() leaves them out.
kvlab_window=(
  qt6-base-dev qt6-declarative-dev qt6-svg-dev libqt6svg6 qt6-wayland qt6-gtk-platformtheme libgl1-mesa-dri
  libqcustomplot-dev libboost-context-dev fonts-dejavu-core
)

kvlab_say() { printf 'kvlab: %s\n' "$*" >&2; }

kvlab_install() {
  local missing=() package
  for package in "${kvlab_packages[@]}" ${kvlab_window[@]+"${kvlab_window[@]}"} "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local sudo=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      kvlab_say "missing packages: ${missing[*]}"
      kvlab_say "install them as root: apt-get install ${missing[*]}"
      return 1
    }
    sudo=(sudo)
  fi
  kvlab_say "installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq &&
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || {
      kvlab_say "apt-get failed; check the network and the package sources, then run this again"
      return 1
    }
}

# kvlab_configure PRESET [OPTION...]
kvlab_configure() {
  local preset=$1 said; shift
  kvlab_say "configuring ($preset)"
  said=$(cd "$kvlab_root" && cmake --preset "$preset" "$@" 2>&1) || { printf '%s\n' "$said" >&2; return 1; }
}

# kvlab_make PRESET [TARGET...]
kvlab_make() {
  local preset=$1; shift
  kvlab_say "building ($preset)"
  (cd "$kvlab_root" && cmake --build --preset "$preset" ${1:+--target "$@"})
}

# kvlab_build PRESET [TARGET...]
kvlab_build() { kvlab_configure "$1" && kvlab_make "$@"; }
