// SPDX-License-Identifier: Apache-2.0
// Rings in a session: which layers have a window and how many slots a pool has.
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr const char* kRings[] = {"ring_roll", "ring_pointer", "ring_lut", "ring_block_roll", "ring_fused"};

json windowed(const char* layout, int window, const json& more = json::object()) {
  json out{{"layout", layout}, {"ring", {{"window", window}}}, {"staging", 8}, {"prefill_chunk", 8}, {"guards", true}};
  out.merge_patch(more);
  return out;
}

bool sound(const SessionFixture& s) {
  for (const InvariantState& one : s->check(true))
    if (!one.ok) {
      qWarning("%s: %s", one.id.c_str(), one.detail.c_str());
      return false;
    }
  return true;
}

/// The newest `count` records of a layer.
std::vector<std::uint8_t> newest(const SessionFixture& s, int layer, std::size_t count) {
  const RowPool& pool = s->store().pool(layer);
  const std::span<const Slot> slots = s->state().map(layer).residentSlots();
  std::vector<std::uint8_t> out(count * static_cast<std::size_t>(pool.stride()));
  pool.readRecords(slots.last(count), out.data());
  return out;
}

json deletions(int from, int count) {
  json out = json::array();
  for (int i = 0; i < count; ++i) out.push_back({{"action", "delete"}, {"position", from + i}});
  return out;
}

}  // namespace

class RingsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void aWindowIsOfRingsAlone() {
    SessionFixture s({{"layers", {{{"match", "0-1"}, {"layout", "ring_fused"}}}}, {"ring", {{"window", 48}}}});
    s.prompt(80);
    s.must("step", {{"n", 5}});
    for (const int layer : {0, 1}) QCOMPARE(s->state().map(layer).resident(), std::size_t(48));
    for (const int layer : {2, 3}) {
      QCOMPARE(s->state().map(layer).resident(), std::size_t(85));
      QCOMPARE(s.must("storage", {{"layer", layer}})["window"], 0);
    }
    QVERIFY(sound(s));
    const json drift = s.must("drift");
    for (const auto& k : drift["k"]) QCOMPARE(k.get<double>(), 0.0);
  }

  /// What a window holds is the end of what a cache with that mask holds, bit for bit.
  void aRingHoldsTheLastRows() {
    for (const char* layout : kRings)
      for (const char* v : {"f16", "int8"}) {
        const json kv{{"k", "f16"}, {"v", v}};
        SessionFixture ring(windowed(layout, 12, {{"kv", kv}}));
        SessionFixture all(
            {{"layout", "contiguous_splice"}, {"layers", {{{"match", "0-3"}, {"window", 12}}}}, {"kv", kv}});
        for (const SessionFixture* s : {&ring, &all}) s->prompt(9), s->must("step", {{"n", 30}});
        for (int layer = 0; layer < 4; ++layer) QVERIFY(newest(ring, layer, 12) == newest(all, layer, 12));
        QCOMPARE(ring.must("logits"), all.must("logits"));
      }
  }

  void poolsAreAtMostTwoWindows() {
    for (const char* layout : kRings) {
      SessionFixture s({{"layout", layout}, {"ring", {{"window", 24}}}, {"staging", 64}, {"prefill_chunk", 256}});
      SessionFixture all({{"layout", "indirection"}, {"layers", {{{"match", "0-3"}, {"window", 24}}}}});
      const int slots = s.must("ring", {{"layer", 0}})["capacity"];
      QVERIFY2(slots > 24 && slots <= 48, QByteArray::number(slots));
      for (const SessionFixture* one : {&s, &all}) one->prompt(200), one->must("step", {{"n", 3}});
      QVERIFY2(sound(s), layout);
      for (int layer = 0; layer < 4; ++layer) QVERIFY(newest(s, layer, 24) == newest(all, layer, 24));
      QCOMPARE(s.must("logits"), all.must("logits"));
    }
  }

  /// A block that is longer than the window finds its room all the same.
  void aBlockFindsRoom() {
    for (const char* layout : kRings)
      for (const auto& [window, block] : {std::pair(1, 1), {1, 4}, {2, 5}, {7, 7}, {16, 3}}) {
        SessionFixture s(windowed(layout, window, {{"ring", {{"block_tokens", block}}}}));
        const int slots = s.must("ring", {{"layer", 0}})["capacity"];
        QCOMPARE(slots % block, 0);
        QVERIFY2(slots >= window + block && slots <= std::max(2 * window, window + 2 * block - 1), layout);
        s.prompt(40);
        QCOMPARE(s.must("step", {{"n", 6}}).back()["block"].size(), static_cast<std::size_t>(block));
        QVERIFY2(sound(s), layout);
      }
  }

  /// Whatever fills the ring, a policy that looks again finds a slot.
  void aPromptOfAnyLengthIsTaken() {
    for (const char* policy : {"snapkv:budget=4,window=5", "h2o:budget=4,window=5"})
      for (const char* layout : {"ring_fused", "ring_lut", "ring_roll"})
        for (int length = 1; length <= 40; ++length) {
          SessionFixture s(windowed(layout, 7, {{"policy", policy}}));
          s.prompt(length);
          s.must("step", {{"n", 2}});
          s.prompt(length, 9);
          QVERIFY2(sound(s), layout);
        }
  }

  /// Rows that an edit still needs are not overwritten by those that it adds.
  void anEditThatDoesNotFitIsRefused() {
    for (const char* layout : kRings) {
      SessionFixture s(windowed(layout, 8));
      s.prompt(30);
      const std::string before = s.hash();
      json list = deletions(22, 7);
      for (int i = 0; i < 20; ++i) list.push_back({{"action", "add"}, {"token_id", 9}});
      const Result<json> refused = s.verb("inject", {{"actions", list}, {"now", true}});
      QVERIFY2(!refused && refused.error().code == "staging", layout);
      QCOMPARE(s.hash(), before);
      QVERIFY2(sound(s), layout);
      s.must("inject", {{"actions", deletions(22, 7)}, {"now", true}});
      s.must("step", {{"n", 12}});
      QVERIFY2(sound(s), layout);
    }
  }
};

QTEST_GUILESS_MAIN(RingsTest)
#include "rings_test.moc"
