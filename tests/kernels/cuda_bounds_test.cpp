// SPDX-License-Identifier: Apache-2.0
// Checked kernels (KV_DEBUG_BOUNDS): a bad slot, token id, phase or range is reported with kernel, thread and value,
// and only the row that it names is left out.
#include "cuda_rig.h"
#include "row_pool_fixture.h"

#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

constexpr RowFormat kFormat{2, 16, DType::f32, DType::bf16};

}  // namespace

class CudaBoundsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    for (const TestDevice& on : testDevices({0, 1}))
      if (report(on).violations >= 0) m_devices.push_back(on);
    if (m_devices.empty()) QSKIP("no module here checks indices");
  }

  void nothingIsToldOfGoodIndices() {
    for (const TestDevice& on : m_devices) {
      Pool p(kFormat, 20);
      Rig r(&on);
      KVLAB_RUN(r, gatherRows,
                GatherRowsArgs{r.in(p.bytes), kFormat, r.in(p.slots), 20, r.out<float>(20 * p.width()), nullptr});
      QCOMPARE(report(on).violations, 0);
    }
  }

  void badSlots() {
    for (const TestDevice& on : m_devices) {
      Pool p(kFormat, 20);  // 25 slots
      std::vector<int32_t> slots = p.slots;
      slots[7] = 25;
      const std::vector<uint8_t> blank(p.bytes.size(), 0xee);
      std::vector<uint8_t> expected = p.bytes;
      std::fill_n(expected.begin() + p.slots[7] * p.layout.stride, p.layout.stride, 0xee);
      {
        Rig r(&on);
        const WriteRowsArgs a{.pool = r.inOut(blank),
                              .fmt = kFormat,
                              .k = r.in(p.k),
                              .v = r.in(p.v),
                              .tags = r.in(p.tags),
                              .slots = r.in(slots),
                              .n = 20};
        KVLAB_RUN(r, writeRows, a);
        QCOMPARE(r.outputs()[0].bytes, expected);
        told(on, "writeRows, block 7, 0, 0, thread ", ": slot 25 is outside of [0, 25)");
        QCOMPARE(report(on).violations, 0);  // asking forgets
      }
      slots[7] = -3;
      Rig r(&on);
      KVLAB_RUN(r, zeroRows, ZeroRowsArgs{r.inOut(p.bytes), kFormat, r.in(std::vector<int32_t>{-3}), 1});
      QCOMPARE(r.outputs()[0].bytes, p.bytes);
      told(on, "zeroRows, block 0, 0, 0, thread ", ": slot -3 is outside of [0, 25)");
      KVLAB_RUN(r, readTags, ReadTagsArgs{r.in(p.bytes), kFormat, r.in(slots), 20, r.out<uint64_t>(20), nullptr});
      told(on, "readTags, block 0, 0, 0, thread 7, 0, 0: slot -3", "");
      KVLAB_RUN(r, gatherRows,
                GatherRowsArgs{r.in(p.bytes), kFormat, r.in(slots), 20, r.out<float>(20 * p.width()), nullptr});
      told(on, "gatherRows, block 7, 0, 0, thread ", ": slot -3 is outside of [0, 25)");
      const std::vector<uint8_t> bytes = p.bytes;
      const PoolView view{r.in(bytes), kFormat};
      KVLAB_RUN(r, matchTags,
                MatchTagsArgs{r.in(std::vector<PoolView>{view}), 1, r.in(slots), r.in(p.tags), 20, r.out<int64_t>(1)});
      told(on, "matchTags, block 0, 0, 0, thread 7, 0, 0: slot -3 is outside of [0, 25)", "");
    }
  }

  void badMoves() {
    for (const TestDevice& on : m_devices) {
      Pool p(kFormat, 20);
      std::vector<uint8_t> expected = p.bytes;
      std::copy_n(p.bytes.begin() + 3 * p.layout.stride, 2 * p.layout.stride, expected.begin() + 9 * p.layout.stride);
      Rig r(&on);
      uint8_t* pool = r.inOut(p.bytes);
      const std::vector<RowMove> moves = {{3, 9, 2}, {22, 5, 4}, {4, 24, 2}}, low = {{3, -1, 1}};
      KVLAB_RUN(r, moveRows, MoveRowsArgs{pool, pool, kFormat, r.in(moves), 3});
      QCOMPARE(r.outputs()[0].bytes, expected);
      told(on, "moveRows, block ", ": slot 25 is outside of [0, 25)");
      KVLAB_RUN(r, moveRows, MoveRowsArgs{pool, pool, kFormat, r.in(low), 1});
      QCOMPARE(r.outputs()[0].bytes, expected);
      told(on, "moveRows, block ", ": slot -1 is outside of [0, 25)");
    }
  }

  void badTokensAndPhases() {
    for (const TestDevice& on : m_devices) {
      Rig r(&on);
      const std::vector<float> table = Random(1).values(6 * 16);
      KVLAB_RUN(r, embedding,
                EmbeddingArgs{r.in(table), DType::f32, r.in(std::vector<int32_t>{1, 6, 2}), r.out<float>(48), 3, 16});
      told(on, "embedding, block 1, 0, 0, thread ", ": token id 6 is outside of [0, 6)");
      const std::vector<Output> out = r.outputs();
      QVERIFY(memcmp(out[0].bytes.data() + 64, table.data(), 64) == 0);  // the bad one reads row 0
      QVERIFY(memcmp(out[0].bytes.data() + 128, table.data() + 32, 64) == 0);
      KVLAB_RUN(r, rope, RopeArgs{r.in(table), r.in(std::vector<int32_t>{0, 9}), r.in(table), 2, 1, 16});
      told(on, "rope, block 1, 0, 0, thread ", ": phase 9 is outside of [0, 6)");
    }
  }

  void badMapsOfAttention() {
    for (const TestDevice& on : m_devices) {
      const auto call = [&](std::vector<int32_t> slots, std::vector<int32_t> phases, int32_t end, int32_t self) {
        Pool p(kFormat, 20);
        Rig r(&on);
        AttentionArgs a{.pool = r.in(p.bytes),
                        .fmt = kFormat,
                        .slots = r.in(slots),
                        .phaseIndex = r.in(phases),
                        .rows = 4,
                        .rotaryTable = r.in(Random(2).values(8 * 16)),
                        .queries = r.in(Random(3).values(32)),
                        .nQueries = 1,
                        .queryHeads = 2};
        a.rowBegin = r.in(std::vector<int32_t>{0});
        a.rowEnd = r.in(std::vector<int32_t>{end});
        a.selfSlot = r.in(std::vector<int32_t>{self});
        a.selfPhaseIndex = r.in(std::vector<int32_t>{1});
        a.scratch = r.in(std::vector<uint8_t>(static_cast<size_t>(on.api->attentionScratchBytes(a))));
        a.out = r.out<float>(32);
        KVLAB_RUN(r, attention, a);
        return r.outputs()[0].bytes;
      };
      const auto right = call({5, 6, 0, 8}, {1, 2, 0, 4}, 4, 9);
      QCOMPARE(report(on).violations, 0);
      QCOMPARE(call({5, 6, 25, 8}, {1, 2, 0, 4}, 4, 9), right);
      told(on, "attention, block 0, 0, 0, thread 2, 0, 0: slot 25 is outside of [0, 25)", "");
      QCOMPARE(call({5, 6, 0, 8}, {1, 2, -1, 4}, 4, 9), right);
      told(on, "attention, block 0, 0, 0, thread 2, 0, 0: phase -1 is outside of [0, 8)", "");
      QCOMPARE(call({5, 6, 99, 99}, {1, 2, 9, 9}, 2, 9), call({5, 6, 0, 8}, {1, 2, 0, 4}, 2, 9));  // nobody sees these
      QCOMPARE(report(on).violations, 0);
      call({5, 6, 0, 8}, {1, 2, 0, 4}, 5, 9);
      told(on, "attention, block 0, 0, 0, thread 0, 0, 0: position 5 is outside of [0, 5)", "");
      call({5, 6, 0, 8}, {1, 2, 0, 4}, 4, 25);
      told(on, "attention, block 0, 0, 0, thread 0, 0, 0: slot 25 is outside of [0, 25)", "");
    }
  }

 private:
  static CudaBoundsReport report(const TestDevice& on) {
    CudaBoundsReport r;
    on.api->takeBoundsReport(&r);
    return r;
  }

  static void told(const TestDevice& on, const char* begin, const char* end) {
    const CudaBoundsReport r = report(on);
    QVERIFY(r.violations > 0);
    const QByteArray text = r.text;
    QVERIFY2(text.startsWith(begin) && text.endsWith(end), r.text);
  }

  std::vector<TestDevice> m_devices;
};

KV_TEST(CudaBoundsTest)
#include "cuda_bounds_test.moc"
