// SPDX-License-Identifier: Apache-2.0
// Input: a safetensors file. The data of an accepted file lies inside the file, tensor by tensor.
#include "core/model/files/safetensors.h"

#include "fuzz.h"

using namespace kvlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = Safetensors::parse(bytes, "f");
  if (!file) {
    fuzz::checkError(file.error());
    return 0;
  }
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : file->tensors()) {
    fuzz::require(
        tensor.bytes.empty() ||
            (tensor.bytes.data() >= bytes.data() && tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + size),
        "a tensor outside the file");
    const TensorView view = tensor.view();
    if (view) fuzz::require(view.bytes() == static_cast<std::int64_t>(tensor.bytes.size()), "wrong size");
    const auto values = widened(view);
    unsigned char last = 0;
    for (const std::byte b : tensor.bytes) last = static_cast<unsigned char>(last ^ std::to_integer<unsigned char>(b));
    sum += last + static_cast<std::int64_t>(values.size());
    fuzz::require(file->find(name) == &tensor, "a tensor that is not found");
  }
  fuzz::require(sum >= 0 && file->bytes() <= static_cast<std::int64_t>(size), "more bytes than the file");
  return 0;
}
