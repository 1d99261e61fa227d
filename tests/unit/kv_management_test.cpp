// SPDX-License-Identifier: Apache-2.0
// Plain KV management (core/semantics.md, section 5): position, remaining, is_full, reset; a write that does not fit is
// refused before anything is written.
#include "core/session/truth.h"
#include "support/scripted_session.h"

#include <algorithm>
#include <numeric>

#include "core/api/layout_names.h"
#include "support/runner.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

/// The error of a verb, or of the last tick that it reports; none = no error.
std::optional<Error> refusal(Session& s, const std::string& verb, const json& args = json::object()) {
  const Result<json> result = execute(s, verb, args);
  if (!result) return result.error();
  const json& all = result->is_object() && result->contains("ticks") ? (*result)["ticks"] : *result;
  const json& last = all.is_array() && !all.empty() ? all.back() : *result;
  if (last.contains("ok") && last["ok"] == false) return Error::fromJson(last["error"]);
  return std::nullopt;
}

/// A refusal for want of room that names position, request and limit.
void checkOverflow(const std::optional<Error>& error, const std::vector<std::string>& parts) {
  QVERIFY(error);
  QCOMPARE(error->code, std::string("capacity"));
  for (const std::string& part : parts) QVERIFY2(error->text().find(part) != std::string::npos, error->text().c_str());
}

json streaming(int sinks, int window) { return {{"name", "streaming_llm"}, {"sinks", sinks}, {"window", window}}; }

/// Bytes other than 0 in slots that were ever handed out. The rest of a pool is memory that nobody has written.
std::int64_t leftovers(const Session& s) {
  std::int64_t bytes = 0;
  for (const CacheLayer layer : s.store().layers()) {
    const RowPool& pool = s.store().pool(layer);
    const std::int32_t used = s.store().slots(layer).untouched();
    std::vector<Slot> slots;
    for (std::int32_t slot = 0; slot < used; ++slot) slots.emplace_back(slot);
    std::vector<std::uint8_t> records(static_cast<std::size_t>(pool.stride()) * slots.size());
    pool.readRecords(slots, records.data());
    bytes += std::count_if(records.begin(), records.end(), [](std::uint8_t byte) { return byte != 0; });
  }
  return bytes;
}

/// Records of every layer's resident rows.
std::vector<std::string> recordsOf(const Session& s) {
  std::vector<std::string> out;
  for (const CacheLayer layer : s.store().layers())
    for (const Slot slot : s.state().map(layer).residentSlots()) {
      out.emplace_back(static_cast<std::size_t>(s.store().pool(layer).stride()), '\0');
      s.store().pool(layer).readRecords(std::span(&slot, 1), reinterpret_cast<std::uint8_t*>(out.back().data()));
    }
  return out;
}

/// Slots of whole pools, handed out or not, that hold one of the records.
std::int64_t slotsWith(const Session& s, const std::vector<std::string>& records) {
  std::int64_t found = 0;
  for (const CacheLayer layer : s.store().layers()) {
    const RowPool& pool = s.store().pool(layer);
    std::vector<Slot> slots;
    for (std::int32_t i = 0; i < pool.slots(); ++i) slots.push_back(Slot(i));
    const auto stride = static_cast<std::size_t>(pool.stride());
    std::string all(slots.size() * stride, '\0');
    pool.readRecords(slots, reinterpret_cast<std::uint8_t*>(all.data()));
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      found += std::find(records.begin(), records.end(), all.substr(slot * stride, stride)) != records.end();
  }
  return found;
}

}  // namespace

class KvManagementTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void countsWhatIsWritten();
  void overflowWritesNothing_data();
  void overflowWritesNothing();
  void longGenerationEndsAtTheLimit();
  void remainingCountsTheFullestLayer_data();
  void remainingCountsTheFullestLayer();
  void rowsThatLeftMakeRoom();
  void aWindowAlwaysHasRoom();
  void badRequestsAreNamed();
  void resetForgetsEverything_data();
  void resetForgetsEverything();
  void resetForgetsWhereRowsMovedTo_data() { resetForgetsEverything_data(); }
  void resetForgetsWhereRowsMovedTo();
  void historyBeginsWithTheStorageThatResetKeeps();
};

