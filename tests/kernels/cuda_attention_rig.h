// SPDX-License-Identifier: Apache-2.0
// Attention calls on the CPU and on a device, with all their outputs.
#pragma once

#include "attention_scene.h"
#include "cuda_fixture.h"
#include "kernels/ops/op_table.h"

namespace kvlab::kernels::test {

inline constexpr int kNewest = 1, kPerHead = 2, kReceived = 4, kHeads = 8, kLast = 16, kAllMasses = 31;

struct Outputs {
  std::vector<float> out, newest, perHead, received, heads;
  std::vector<int32_t> last, index;

  Outputs(const AttentionArgs& a, int masses) : out(static_cast<size_t>(a.nQueries * outStride(a)), -3.0f) {
    if (masses & kNewest) newest.assign(static_cast<size_t>(a.rows + 1), NAN);
    if (masses & kPerHead) perHead.assign(static_cast<size_t>(a.queryHeads * (a.rows + 1)), NAN);
    if (masses & kReceived) received.assign(static_cast<size_t>(a.rows + 1), 0.25f);
    if (masses & kHeads) heads.assign(static_cast<size_t>(a.queryHeads * (a.rows + 1)), 0.5f);
    if (masses & kLast) last.assign(static_cast<size_t>(a.fmt.kvHeads * (a.rows + 1)), 3);
    for (int32_t q = 0; q < a.nQueries; ++q) index.push_back(q * 7 % 5 + q / 3);  // neither ascending nor all different
  }
  static int64_t outStride(const AttentionArgs& a) {
    return a.outStride ? a.outStride : int64_t{a.queryHeads} * a.fmt.headDim;
  }
};

inline Outputs onCpu(AttentionArgs a, int masses) {
  Outputs o(a, masses);
  ThreadPool pool(2);
  a.out = o.out.data();
  a.mass.newest = o.newest.empty() ? nullptr : o.newest.data();
  a.mass.newestPerHead = o.perHead.empty() ? nullptr : o.perHead.data();
  a.mass.received = o.received.empty() ? nullptr : o.received.data();
  a.mass.receivedPerHead = o.heads.empty() ? nullptr : o.heads.data();
  a.mass.lastAbove = o.last.empty() ? nullptr : o.last.data();
  a.queryIndex = o.index.data();
  a.aboveThreshold = 0.02f;
  cpuOps().attention({&pool}, a);
  return o;
}

/// Bits, but any NaN is one.
inline bool same(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) ? !std::isnan(b[i]) : std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]))
      return false;
  }
  return true;
}

using AttentionOp = int32_t (*CudaApi::*)(void*, const AttentionArgs&);

/// A scene on a device, once for many calls.
class Placed {
 public:
  Placed(const Scene& scene, const TestDevice& where) : m_where(where), m_device(where) {
    m_pool = m_device.copy(scene.pool);
    m_slots = m_device.copy(scene.slots);
    m_phases = m_device.copy(scene.phases);
    m_table = m_device.copy(scene.table);
  }

  /// `a` holds host pointers.
  Outputs run(AttentionArgs a, int masses, AttentionOp op = &CudaApi::attention) {
    Outputs o(a, masses);
    const auto n = static_cast<size_t>(a.nQueries);
    const int64_t width = int64_t{a.queryHeads} * a.fmt.headDim, stride = a.queryStride ? a.queryStride : width;
    a.pool = m_pool;
    a.slots = m_slots;
    a.phaseIndex = a.keysRotated ? nullptr : m_phases;
    a.rotaryTable = a.keysRotated ? nullptr : m_table;
    if (a.sinks) a.sinks = m_device.copy(a.sinks, static_cast<size_t>(a.queryHeads));
    a.queries = m_device.copy(a.queries, static_cast<size_t>((a.nQueries - 1) * stride + width));
    a.rowBegin = m_device.copy(a.rowBegin, n);
    a.rowEnd = m_device.copy(a.rowEnd, n);
    if (a.selfSlot) a.selfSlot = m_device.copy(a.selfSlot, n);
    if (a.selfPhaseIndex) a.selfPhaseIndex = a.keysRotated ? nullptr : m_device.copy(a.selfPhaseIndex, n);
    a.out = m_device.copy(o.out);
    a.mass.newest = m_device.copy(o.newest);
    a.mass.newestPerHead = m_device.copy(o.perHead);
    a.mass.received = m_device.copy(o.received);
    a.mass.receivedPerHead = m_device.copy(o.heads);
    a.mass.lastAbove = m_device.copy(o.last);
    a.queryIndex = m_device.copy(o.index);
    a.aboveThreshold = 0.02f;
    const int64_t bytes = m_where.api->attentionScratchBytes(a);
    if (bytes > kFilled) a.scratch = m_device.room(static_cast<size_t>(bytes));
    else
      a.scratch =
          m_device.copy(std::vector<uint8_t>(static_cast<size_t>(bytes), 0xff));  // NaN, if read before it is written
    m_device.check((m_where.api->*op)(nullptr, a));
    m_device.fetch(o.out, a.out);
    if (a.mass.newest) m_device.fetch(o.newest, a.mass.newest);
    if (a.mass.newestPerHead) m_device.fetch(o.perHead, a.mass.newestPerHead);
    if (a.mass.received) m_device.fetch(o.received, a.mass.received);
    if (a.mass.receivedPerHead) m_device.fetch(o.heads, a.mass.receivedPerHead);
    if (a.mass.lastAbove) m_device.fetch(o.last, a.mass.lastAbove);
    return o;
  }

  /// Empty if the device gives the CPU's bits, else the difference.
  QString differs(const AttentionArgs& a, int masses = kAllMasses, AttentionOp op = &CudaApi::attention) {
    const Outputs want = onCpu(a, masses), got = run(a, masses, op);
    const char* what = !same(want.out, got.out) ? "out"
        : !same(want.newest, got.newest)        ? "newestMass"
        : !same(want.perHead, got.perHead)      ? "newestPerHead"
        : !same(want.received, got.received)    ? "receivedMass"
        : !same(want.heads, got.heads)          ? "receivedPerHead"
        : want.last != got.last                 ? "lastAbove"
                                                : nullptr;
    return what ? QString("%1 of %2 queries on %3").arg(what).arg(a.nQueries).arg(QString::fromStdString(m_where.name))
                : QString();
  }

 private:
  static constexpr int64_t kFilled = 64 << 20;
  TestDevice m_where;
  Device m_device;
  const uint8_t* m_pool;
  const int32_t *m_slots, *m_phases;
  const float* m_table;
};

/// A scene of 150 rows in shuffled slots, some queries with a window; the last rows of the map belong to nobody.
/// Its arrays have values that rows of the shape's type round.
inline Scene sceneOf(const Shape& shape, DType v) {
  Shape exact = shape;
  exact.type = DType::f32;
  Scene s(exact, 150);
  s.fmt.k = shape.type;
  s.fmt.v = v;
  for (int32_t i = 0; i < 150; ++i) s.slots[static_cast<size_t>(i)] = (i * 67 + 5) % 151;
  s.write();
  for (size_t q = 0; q < 150; q += 7) s.begin[q] = std::max(0, s.end[q] - 70);
  s.base = 1000003;
  return s;
}
inline Scene sceneOf(int heads, int kvHeads, int headDim, DType k, DType v) {
  return sceneOf({heads, kvHeads, headDim, k}, v);
}

}  // namespace kvlab::kernels::test
