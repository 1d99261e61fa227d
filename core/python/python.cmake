# SPDX-License-Identifier: Apache-2.0
# The extension module of the package kvlab: engine and kernels, without Qt. nanobind comes with the Python that builds.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT RESULT_VARIABLE nanobind_missing)
if(nanobind_missing)
  message(FATAL_ERROR "KVLAB_PYTHON needs nanobind: ${Python_EXECUTABLE} -m pip install nanobind")
endif()
find_package(nanobind CONFIG REQUIRED)
file(GLOB python_sources CONFIGURE_DEPENDS core/python/*.cpp core/python/*.h)
nanobind_add_module(_core NB_STATIC ${python_sources})
target_link_libraries(_core PRIVATE kvlab_core)
