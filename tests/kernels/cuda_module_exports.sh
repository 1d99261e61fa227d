#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The CUDA module shows one name, and holds nothing of CUDA's own libraries.
set -euo pipefail
names=$(nm -D --defined-only "$1" | awk '{print $3}')
[[ $names == kvlab_cuda_api ]] || { echo "exported: $names"; exit 1; }
[[ $1 == *emulated* ]] || readelf -d "$1" | grep -q 'NEEDED.*libcudart' || { echo "the CUDA runtime is not a library of its own"; exit 1; }
