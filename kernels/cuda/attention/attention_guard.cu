// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention/attention_launch.h"
#include "kernels/cuda/runtime/bounds.h"

namespace kvlab::kernels::cuda {

#if defined(KV_DEBUG_BOUNDS)

namespace {

constexpr int kThreads = 128;

/// Copies of the arrays of AttentionArgs with the same names; null where the array is null.
struct Copies {
  int32_t *slots, *phases, *begins, *ends, *selfSlots, *selfPhases;
};

int64_t bytesFor(int64_t count) { return alignUp(count * 4, 256); }

__global__ void __launch_bounds__(kThreads) guardQueries(AttentionArgs a, Copies to, Bounds bounds) {
  const int64_t q = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (q >= a.nQueries) return;
  const Bound positions = bounds.upTo(IndexKind::position, a.rows + 1),
              phases = bounds.of(IndexKind::phase, a.rotaryTable, int64_t{rotaryWidth(a.fmt.headDim)} * 4);
  to.begins[q] = a.rowBegin[q];
  to.ends[q] = a.rowEnd[q] > a.rowBegin[q] ? positions.orZero(a.rowEnd[q]) : 0;
  if (!a.selfSlot) return;
  const bool self = a.selfSlot[q] >= 0;
  to.selfSlots[q] =
      self && bounds.of(IndexKind::slot, a.pool, rowLayout(a.fmt).stride).holds(a.selfSlot[q]) ? a.selfSlot[q] : -1;
  if (to.selfPhases) to.selfPhases[q] = self && !a.keysRotated ? phases.orZero(a.selfPhaseIndex[q]) : 0;
}

/// Entries that no query sees may be anything.
__global__ void __launch_bounds__(kThreads) guardRows(AttentionArgs a, Copies to, Bounds bounds) {
  const int64_t row = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= a.rows) return;
  bool seen = false;
  for (int64_t q = 0; q < a.nQueries && !seen; ++q) seen = row >= to.begins[q] && row < to.ends[q];
  to.slots[row] = seen ? bounds.of(IndexKind::slot, a.pool, rowLayout(a.fmt).stride).orZero(a.slots[row]) : 0;
  if (to.phases)
    to.phases[row] = seen
        ? bounds.of(IndexKind::phase, a.rotaryTable, int64_t{rotaryWidth(a.fmt.headDim)} * 4).orZero(a.phaseIndex[row])
        : 0;
}

}  // namespace

int64_t attentionGuardBytes(const AttentionArgs& a) { return 2 * bytesFor(a.rows) + 4 * bytesFor(a.nQueries); }

int32_t guardAttention(void* stream, AttentionArgs& a) {
  auto* at = static_cast<uint8_t*>(a.scratch);
  const auto take = [&at](int64_t count, bool wanted) {
    auto* here = reinterpret_cast<int32_t*>(at);
    at += bytesFor(count);
    return wanted ? here : nullptr;
  };
  Copies to{};
  to.slots = take(a.rows, true);
  to.phases = take(a.rows, a.phaseIndex && !a.keysRotated);
  to.begins = take(a.nQueries, true);
  to.ends = take(a.nQueries, true);
  to.selfSlots = take(a.nQueries, a.selfSlot);
  to.selfPhases = take(a.nQueries, a.selfSlot && a.selfPhaseIndex);
  const Bounds bounds = boundsFor("attention");
  if (const int32_t e =
          launch(guardQueries, (a.nQueries + kThreads - 1) / kThreads, kThreads, 0, stream, a, to, bounds))
    return e;
  if (const int32_t e = launch(guardRows, (a.rows + kThreads - 1) / kThreads, kThreads, 0, stream, a, to, bounds))
    return e;
  a.slots = to.slots;
  a.phaseIndex = to.phases;
  a.rowBegin = to.begins;
  a.rowEnd = to.ends;
  a.selfSlot = to.selfSlots;
  a.selfPhaseIndex = to.selfPhases;
  a.scratch = at;
  return 0;
}

#else

int64_t attentionGuardBytes(const AttentionArgs&) { return 0; }
int32_t guardAttention(void*, AttentionArgs&) { return 0; }

#endif

}  // namespace kvlab::kernels::cuda
