# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by app/run, app/wheel/build and tests/run: the CUDA module, its compiler where the machine has none, and one
# line about what became of it.
# shellcheck shell=bash
# shellcheck disable=SC2154  # kvlab_root comes from setup.sh

# All of one version: every driver from 580 on takes what it makes, PTX too.
kvlab_cuda_packages=('nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-runtime==13.0.*'
  'nvidia-cuda-cccl==13.0.*' 'nvidia-nvvm==13.0.*')
kvlab_cuda_driver=580
kvlab_cuda_log=$kvlab_root/build/dev/cuda.log
kvlab_cuda_note=$kvlab_root/build/dev/kvlab_cuda.txt  # the program says it while there is no module

# The version of the NVIDIA driver of this machine; fails where there is none.
kvlab_driver() {
  local version
  version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1)
  [[ $version =~ ^[0-9]+\. ]] || version=$(grep -oE '[0-9]{3,}\.[0-9.]+' /proc/driver/nvidia/version 2>/dev/null | head -1)
  [[ $version =~ ^[0-9]+\. ]] && echo "$version"
}

# kvlab_cuda_plan ASKED: what to do about the module, a word and the reason.
#   build            there is a compiler
#   fetch            there is none that works: it comes from PyPI
#   none REASON      there is none, and no use for it
kvlab_cuda_plan() {
  local asked=$1 driver note
  note=$(cat "$kvlab_cuda_note" 2>/dev/null || true)
  if ninja -C "$kvlab_root/build/dev" -t query kvlab_cuda >/dev/null 2>&1; then
    echo build
  elif [[ $note == "this build leaves it out" ]]; then
    echo "none $note"
  elif [[ -n $asked ]]; then
    echo fetch
  elif ! driver=$(kvlab_driver); then
    echo "none there is no NVIDIA driver, and $note"
  elif ((${driver%%.*} < kvlab_cuda_driver)); then
    echo "none NVIDIA driver $driver is older than $kvlab_cuda_driver, which the nvcc of PyPI needs; update the driver"
  else
    echo fetch
  fi
}

# The first error in the messages of a build, else the last of them. Where pip could not connect, why: it goes on to
# say that there is no such package.
kvlab_first_error() {
  {
    grep -m1 -o 'connection broken by.*' "$1" || grep -m1 -iE '\berror *:|^CMake Error' "$1" ||
      grep -v '^ *$' "$1" | tail -1
  } | sed 's/^ *//' | cut -c1-300
}

# 104 MB, 271 MB on the disk; whole, or not there.
kvlab_fetch_nvcc() {
  local home=$kvlab_root/build/cuda part=$kvlab_root/build/cuda.part
  rm -rf "$home" "$part"
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --target "$part" "${kvlab_cuda_packages[@]}" || return
  # nvcc looks for lib64, and the linker for a name without a version.
  ln -s lib "$part/nvidia/cu13/lib64" && ln -s libcudart.so.13 "$part/nvidia/cu13/lib/libcudart.so" && mv "$part" "$home"
}

kvlab_note_build() { echo "app/run began to build it at $(date '+%H:%M on %Y-%m-%d')" >"$kvlab_cuda_note"; }

kvlab_make_cuda() {
  if [[ $1 == fetch ]]; then
    if ! kvlab_fetch_nvcc || ! (cd "$kvlab_root" && cmake --preset dev); then return 1; fi
    kvlab_note_build
  fi
  (cd "$kvlab_root" && nice cmake --build --preset dev --target kvlab_cuda)
}

# kvlab_cuda_module ASKED: makes the module, and prints in one line that it is there or why not.
kvlab_cuda_module() {
  local plan why
  plan=$(kvlab_cuda_plan "$1")
  if [[ $plan == none* ]]; then
    echo "${plan#none }" >"$kvlab_cuda_note"
    echo "no CUDA module: ${plan#none }"
    return
  fi
  [[ $plan != fetch ]] || kvlab_say "fetching the CUDA compiler into build/cuda (104 MB)"
  kvlab_say "building the CUDA module; its messages go to build/dev/cuda.log"
  kvlab_note_build
  if kvlab_make_cuda "$plan" >"$kvlab_cuda_log" 2>&1; then
    echo "the CUDA module is ready: kvlab info says whether it runs here; sessions that are open keep their back end"
  else
    why=$(kvlab_first_error "$kvlab_cuda_log")
    echo "its build failed: $why" >"$kvlab_cuda_note"
    echo "no CUDA module, its build failed: $why"
  fi
}

# The module for every architecture, in build/cuda_all.
kvlab_cuda_all() {
  local tree=$kvlab_root/build/cuda_all
  local configure=(cmake --preset dev -S "$kvlab_root" -B "$tree" -DKV_CUDA_ARCHITECTURES=all)
  "${configure[@]}" >/dev/null || return
  ninja -C "$tree" -t query kvlab_cuda >/dev/null 2>&1 || { kvlab_fetch_nvcc && "${configure[@]}" >/dev/null; } || return
  cmake --build "$tree" --target kvlab_cuda
}
