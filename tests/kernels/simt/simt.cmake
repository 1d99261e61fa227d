# SPDX-License-Identifier: Apache-2.0
# The CUDA module once more, for an emulated device: the same .cu files, compiled by the host's compiler.
# For tests only; needs neither nvcc nor a driver. The thread sanitizer does not follow its fibers.
set(emulated_module "")
if(NOT KVLAB_SANITIZE MATCHES "thread")
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
  file(GLOB emulated_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu ${CMAKE_SOURCE_DIR}/kernels/cuda/*/*.cu)
  list(APPEND emulated_kernels ${cuda_instances})
  file(GLOB emulated_runtime CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp ${CMAKE_CURRENT_LIST_DIR}/*.h)
  set_source_files_properties(${emulated_kernels} PROPERTIES LANGUAGE CXX)
  add_library(kvlab_cuda_emulated MODULE ${emulated_kernels} ${emulated_runtime})
  kvlab_room(kvlab_cuda_emulated kernels)
  target_include_directories(kvlab_cuda_emulated PRIVATE ${CMAKE_CURRENT_LIST_DIR})
  set_target_properties(kvlab_cuda_emulated PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden)
  target_compile_options(kvlab_cuda_emulated PRIVATE -ffp-contract=off -Wno-unknown-pragmas)
  target_compile_definitions(kvlab_cuda_emulated PRIVATE KV_DEBUG_BOUNDS)
  if(KVLAB_SANITIZE MATCHES "address")  # kernels are watched; the code that switches between their threads is not
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/block.cpp PROPERTIES
      COMPILE_OPTIONS "-fno-sanitize=all;-O2;-DSIMT_ADDRESS_SANITIZER")
    target_compile_options(kvlab_cuda_emulated PRIVATE --param=asan-use-after-return=0)
  endif()
  include(CheckCXXSourceRuns)
  check_cxx_source_runs("int main() {
#if defined(__x86_64__)
  return __builtin_cpu_supports(\"fma\") ? 0 : 1;
#else
  return 1;
#endif
}" KVLAB_HOST_HAS_FMA)
  if(KVLAB_HOST_HAS_FMA)  # fmaf in one instruction instead of a call
    target_compile_options(kvlab_cuda_emulated PRIVATE -mfma)
  endif()
  target_link_libraries(kvlab_cuda_emulated PRIVATE Boost::context)
  foreach(test kernels_simt_test kernels_simt_limits_test)
    target_sources(${test} PRIVATE ${emulated_runtime})
    target_include_directories(${test} PRIVATE ${CMAKE_CURRENT_LIST_DIR})
    target_link_libraries(${test} PRIVATE Boost::context)
    target_compile_definitions(${test} PRIVATE KVLAB_SIMT)
    target_compile_options(${test} PRIVATE -Wno-unknown-pragmas)
  endforeach()
  if(NOT KVLAB_SANITIZE)  # every load and store of a kernel is checked; block.cpp takes the reports
    foreach(target kvlab_cuda_emulated kernels_simt_test)
      target_compile_options(${target} PRIVATE -fsanitize=alignment)
      target_compile_definitions(${target} PRIVATE KVLAB_SIMT_ALIGNMENT)
    endforeach()
  endif()
  target_link_options(kvlab_cuda_emulated PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/kernels/cuda/runtime/exports.map)
  set(emulated_module $<TARGET_FILE:kvlab_cuda_emulated>)
endif()

# The stand-in for cuBLASLt on the emulated device (support/cublas_double.cpp).
if(TARGET kvlab_cuda_emulated)
  add_library(kvlab_cublas_double MODULE support/cublas_double.cpp)
  kvlab_room(kvlab_cublas_double kernels)
  target_include_directories(kvlab_cublas_double PRIVATE ${CMAKE_CURRENT_LIST_DIR})
  set_target_properties(kvlab_cublas_double PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden)
  target_compile_definitions(kernels_tests PRIVATE KVLAB_CUBLAS_DOUBLE_FILE="$<TARGET_FILE:kvlab_cublas_double>")
  add_dependencies(kernels_tests kvlab_cublas_double)
endif()

# If the toolkit has cuBLASLt, its names are looked up.
find_library(KV_CUBLASLT NAMES cublasLt HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} /usr/local/cuda/lib64 /usr/local/cuda/lib)
if(KV_CUBLASLT)
  target_compile_definitions(kernels_tests PRIVATE KVLAB_CUBLASLT_FILE="${KV_CUBLASLT}")
endif()

# Tests named cuda_* take both modules, where they are built.
target_compile_definitions(kernels_tests PRIVATE KVLAB_CUDA_EMULATED_FILE="${emulated_module}"
  KVLAB_CUDA_FILE="$<$<TARGET_EXISTS:kvlab_cuda>:$<TARGET_FILE:kvlab_cuda>>")
foreach(module kvlab_cuda kvlab_cuda_emulated)
  if(TARGET ${module})
    add_dependencies(kernels_tests ${module})
    add_test(NAME kernels/${module}_exports COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cuda_module_exports.sh $<TARGET_FILE:${module}>)
    set_tests_properties(kernels/${module}_exports PROPERTIES LABELS kernels)
  endif()
endforeach()