void KvManagementTest::countsWhatIsWritten() {
  const auto s = opened(tinyManifest({{"capacity", 32}}));
  QCOMPARE(call(*s, "position"), json(0));
  QCOMPARE(call(*s, "remaining"), json(32));
  call(*s, "promptIds", {{"ids", someIds(10, 200, 1)}});
  QCOMPARE(call(*s, "position"), json(10));
  call(*s, "prefill", {{"ids", someIds(5, 200, 2)}, {"last", false}});
  call(*s, "endPrefill");
  QCOMPARE(call(*s, "position"), json(15));
  call(*s, "step");
  QCOMPARE(call(*s, "position"), json(16));
  QCOMPARE(call(*s, "remaining"), json(16));
  QCOMPARE(call(*s, "isFull"), json(false));
  call(*s, "step", {{"n", 16}});
  QCOMPARE(call(*s, "isFull"), json(true));
  QCOMPARE(broken(*s), QString());
}

void KvManagementTest::overflowWritesNothing_data() {
  QTest::addColumn<QString>("verb");
  QTest::addColumn<QString>("args");
  QTest::addColumn<QString>("request");
  const QString ids = "[1,2,3,4,5,6,7,8,9,10,11,12,13]";
  QTest::newRow("step") << "step" << QString(R"({"tokens":%1})").arg(ids) << "1 new";
  QTest::newRow("prompt") << "promptIds" << QString(R"({"ids":%1})").arg(ids) << "13 new";
  QTest::newRow("prefill") << "prefill" << QString(R"({"ids":%1})").arg(ids) << "13 new";
  const QString action = R"({"actions":[{"action":%1,"token_ids":%2}]})";
  QTest::newRow("insert") << "inject" << action.arg(R"("insert","position":3)", ids) << "13 new";
  QTest::newRow("edit") << "inject"
                        << R"({"actions":[{"action":"replace","positions":[3],"new_token_ids":[1,2,3,4,5,6,7,8,9,10,)"
                           R"(11,12,13,14]}]})"
                        << "14 new - 1 leaving";
}

void KvManagementTest::overflowWritesNothing() {
  QFETCH(QString, verb);
  QFETCH(QString, args);
  QFETCH(QString, request);
  const int rows = verb == "step" ? 32 : 20;
  const auto s = opened(tinyManifest({{"capacity", 32}}));
  call(*s, "promptIds", {{"ids", someIds(rows, 200, 1)}});
  const std::string before = stateHash(*s);
  checkOverflow(refusal(*s, verb.toStdString(), json::parse(args.toStdString())),
                {"position " + std::to_string(rows), request.toStdString(), "the limit is 32"});
  QCOMPARE(stateHash(*s), before);
  QCOMPARE(call(*s, "position"), json(rows));
}

void KvManagementTest::longGenerationEndsAtTheLimit() {
  const auto s = opened(tinyManifest({{"capacity", 32}}));
  call(*s, "promptIds", {{"ids", someIds(20, 200, 1)}});
  checkOverflow(refusal(*s, "run", {{"maxTicks", 100}}), {"position 32", "1 new", "the limit is 32"});
  QCOMPARE(call(*s, "position"), json(32));
  QCOMPARE(call(*s, "remaining"), json(0));
  QCOMPARE(call(*s, "isFull"), json(true));
  const std::string full = stateHash(*s);
  checkOverflow(refusal(*s, "run", {{"maxTicks", 100}}), {"position 32"});
  QCOMPARE(stateHash(*s), full);
  QCOMPARE(broken(*s), QString());
}

void KvManagementTest::remainingCountsTheFullestLayer_data() {
  QTest::addColumn<QString>("residency");
  QTest::newRow("by layer") << "layer";
  QTest::newRow("by head") << "kv_head";
}

void KvManagementTest::remainingCountsTheFullestLayer() {
  QFETCH(QString, residency);
  const auto s = opened(tinyManifest({{"capacity", 32}, {"residency", residency.toStdString()}}));
  call(*s, "promptIds", {{"ids", someIds(20, 200, 1)}});
  const CacheLayers& layers = s->cacheLayers();
  for (int i = layers.count() - 1; i >= 0; --i) {
    const CacheLayer own(i);
    QCOMPARE(call(*s, "remaining"), json(12));
    json evict{{"action", "evict"}, {"layer", layers.layerOf(own).value()}, {"ledger", {2, 3, 4, 5, 6}}};
    if (const std::optional<Head> head = layers.headOf(own)) evict["kv_head"] = head->value();
    call(*s, "inject", {{"actions", {evict}}, {"now", true}});
  }
  QCOMPARE(call(*s, "position"), json(20));
  QCOMPARE(call(*s, "remaining"), json(17));
}

