# SPDX-License-Identifier: Apache-2.0
# Instances of templates that take long to compile. Each is a file of its own in the build folder, so that they compile
# side by side: those of the CPU join kernel_sources, those of the CUDA module are cuda_instances.

foreach(dim 32 48 64 128 256)
  set(file ${CMAKE_BINARY_DIR}/instances/attention_stream_${dim}.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "#define KVLAB_HEAD_DIM ${dim}
#include \"kernels/cpu/attention/attention_stream.inc\"
" @ONLY)
  list(APPEND kernel_sources ${file})
endforeach()

function(kvlab_cuda_instance name header function)
  set(file ${CMAKE_BINARY_DIR}/instances/${name}.cu)
  file(CONFIGURE OUTPUT ${file} CONTENT "#include \"kernels/cuda/${header}\"
namespace kvlab::kernels::cuda {
template ${function};
}
" @ONLY)
  set(cuda_instances ${cuda_instances} ${file} PARENT_SCOPE)
endfunction()

foreach(type f32 f16 bf16 i8)
  kvlab_cuda_instance(linear_${type} linear/linear_few.h
    "bool linearFew<DType::${type}>(void*, const LinearArgs&, int32_t*)")
endforeach()
foreach(type f32 f16 bf16 i8 q8_0 q4_0 q4_1 q5_0 q5_1 q4_k q5_k q6_k mxfp4)
  kvlab_cuda_instance(matmul_${type} linear/matmul_of.h "int32_t matmulOf<DType::${type}>(void*, const MatmulArgs&)")
endforeach()
foreach(dim 64 128 256)
  foreach(scaled false true)
    kvlab_cuda_instance(attention_split_${dim}_${scaled} attention/attention_start.h
      "int32_t startSplit<${dim}, ${scaled}>(const Walk&, int, const SplitShape&)")
    kvlab_cuda_instance(attention_tile_${dim}_${scaled} attention/attention_start.h
      "int32_t startTiles<${dim}, ${scaled}>(const Walk&, const Grid&, const TileShape&)")
  endforeach()
endforeach()
