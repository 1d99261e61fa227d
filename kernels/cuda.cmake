# SPDX-License-Identifier: Apache-2.0
# The CUDA module: a file of its own that the program opens when it is there. KV_CUDA=AUTO builds it
# where a compiler is found, ON insists, OFF leaves it out. KV_CUDA_ARCHITECTURES as CMake takes them, or `all` for one
# module for every card; where it is empty, the module is made for the cards of this machine, else for sm_90, and has PTX
# for every card from 7.5 on.
set(KV_CUDA AUTO CACHE STRING "Build the CUDA module: AUTO, ON or OFF")
set_property(CACHE KV_CUDA PROPERTY STRINGS AUTO ON OFF)
option(KV_DEBUG_BOUNDS "CUDA kernels check every index that they read" OFF)
set(KV_CUDA_ARCHITECTURES "" CACHE STRING "Architectures of the CUDA module; all; empty: this machine's cards, and PTX")

# One sentence beside the program for the time when no module is there: the program says it.
function(kvlab_cuda_note why)
  file(WRITE ${CMAKE_BINARY_DIR}/kvlab_cuda.txt "${why}\n")
endfunction()
if(KV_CUDA STREQUAL "OFF" OR KVLAB_SANITIZE OR KVLAB_FUZZ)
  kvlab_cuda_note("this build leaves it out")
  return()
endif()

# Architectures of a list that the compiler knows.
function(kvlab_cuda_known out)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  set(all "")
  foreach(each ${ARGN})
    if(known MATCHES "compute_${each}\n")
      list(APPEND all ${each})
    endif()
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# Compute capabilities of the cards of this machine that the compiler knows, without their points.
function(kvlab_cuda_cards out)
  set(${out} "" PARENT_SCOPE)
  find_program(KV_NVIDIA_SMI nvidia-smi)
  if(NOT KV_NVIDIA_SMI)
    return()
  endif()
  execute_process(COMMAND ${KV_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE cards ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    return()
  endif()
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" cards "${cards}")
  list(TRANSFORM cards REPLACE "\\." "")
  list(REMOVE_DUPLICATES cards)
  list(FILTER cards EXCLUDE REGEX "^([1-6].|7[0-4])$")
  kvlab_cuda_known(cards ${cards})
  set(${out} "${cards}" PARENT_SCOPE)
endfunction()

# Says why there is no module, and insists where KV_CUDA does.
function(kvlab_without_cuda why)
  if(KV_CUDA STREQUAL "ON")
    message(FATAL_ERROR "KV_CUDA=ON, but ${why}")
  endif()
  message(STATUS "CUDA module: not built, ${why}")
  kvlab_cuda_note("${why}")
endfunction()

set(least_nvcc 12.0)
# The first nvcc that is new enough and works: on PATH, in the usual place, from app/run --cuda. No other one is enabled,
# because a build folder keeps the compiler that it has enabled.
include(CheckLanguage)
set(why_no_nvcc "no CUDA compiler was found; put nvcc on PATH, set CUDACXX, or let app/run --cuda fetch one")
if(CMAKE_CUDA_COMPILER AND IS_ABSOLUTE "${CMAKE_CUDA_COMPILER}" AND NOT EXISTS "${CMAKE_CUDA_COMPILER}")  # it is gone
  unset(CMAKE_CUDA_COMPILER CACHE)
  file(REMOVE ${CMAKE_BINARY_DIR}/CMakeFiles/${CMAKE_VERSION}/CMakeCUDACompiler.cmake)
endif()
set(candidates "$ENV{CUDACXX}")
if(NOT candidates)
  find_program(nvcc_on_path nvcc NO_CACHE)
  set(candidates ${nvcc_on_path} /usr/local/cuda/bin/nvcc ${CMAKE_SOURCE_DIR}/build/cuda/nvidia/cu13/bin/nvcc)
endif()
foreach(each ${candidates})
  set(said "")
  if(NOT CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${each} --version OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE none)
  endif()
  if(NOT said MATCHES "release ([0-9]+\\.[0-9]+)")
    continue()
  endif()
  if(CMAKE_MATCH_1 VERSION_LESS ${least_nvcc})
    set(why_no_nvcc "nvcc ${CMAKE_MATCH_1} knows no C++20; ${least_nvcc} is the first that does, and app/run --cuda fetches one")
    continue()
  endif()
  set(why_no_nvcc "${each} cannot compile an empty file with this machine's C++ compiler; app/run --cuda fetches another one")
  set(ENV{CUDACXX} ${each})
  unset(CMAKE_CUDA_COMPILER CACHE)  # where it stands that an earlier one did not work
  unset(CMAKE_CUDA_COMPILER)
  check_language(CUDA)
endforeach()
if(NOT CMAKE_CUDA_COMPILER)
  kvlab_without_cuda("${why_no_nvcc}")
  return()
endif()
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
# What makes a spilled register an error of ptxas; nothing for this machine's own cards, where a slower module is better
# than none.
set(spill_option ",-Werror")
set(CMAKE_CUDA_ARCHITECTURES "${KV_CUDA_ARCHITECTURES}")
if(KV_CUDA_ARCHITECTURES STREQUAL "all")  # CMake's own `all` has architectures of no card, and PTX of the last one alone
  kvlab_cuda_known(cards 75 80 86 89 90 100 120)
  list(TRANSFORM cards APPEND "-real")
  set(CMAKE_CUDA_ARCHITECTURES "${cards};90-virtual")  # for cards between these, and later ones
elseif(NOT KV_CUDA_ARCHITECTURES)
  kvlab_cuda_cards(cards)
  if(cards)
    set(spill_option "")
    list(TRANSFORM cards APPEND "-real")
  else()
    set(cards 90-real)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES "${cards};75-virtual")
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS ${least_nvcc})
  kvlab_without_cuda("nvcc ${CMAKE_CUDA_COMPILER_VERSION} knows no C++20; ${least_nvcc} is the first that does")
  return()
endif()
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # nothing of NVIDIA's becomes a part of the module

file(GLOB cuda_sources CONFIGURE_DEPENDS kernels/cuda/*.cu kernels/cuda/*/*.cu kernels/cuda/*/*.h)
add_library(kvlab_cuda MODULE ${cuda_sources} ${cuda_instances})
kvlab_room(kvlab_cuda kernels)
# The runtime library lies beside the compiler, wherever that is; a package relies on the system's.
set(runtime_folders "${CMAKE_CUDA_HOST_IMPLICIT_LINK_DIRECTORIES}")
list(FILTER runtime_folders EXCLUDE REGEX "/stubs$")
set_target_properties(kvlab_cuda PROPERTIES PREFIX "" CUDA_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
  BUILD_RPATH "${runtime_folders}")
target_compile_options(kvlab_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-fmad=false;--Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wshadow;-Xptxas=-warn-spills${spill_option}>")
if(KV_DEBUG_BOUNDS)
  target_compile_definitions(kvlab_cuda PRIVATE KV_DEBUG_BOUNDS)
endif()
target_link_options(kvlab_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/kernels/cuda/runtime/exports.map)
message(STATUS "CUDA module: ${CMAKE_CUDA_COMPILER_VERSION}, ${CMAKE_CUDA_ARCHITECTURES}")
kvlab_cuda_note("the target kvlab_cuda is not built")
