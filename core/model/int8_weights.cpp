// SPDX-License-Identifier: Apache-2.0
#include "core/model/int8_weights.h"

#include <algorithm>
#include <new>
#include <thread>

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
  for (std::int64_t i = 0; i < k; ++i) codes[i] = static_cast<std::int8_t>(kernels::quantCode(from[i] / *scale, kCodes));
}

void quantise(kernels::ThreadPool& pool, const TensorView& from, const TensorView& to, std::byte* memory) {
  const std::int64_t outputs = from.shape[0], k = from.shape[1], rowBytes = k * kernels::dtypeBytes(from.dtype);
  auto* codes = reinterpret_cast<std::int8_t*>(memory);
  auto* scales = reinterpret_cast<float*>(memory + (reinterpret_cast<const std::byte*>(to.scales()) - static_cast<const std::byte*>(to.data)));
  pool.parallelFor(0, outputs, 16, [&](std::int64_t begin, std::int64_t end, int) {
    kernels::ThreadPool alone(1);
    std::vector<float> row(static_cast<std::size_t>(k));
    for (std::int64_t i = begin; i < end; ++i) {
      kernels::convert({&alone}, {static_cast<const std::byte*>(from.data) + i * rowBytes, from.dtype, row.data(), kernels::DType::f32, k});
      quantise(row.data(), k, codes + i * k, scales + i);
    }
  });
}

/// Memory of all codes, and the model that they came from.
struct Storage {
  std::shared_ptr<const Model> origin;
  std::vector<std::unique_ptr<std::byte[]>> codes;
};

}  // namespace

Result<std::shared_ptr<const Model>> withInt8Weights(std::shared_ptr<const Model> model, const Progress& progress) {
  std::shared_ptr<Model> out(new Model(*model));
  auto storage = std::make_shared<Storage>();
  std::vector<TensorView*> matrices{&out->m_head};
  for (LayerWeights& w : out->m_layers) matrices.insert(matrices.end(), {&w.q, &w.k, &w.v, &w.o, &w.gate, &w.up, &w.down});
  std::int64_t done = 0, all = 0;
  for (const TensorView* one : matrices) all += one->elements();
  kernels::ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const std::int64_t shared = out->m_head.data == out->m_embed.data ? out->m_head.bytes() : 0;
  for (TensorView* one : matrices) {
    if (!report(progress, "weights to int8", done, all))
      return Error{"cancelled", "opening the model was cancelled", "while its weights became int8", "open it again"};
    TensorView coded{.data = nullptr, .dtype = kCodes, .shape = one->shape};
    std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[static_cast<std::size_t>(coded.bytes())]);
    if (!memory)
      return Error{"out_of_memory", "cannot bring model " + model->spec() + " to int8", std::to_string(coded.bytes()) + " bytes were refused",
                   "use a smaller model, or leave weights out"};
    coded.data = memory.get();
    quantise(pool, *one, coded, memory.get());
    out->m_bytes += coded.bytes() - one->bytes();
    done += one->elements();
    storage->codes.push_back(std::move(memory));
    *one = std::move(coded);
  }
  out->m_bytes += shared;  // the embedding is still there
  storage->origin = std::move(model);
  out->m_storage = std::move(storage);
  return std::shared_ptr<const Model>(std::move(out));
}

}  // namespace kvlab
