// SPDX-License-Identifier: Apache-2.0
// The fault drill does the named damage, the same for the same seed, and refuses impossible damage; every
// kind of damage is named by its invariant within its bound (semantics.md, section 9).
#include <set>

#include "core/check/fault_drill.h"
#include "support/cache_fixture.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

void furnishForDrill(CacheFixture& cache) {
  QVERIFY(cache.add(150));
  QVERIFY(cache.apply({ReplacePair{Position(48), Position(49), {TokenId(9)}}, Add{TokenId(3)}}));
  QVERIFY(cache.apply({Evict{Layer(1), {}, {cache.state.context[7], cache.state.context[8]}}}));
  cache.manifest.scrubPeriod = 16;
}

Result<json> inject(CacheFixture& cache, std::string_view kind, const json& params) {
  return injectFault(kind, params, cache.state, cache.store, cache.faults);
}

std::set<std::string> found(const std::vector<Violation>& violations) {
  std::set<std::string> ids;
  for (const Violation& v : violations) ids.insert(v.invariant);
  return ids;
}

bool namesPlace(const std::vector<Violation>& violations, const std::string& invariant, const json& done) {
  return std::any_of(violations.begin(), violations.end(), [&](const Violation& v) {
    return v.invariant == invariant && v.layer == CacheLayer(done["layer"].get<int>()) &&
        (!v.index || v.index == Index(done["index"].get<int>())) &&
        (!v.ledger || v.ledger == LedgerId(done["ledger"].get<int>()));
  });
}

}  // namespace

class FaultDrillTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void damageIsCaught_data() {
    QTest::addColumn<QByteArray>("kind");
    QTest::addColumn<QByteArray>("column");
    QTest::addColumn<QByteArray>("invariant");
    QTest::addColumn<bool>("atOnce");
    QTest::newRow("value bit") << QByteArray("value_bit") << QByteArray() << QByteArray("row_checksums") << false;
    QTest::newRow("tag bit") << QByteArray("tag_bit") << QByteArray() << QByteArray("row_tags") << true;
    QTest::newRow("checksum bit") << QByteArray("checksum_bit") << QByteArray() << QByteArray("row_checksums") << false;
    QTest::newRow("slot dropped") << QByteArray("map_drop") << QByteArray("slots") << QByteArray("mirror_length")
                                  << true;
    QTest::newRow("entry dropped") << QByteArray("map_drop") << QByteArray("entries") << QByteArray("mirror_length")
                                   << true;
    QTest::newRow("slots swapped") << QByteArray("map_swap") << QByteArray("slots") << QByteArray("row_tags") << true;
    QTest::newRow("entries swapped") << QByteArray("map_swap") << QByteArray("entries") << QByteArray("residency_order")
                                     << true;
  }
  void damageIsCaught() {
    QFETCH(QByteArray, kind);
    QFETCH(QByteArray, column);
    QFETCH(QByteArray, invariant);
    QFETCH(bool, atOnce);
    const std::string id = invariant.toStdString();
    for (int seed = 1; seed <= 60; ++seed) {
      CacheFixture cache({.layers = 3, .position = static_cast<PositionMode>(seed % 3)});
      furnishForDrill(cache);
      QVERIFY(checkAll(cache.input(true)).empty());
      json params{{"seed", seed}};
      if (!column.isEmpty()) params["column"] = column.toStdString();
      const Result<json> done = inject(cache, kind.toStdString(), params);
      QVERIFY2(bool(done), done ? "" : done.error().text().c_str());
      const QByteArray said = "seed " + QByteArray::number(seed) + ": " + QByteArray::fromStdString(done->dump());
      if (atOnce) {
        const auto violations = checkAll(cache.input(false, seed));
        QVERIFY2(found(violations).contains(id), said + "\n" + text(violations).toUtf8());
        if (kind != "map_swap") QVERIFY2(namesPlace(violations, id, *done), said + "\n" + text(violations).toUtf8());
        continue;
      }
      const auto full = checkAll(cache.input(true));
      QVERIFY2(found(full) == std::set<std::string>{id} && namesPlace(full, id, *done),
               said + "\n" + text(full).toUtf8());
      int ticks = 0;
      while (ticks < 16 && checkAll(cache.input(false, 1000 + ticks)).empty()) ++ticks;
      QVERIFY2(ticks < 16, said + ": not found in one scrub period");
    }
  }

  void everyDamageKindIsListedWithItsInvariant() {
    std::set<std::string> invariantIds;
    for (const Invariant& invariant : invariants()) invariantIds.insert(std::string(invariant.id));
    std::set<std::string> kinds;
    for (const FaultKind& kind : faultKinds()) {
      QVERIFY(kinds.insert(std::string(kind.kind)).second);
      QVERIFY(!kind.title.empty() && !kind.params.empty());
      const std::string by(kind.caughtBy.substr(0, kind.caughtBy.find(' ')));
      QVERIFY(by.empty() || invariantIds.contains(by));
    }
    QCOMPARE(kinds.size(), std::size_t{9});
  }

  void selectionIsDeterministic() {
    std::set<std::string> places;
    for (const int seed : {5, 5, 6, 7, 8}) {
      CacheFixture cache({});
      furnishForDrill(cache);
      places.insert(inject(cache, "value_bit", {{"seed", seed}})->dump());
    }
    QCOMPARE(places.size(), std::size_t{4});
  }

  void givenPlacesAreUsed() {
    CacheFixture cache({});
    furnishForDrill(cache);
    const Slot slot = cache.state.map(CacheLayer(1)).slotOf[20];
    const std::uint8_t before = cache.record(1, 20)[3];
    const Result<json> done = inject(cache, "value_bit", {{"layer", 1}, {"index", 20}, {"bit", 27}});
    QVERIFY(done);
    QCOMPARE(cache.record(1, 20)[3], static_cast<std::uint8_t>(before ^ 8));
    QCOMPARE((*done)["slot"].get<int>(), slot.value());
    QVERIFY(inject(cache, "value_bit", {{"layer", 1}, {"index", 20}, {"bit", 27}}));
    QVERIFY(checkAll(cache.input(true)).empty());  // flipped back
    QVERIFY(inject(cache, "map_swap", {{"layer", 1}, {"index", 3}, {"other", 90}}));
    QVERIFY(found(checkAll(cache.input(false))) == std::set<std::string>{"row_tags"});
    QVERIFY(inject(cache, "map_swap", {{"layer", 1}, {"index", 90}, {"other", 3}}));
    QVERIFY(checkAll(cache.input(true)).empty());  // swapped back
  }

  void otherLayersKeepTheirMap() {
    CacheFixture cache({});
    furnishForDrill(cache);
    const auto shared = cache.state.group(CacheLayer(2)).map;
    QCOMPARE(cache.state.group(CacheLayer(0)).map, shared);
    QVERIFY(inject(cache, "map_drop", {{"layer", 0}, {"index", 2}}));
    QCOMPARE(cache.state.group(CacheLayer(2)).map, shared);
    QCOMPARE(cache.state.map(CacheLayer(0)).slotOf.size(), shared->slotOf.size() - 1);
  }

  void failuresAreArmed() {
    CacheFixture cache({});
    const std::pair<const char*, FaultPoint> kinds[] = {
        {"allocation", FaultPoint::Allocation}, {"kernel", FaultPoint::Kernel}, {"copy", FaultPoint::Copy}};
    for (const auto& [kind, point] : kinds) {
      QVERIFY(inject(cache, kind, {{"n", 3}}));
      QVERIFY(cache.faults.armed());
      for (int pass = 1; pass <= 5; ++pass) QCOMPARE(bool(cache.faults.pass(point, "a step")), pass != 3);
      QVERIFY(!cache.faults.armed());
    }
    QVERIFY(inject(cache, "allocation", nullptr));
    const CacheState before = cache.state;
    const Status failed = cache.add(1);
    QVERIFY(!failed);
    QCOMPARE(failed.error().code, std::string("fault"));
    QVERIFY(cache.state.context.sharesWith(before.context));
    QVERIFY(cache.add(1));  // once only
  }

  void badRequestsAreRefused_data() {
    QTest::addColumn<QByteArray>("kind");
    QTest::addColumn<QByteArray>("params");
    QTest::addColumn<QByteArray>("field");
    const auto row = [](const char* kind, const char* params, const char* field) {
      QTest::addRow("%s %s", kind, params) << QByteArray(kind) << QByteArray(params) << QByteArray(field);
    };
    row("meltdown", "{}", "kind");
    row("", "{}", "kind");
    row("value_bit", "[1]", "params");
    row("value_bit", R"({"layr":1})", "layr");
    row("value_bit", R"({"n":1})", "n");
    row("value_bit", R"({"layer":3})", "layer");
    row("value_bit", R"({"layer":-1})", "layer");
    row("value_bit", R"({"layer":1.5})", "layer");
    row("value_bit", R"({"layer":"1"})", "layer");
    row("value_bit", R"({"layer":18446744073709551615})", "layer");
    row("value_bit", R"({"layer":1,"index":148})", "index");
    row("value_bit", R"({"seed":-4})", "seed");
    row("value_bit", R"({"bit":99999999})", "bit");
    row("tag_bit", R"({"bit":64})", "bit");
    row("checksum_bit", R"({"bit":64})", "bit");
    row("map_drop", R"({"column":"rows"})", "column");
    row("map_drop", R"({"column":7})", "column");
    row("map_swap", R"({"index":4,"other":4})", "other");
    row("map_swap", R"({"other":1000})", "other");
    row("kernel", R"({"n":0})", "n");
    row("copy", R"({"layer":0})", "layer");
  }
  void badRequestsAreRefused() {
    QFETCH(QByteArray, kind);
    QFETCH(QByteArray, params);
    QFETCH(QByteArray, field);
    CacheFixture cache({});
    furnishForDrill(cache);
    const Result<json> done = inject(cache, kind.toStdString(), json::parse(params.toStdString()));
    QVERIFY(!done);
    QCOMPARE(done.error().code, std::string("bad_fault"));
    QCOMPARE(QByteArray::fromStdString(done.error().field), field);
    QVERIFY(!done.error().why.empty() && !done.error().remedy.empty());
    QVERIFY(checkAll(cache.input(true)).empty());
    QVERIFY(!cache.faults.armed());
  }

  void emptyCacheIsRefused() {
    CacheFixture cache({});
    for (const char* kind : {"value_bit", "tag_bit", "checksum_bit", "map_drop", "map_swap"})
      QVERIFY(!inject(cache, kind, json::object()));
    QVERIFY(cache.add(1));
    QVERIFY(!inject(cache, "map_swap", json::object()));
    QVERIFY(inject(cache, "map_drop", json::object()));
  }
};

KV_TEST(FaultDrillTest)
#include "fault_drill_test.moc"
