// SPDX-License-Identifier: Apache-2.0
// The experts of gpt-oss as its safetensors files stack them, in the order that products need. Files have gate and up
// in turns, row by row, and either
//   values [experts, inputs, outputs] (gate_up_proj, down_proj), or
//   codes [experts, outputs, inputs/32, 16] of 4 bits, two neighbours in a byte, and exponents [experts, outputs,
//   inputs/32] (.._blocks, .._scales: MXFP4 of OCP Microscaling Formats 1.0).
// Here are gate_proj, up_proj and down_proj, [experts, outputs, inputs], and their biases, made where they are asked
// for: values as they are, codes as blocks of the type mxfp4. Owns its results; one thread.
#pragma once
#include <memory>
#include <vector>

#include "core/model/files/safetensors.h"

namespace kvlab {

class PackedExperts {
 public:
  explicit PackedExperts(std::shared_ptr<const Safetensors> files) : m_files(std::move(files)) {}

  /// A tensor by the name that families ask for; nothing where the name is none of experts, or the files lack it. Null
  /// data where the file has it in another form than above, or memory is refused.
  std::optional<TensorView> find(const std::string& name);

 private:
  struct Part {
    std::string file;         // the name without "_blocks", "_scales"
    int first = 0, step = 1;  // rows of it
    bool bias = false;
  };
  static std::optional<Part> partOf(const std::string& name);
  TensorView values(const FileTensor& from, const Part& part);
  TensorView codes(const FileTensor& blocks, const FileTensor& scales, const Part& part);
  TensorView made(kernels::DType type, std::vector<std::int64_t> shape);

  std::shared_ptr<const Safetensors> m_files;
  std::vector<std::shared_ptr<std::byte>> m_memory;
};

}  // namespace kvlab
