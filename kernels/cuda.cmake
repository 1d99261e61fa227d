# SPDX-License-Identifier: Apache-2.0
# The CUDA module: a file of its own that the program opens when it is there. KV_CUDA=AUTO builds it
# where a compiler is found, ON insists, OFF leaves it out. KV_CUDA_ARCHITECTURES as CMake takes them; where it is empty,
# the module is made for the cards of this machine, else for sm_90, and has PTX for every card from 7.5 on.
set(KV_CUDA AUTO CACHE STRING "Build the CUDA module: AUTO, ON or OFF")
set_property(CACHE KV_CUDA PROPERTY STRINGS AUTO ON OFF)
option(KV_DEBUG_BOUNDS "CUDA kernels check every index that they read" OFF)
set(KV_CUDA_ARCHITECTURES "" CACHE STRING "Architectures of the CUDA module; empty: this machine's cards, and PTX")
if(KV_CUDA STREQUAL "OFF" OR KVLAB_SANITIZE OR KVLAB_FUZZ)
  return()
endif()

# Says why there is no module, and insists where KV_CUDA does.
function(kvlab_without_cuda why)
  if(KV_CUDA STREQUAL "ON")
    message(FATAL_ERROR "KV_CUDA=ON, but ${why}")
  endif()
  message(STATUS "CUDA module: not built, ${why}")
endfunction()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(KV_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(KV_NVCC)
    set(CMAKE_CUDA_COMPILER ${KV_NVCC})
  endif()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  kvlab_without_cuda("no CUDA compiler was found; put nvcc on PATH or set CUDACXX")
  return()
endif()
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
include(${CMAKE_SOURCE_DIR}/kernels/cuda_architectures.cmake)
kvlab_cuda_architectures(CMAKE_CUDA_ARCHITECTURES spill_option)
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
  kvlab_without_cuda("nvcc ${CMAKE_CUDA_COMPILER_VERSION} knows no C++20; 12.0 is the first that does")
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
set_target_properties(kvlab_cuda PROPERTIES PREFIX "" CUDA_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
target_compile_options(kvlab_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-fmad=false;--Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wshadow;-Xptxas=-warn-spills${spill_option}>")
if(KV_DEBUG_BOUNDS)
  target_compile_definitions(kvlab_cuda PRIVATE KV_DEBUG_BOUNDS)
endif()
target_link_options(kvlab_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/kernels/cuda/runtime/exports.map)
message(STATUS "CUDA module: ${CMAKE_CUDA_COMPILER_VERSION}, ${CMAKE_CUDA_ARCHITECTURES}")
