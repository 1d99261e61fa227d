// SPDX-License-Identifier: Apache-2.0
#include "bench/peak.h"

#include <chrono>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/runtime/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int kChains = 12;  // latency times throughput of common cores, within 16 registers
constexpr int64_t kSteps = 100000;

HWY_NOINLINE float chains(float start) {
  const DF d;
  const VF a = hn::Set(d, 0.999f), b = hn::Set(d, start);
  VF c[kChains];
  KVLAB_UNROLL for (int i = 0; i < kChains; ++i) c[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t step = 0; step < kSteps; ++step) {
    KVLAB_UNROLL for (int i = 0; i < kChains; ++i) c[i] = mulAdd(c[i], a, b);
  }
  VF sum = c[0];
  KVLAB_UNROLL for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, c[i]);
  return hn::GetLane(sum);
}

}  // namespace

double multiplyAddRateTarget(ThreadPool& pool, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto elapsed = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  const auto warm = Clock::now();
  float sink = chains(0.5f);
  const auto rounds = static_cast<int64_t>(seconds / elapsed(warm)) + 1;
  const auto start = Clock::now();
  pool.parallelFor(0, rounds * pool.threads(), 1, [&](int64_t from, int64_t to, int worker) {
    auto& kept = *reinterpret_cast<float*>(pool.scratch(worker, sizeof(float)));
    for (int64_t i = from; i < to; ++i) kept = chains(sink);
  });
  return static_cast<double>(rounds * pool.threads() * kSteps * kChains * kLanes) / elapsed(start);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(multiplyAddRateTarget);

double multiplyAddRate(const Context& context, double seconds) {
  return HWY_DYNAMIC_DISPATCH(multiplyAddRateTarget)(*context.pool, seconds);
}

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
