#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the packages of tests/oracle/llama_cpp.txt into a virtual environment. Of llama.cpp only the libraries are
# built that the test loads, for any processor with AVX2, and without what only makes it fast.
#   tests/scripts/llama_cpp.sh ENVIRONMENT     work that was begun there is resumed; ccache is used where there is one
set -euo pipefail
list=$(dirname "$(realpath "$0")")/../oracle/llama_cpp.txt
environment=$(realpath "$1")
work=$environment/llama_cpp
pip() { "$environment/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }

package=$(grep '^llama_cpp_python==' "$list")
source=$work/${package/==/-}
if [[ ! -d $source ]]; then
  pip download --no-deps --no-binary llama_cpp_python --dest "$work" "$package"
  mkdir -p "$work/part"
  tar -xzf "$source.tar.gz" -C "$work/part"
  mv "$work/part/${source##*/}" "$source"
fi

flags=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON -DGGML_CCACHE=OFF)
for language in C CXX; do
  flags+=("-DCMAKE_${language}_FLAGS_RELEASE=-O1 -DNDEBUG")
  [[ -z $(command -v ccache) ]] || flags+=("-DCMAKE_${language}_COMPILER_LAUNCHER=ccache")
done
for part in LLAMA_{BUILD_{COMMON,TESTS,EXAMPLES,TOOLS,SERVER,APP},CURL,ALL_WARNINGS} \
  GGML_{NATIVE,LLAMAFILE,CPU_REPACK,ALL_WARNINGS}; do
  flags+=("-D$part=OFF")
done
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
cmake -S "$source/vendor/llama.cpp" -B "$work/build" "${flags[@]}" >"$work/configure.log"
cmake --build "$work/build" --target llama

CMAKE_ARGS=-DLLAMA_BUILD=OFF pip install "$source" -r "$list"
find_package='import importlib.util as u; print(u.find_spec("llama_cpp").submodule_search_locations[0])'
library=$("$environment/bin/python" -c "$find_package")/lib
mkdir -p "$library"
cp -P "$work"/build/bin/lib*.so* "$library"
"$environment/bin/python" -c "import llama_cpp"