/// Evicted rows give room back, and a prompt overflows exactly where remaining() says.
void KvManagementTest::rowsThatLeftMakeRoom() {
  const auto s = opened(tinyManifest({{"capacity", 32}, {"policy", streaming(4, 12)}}));
  call(*s, "promptIds", {{"ids", someIds(16, 200, 1)}});
  call(*s, "step", {{"n", 40}});
  QCOMPARE(call(*s, "position"), json(56));
  QCOMPARE(call(*s, "remaining"), json(16));
  QCOMPARE(call(*s, "isFull"), json(false));
  const std::string before = stateHash(*s);
  checkOverflow(refusal(*s, "promptIds", {{"ids", someIds(17, 200, 1)}}), {"position 56", "17 new", "the limit is 32"});
  QCOMPARE(stateHash(*s), before);
  call(*s, "promptIds", {{"ids", someIds(16, 200, 1)}});
  QCOMPARE(call(*s, "position"), json(72));
  QCOMPARE(call(*s, "remaining"), json(16));
}

void KvManagementTest::aWindowAlwaysHasRoom() {
  const auto s = opened(tinyManifest({{"capacity", 32}, {"layout", "ring_fused"}, {"ring", {{"window", 16}}}}));
  call(*s, "promptIds", {{"ids", someIds(20, 200, 1)}});
  const auto left = call(*s, "remaining").get<int>();
  call(*s, "step", {{"n", 40}});
  QCOMPARE(call(*s, "position"), json(60));
  QCOMPARE(call(*s, "remaining"), json(left - 40));  // rows left in the rotary table
  QCOMPARE(call(*s, "isFull"), json(false));
}

void KvManagementTest::badRequestsAreNamed() {
  const auto s = opened(tinyManifest({{"capacity", 32}}));
  call(*s, "promptIds", {{"ids", someIds(4, 200, 1)}});
  const std::string before = stateHash(*s);
  QVERIFY(!codeOf(*s, "promptIds", {{"ids", json::array()}}).empty());
  for (const json& n : {json(0), json(-1)}) QVERIFY(!codeOf(*s, "step", {{"n", n}}).empty());
  for (const json& layer : {json(-1), json(99), json("a")}) {
    const Result<json> refused = test::scripted(*s, "rows", {{"layer", layer}});
    QVERIFY(!refused && refused.error().field == "layer");
  }
  QCOMPARE(stateHash(*s), before);
}

void KvManagementTest::resetForgetsEverything_data() {
  QTest::addColumn<QString>("layout");
  for (const LayoutName& layout : layouts())
    QTest::newRow(std::string(layout.name).c_str()) << QString::fromStdString(std::string(layout.name));
}

/// Rows that history kept and rows that an edit moved away from are zeroed, too.
void KvManagementTest::resetForgetsEverything() {
  QFETCH(QString, layout);
  const auto s = opened(tinyManifest({{"layout", layout.toStdString()}}));
  const std::string empty = stateHash(*s);
  live(*s);
  call(*s, "undo");
  QVERIFY(leftovers(*s) > 0);
  call(*s, "reset");
  QCOMPARE(leftovers(*s), 0);
  QCOMPARE(call(*s, "position"), json(0));
  QCOMPARE(stateHash(*s), empty);
  live(*s);
  QCOMPARE(broken(*s), QString());
}

/// A layout that moves rows on its own moves them to slots that were never handed out. Each has ids of its own, as
/// memory that nobody has written may hold rows of the session before.
void KvManagementTest::resetForgetsWhereRowsMovedTo() {
  QFETCH(QString, layout);
  const auto s = opened(tinyManifest({{"layout", layout.toStdString()}}));
  const int seed =
      std::accumulate(layout.begin(), layout.end(), 1000, [](int sum, QChar c) { return sum + c.unicode(); });
  call(*s, "promptIds", {{"ids", someIds(20, 200, seed)}});
  call(*s, "inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}});
  call(*s, "apply");
  const std::vector<std::string> records = recordsOf(*s);
  QVERIFY(slotsWith(*s, records) > 0);
  call(*s, "reset");
  QCOMPARE(slotsWith(*s, records), 0);
}

void KvManagementTest::historyBeginsWithTheStorageThatResetKeeps() {
  const auto s = opened(tinyManifest({{"capacity", 12}, {"history_bytes", 0}}));
  call(*s, "settings", {{"capacity", 24}});
  call(*s, "settings", {{"kv", {{"k", "int8"}, {"v", "f16"}}}});
  call(*s, "settings", {{"layout", "ring_fused"}});
  call(*s, "reset");
  QCOMPARE(call(*s, "position"), json(0));
  call(*s, "promptIds", {{"ids", someIds(20, 200, 1)}});
  const std::string there = stateHash(*s);
  call(*s, "step");
  call(*s, "undo");
  QCOMPARE(stateHash(*s), there);
  QCOMPARE(s->manifest().capacity, 24);
  QCOMPARE(broken(*s), QString());
}

KV_TEST(KvManagementTest)
#include "kv_management_test.moc"
