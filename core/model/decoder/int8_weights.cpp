// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/int8_weights.h"

#include <algorithm>
#include <thread>

#include "core/model/weight_memory.h"
#include "kernels/ops/convert.h"
#include "kernels/row_quant.h"
#include "kernels/thread_pool.h"

namespace kvlab {
namespace {

constexpr kernels::DType kCodes = kernels::DType::i8;

/// One output: k codes and their scale.
void quantise(const float* from, std::int64_t k, std::int8_t* codes, float* scale) {
  std::uint32_t amax = 0;
  for (std::int64_t i = 0; i < k; ++i) amax = std::max(amax, kernels::magnitudeBits(from[i]));
  *scale = kernels::scaleOf(amax, kCodes);
  for (std::int64_t i = 0; i < k; ++i)
    codes[i] = static_cast<std::int8_t>(kernels::quantCode(from[i] / *scale, kCodes));
}

void quantise(kernels::ThreadPool& pool, const TensorView& from, const TensorView& to, std::byte* memory) {
  const std::int64_t outputs = from.shape[0], k = from.shape[1], rowBytes = kernels::dtypeRowBytes(from.dtype, k);
  auto* codes = reinterpret_cast<std::int8_t*>(memory);
  auto* scales = reinterpret_cast<float*>(
      memory + (reinterpret_cast<const std::byte*>(to.scales()) - static_cast<const std::byte*>(to.data)));
  pool.parallelFor(0, outputs, 16, [&](std::int64_t begin, std::int64_t end, int) {
    kernels::ThreadPool alone(1);
    std::vector<float> row(static_cast<std::size_t>(k));
    for (std::int64_t i = begin; i < end; ++i) {
      kernels::convert(
          {&alone},
          {static_cast<const std::byte*>(from.data) + i * rowBytes, from.dtype, row.data(), kernels::DType::f32, k});
      quantise(row.data(), k, codes + i * k, scales + i);
    }
  });
}

/// Memory of all codes, and the model that they came from.
struct Storage {
  std::shared_ptr<const Model> origin;
  std::shared_ptr<std::byte> codes;
};

TensorView codesFor(const TensorView& from, std::byte* memory) {
  return {.data = memory, .dtype = kCodes, .shape = from.shape};
}

/// Bytes from one matrix to the next.
std::int64_t bytesFor(const TensorView& from) { return (codesFor(from, nullptr).bytes() + 63) / 64 * 64; }

}  // namespace

Result<std::shared_ptr<const Model>> withInt8Weights(std::shared_ptr<const Model> model, const Progress& progress) {
  std::shared_ptr<Model> out(new Model(*model));
  std::vector<TensorView*> matrices{&out->m_head};
  for (LayerWeights& w : out->m_layers)
    eachWeight(w, [&](TensorView& one, WeightKind kind) {
      if (one && kind == WeightKind::Matrix) matrices.push_back(&one);
    });
  std::int64_t done = 0, all = 0;
  for (const TensorView* one : matrices) all += bytesFor(*one);
  const std::shared_ptr<std::byte> memory = weightMemory(static_cast<std::size_t>(all));
  if (!memory)
    return Error("out_of_memory", "cannot bring model " + model->spec() + " to int8",
                 std::to_string(all) + " bytes were refused", "use a smaller model, or leave weights out");
  kernels::ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const std::int64_t shared = out->m_head.data == out->m_embed.data ? out->m_head.bytes() : 0;
  for (TensorView* one : matrices) {
    if (!report(progress, "weights to int8", done, all))
      return Error("cancelled", "opening the model was cancelled", "while its weights became int8", "open it again");
    const TensorView coded = codesFor(*one, memory.get() + done);
    quantise(pool, *one, coded, memory.get() + done);
    out->m_bytes += coded.bytes() - one->bytes();
    done += bytesFor(*one);
    *one = coded;
  }
  out->m_bytes += shared;  // the embedding is still there
  out->m_storage = std::make_shared<Storage>(Storage{std::move(model), memory});
  return std::shared_ptr<const Model>(std::move(out));
}

}  // namespace kvlab
