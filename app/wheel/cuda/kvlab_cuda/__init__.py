# SPDX-License-Identifier: Apache-2.0
"""The CUDA module of kvlab. The package kvlab finds it here."""
import pathlib

MODULE = str(pathlib.Path(__file__).resolve().with_name("kvlab_cuda.so"))
