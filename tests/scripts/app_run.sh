#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What app/run does about the CUDA module, with programs that only say what they were asked: where the compiler comes from,
# and the one line about the outcome, on the terminal and in the file that the program reads.
set -uo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
mkdir "$work/bin"
program() { cat >"$work/bin/$1" && chmod +x "$work/bin/$1"; }

program dpkg-query <<'F'
echo installed
F
program nvidia-smi <<'F'
[[ -n ${DRIVER:-} ]] && echo "$DRIVER"
F
program ninja <<'F'
[[ -e has_cuda || -e $2/has_cuda ]]
F
program python3 <<'F'
echo "$*" >>"$WORK/pip"
[[ -z ${REFUSED:-} ]] ||
  printf "WARNING: Retrying (Retry(total=4)) after connection broken by 'SSLError(certificate verify failed)': /simple\n" >&2
[[ -z ${OFFLINE:-} ]] || { echo "ERROR: no network here" >&2; exit 1; }
while [[ $1 != --target ]]; do shift; done
mkdir -p "$2/nvidia/cu13/bin" "$2/nvidia/cu13/lib"
touch "$2/nvidia/cu13/bin/nvcc"
F
program cmake <<'F'
echo "$*" >>"$WORK/cmake"
if [[ $1 != --build ]]; then
  mkdir -p build/dev
  rm -f build/dev/has_cuda
  if [[ -n ${LEFT_OUT:-} ]]; then echo "this build leaves it out" >build/dev/kvlab_cuda.txt
  elif [[ -n ${NVCC:-} || -e build/cuda/nvidia/cu13/bin/nvcc ]]; then
    touch build/dev/has_cuda
    echo "the target kvlab_cuda is not built" >build/dev/kvlab_cuda.txt
  else echo "no CUDA compiler was found" >build/dev/kvlab_cuda.txt; fi
elif [[ $* == *kvlab_cuda* ]]; then
  cp build/dev/kvlab_cuda.txt "$WORK/note_while_building"
  [[ -z ${BROKEN:-} ]] || { printf 'one of two\nrows.cu(7): error: no such thing\nrows.cu(9): error: other\nninja: stopped\n'; exit 1; }
  touch build/dev/kvlab_cuda.so
else
  printf '#!/usr/bin/env bash\necho "program $*"\n[[ $1 != run ]] || mkdir -p "$4"\n' >build/dev/kvlab
  chmod +x build/dev/kvlab
fi
F
for one in "$work"/bin/*; do sed -i '1i #!/usr/bin/env bash' "$one"; done

# start NAME SETTINGS... -- ARGUMENTS...: app/run in a tree of its own.
start() {
  name=$1 settings=()
  shift
  while [[ $1 != -- ]]; do settings+=("$1"); shift; done
  shift
  tree=$work/$name
  mkdir -p "$tree/app"
  cp "$source"/app/{run,setup.sh,cuda.sh} "$tree/app/"
  env -u DISPLAY -u WAYLAND_DISPLAY WORK="$tree" PATH="$work/bin:/usr/bin:/bin" "${settings[@]}" \
    "$tree/app/run" "$@" >"$work/out" 2>&1 </dev/null
  code=$?
  [[ $code == 0 ]] || { echo "$name: exit $code"; cat "$work/out"; failures=$((failures + 1)); }
}
wants() { grep -qF -- "$2" "$1" || { echo "$name: $1 lacks: $2"; cat "$1"; failures=$((failures + 1)); }; }
lacks() { [[ ! -e $1 ]] || { echo "$name: $1 is there"; failures=$((failures + 1)); }; }
last() { tail -1 "$work/out" >"$work/last"; wants "$work/last" "$1"; }
note() { wants "$tree/build/dev/kvlab_cuda.txt" "$1"; }

start compiler NVCC=1 --
last "kvlab: the CUDA module is ready"
wants "$tree/note_while_building" "app/run began to build it at "
lacks "$tree/pip"

start driver DRIVER=580.65.06 --
last "kvlab: the CUDA module is ready"
wants "$tree/pip" "-m pip install"
wants "$tree/pip" "nvidia-cuda-nvcc==13.0.*"
wants "$tree/note_while_building" "app/run began to build it at "
[[ -e $tree/build/cuda/nvidia/cu13/lib64 ]] || { echo "no lib64"; failures=$((failures + 1)); }
lacks "$tree/build/cuda.part"
rm "$tree/pip"
start driver DRIVER=580.65.06 --  # again: nothing is fetched
lacks "$tree/pip"

start old_driver DRIVER=535.104.05 --
last "kvlab: no CUDA module: NVIDIA driver 535.104.05 is older than 580, which the nvcc of PyPI needs; update the driver"
note "update the driver"
lacks "$tree/pip"

if [[ ! -e /proc/driver/nvidia/version ]]; then
  start nothing --
  last "kvlab: no CUDA module: there is no NVIDIA driver, and no CUDA compiler was found"
  note "there is no NVIDIA driver"
  lacks "$tree/pip"
  start asked -- --cuda -- --model x
  last "kvlab: the CUDA module is ready"
  wants "$work/out" "--model x"
  wants "$tree/pip" "nvidia-nvvm==13.0.*"
fi

start left_out LEFT_OUT=1 -- --cuda
last "kvlab: no CUDA module: this build leaves it out"
lacks "$tree/pip"

start every NVCC=1 -- --cuda=all
wants "$tree/cmake" "--preset dev -DKV_CUDA_ARCHITECTURES=all"

start broken NVCC=1 BROKEN=1 --
last "kvlab: no CUDA module, its build failed: rows.cu(7): error: no such thing"
note "its build failed: rows.cu(7): error: no such thing"

start offline OFFLINE=1 -- --cuda
last "kvlab: no CUDA module, its build failed: ERROR: no network here"

start refused REFUSED=1 OFFLINE=1 -- --cuda
last "kvlab: no CUDA module, its build failed: connection broken by 'SSLError(certificate verify failed)"

# With a window the line comes while the window is open.
start window NVCC=1 BROKEN=1 DISPLAY=:0 -- --model y
wants "$work/out" "program gui --model y"
for ((i = 0; i < 50; ++i)); do grep -q "its build failed" "$work/out" && break; sleep 0.1; done
wants "$work/out" "kvlab: no CUDA module, its build failed: rows.cu(7): error: no such thing"

((failures == 0)) && echo ok
exit "$((failures > 0))"
