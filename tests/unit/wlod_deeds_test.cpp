// SPDX-License-Identifier: Apache-2.0
// The recorded deeds of wLOD passes agree with the rules of attention, and a deed that disagrees is named.
#include "core/check/checks.h"
#include "core/kinds/wlod/check/wlod_checks.h"
#include "core/kinds/wlod/state/wlod_state.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

json manifestWith(const json& wlod, const json& more = json::object()) {
  json all{{"capacity", 0}, {"check", {{"level", "full"}}}};
  json own{{"budget", 400}, {"moments", 2048}, {"protect", 0}, {"cooldown", 0}, {"lens", "off"}};
  own.update(wlod);
  all["wlod"] = own;
  all.update(more);
  return all;
}

const json kPyramidSettings{{"attention", "pyramid"}, {"w", 32}, {"w2", 1024}, {"near_causal", true}};

json collapseArgs(std::int32_t start) {
  return {{"actions", {{{"action", "collapse"}, {"node", TreeNode{1, start}.id().value()}}}}, {"now", true}};
}

QByteArray findingsOf(const SessionFixture& s) {
  QByteArray out;
  for (const InvariantState& one : s->snapshot()->invariants)
    if (!one.ok) out += QByteArray::fromStdString(std::string(one.id) + ": " + one.detail + "; ");
  return out;
}

}  // namespace

class WlodDeedsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void passesAreWrittenDown_data() {
    QTest::addColumn<QString>("manifest");
    const auto row = [](const json& manifest) {
      QTest::newRow(manifest.dump().c_str()) << QString::fromStdString(manifest.dump());
    };
    row(manifestWith(json::object()));
    row(manifestWith(kPyramidSettings));
    row(manifestWith(kPyramidSettings, {{"residency", "kv_head"}, {"policy", "h2o:capacity=60"}}));
    row(manifestWith(kPyramidSettings, {{"layout", "ring_fused"}, {"ring", {{"window", 90}}}}));
    row(manifestWith(json::object(), {{"model", "synthetic:tiny-gemma"}}));
  }
  void passesAreWrittenDown() {
    QFETCH(QString, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(150);
    s.must("inject", collapseArgs(32));
    for (int i = 0; i < 3; ++i) {
      s.must("step");
      const std::span<const PassDeed> deeds = s->store().deeds().all();
      for (const CacheLayer layer : s->state().layers())
        QVERIFY(std::ranges::any_of(deeds, [&](const PassDeed& one) { return one.layer == layer && one.given; }));
      QCOMPARE(findingsOf(s), QByteArray());
    }
  }

  /// The newest row may be a gist: it begins with the mean of embeddings as layers get them, scaled where the model
  /// scales them.
  void newestGist_data() {
    QTest::addColumn<QString>("model");
    for (const char* model : {"synthetic:tiny", "synthetic:tiny-gemma"}) QTest::newRow(model) << QString(model);
  }
  void newestGist() {
    QFETCH(QString, model);
    SessionFixture s(manifestWith(json::object(), {{"model", model.toStdString()}}));
    s.prompt(64);
    s.must("inject", collapseArgs(32));
    QCOMPARE(wlodIn(s->state()).context.entries()[s->state().context.size() - 1].level, 1);
    QCOMPARE(findingsOf(s), QByteArray());
  }

  void wrongDeedsAreNamed_data() {
    QTest::addColumn<QString>("damage");
    for (const char* damage :
         {"a slot of the list", "a phase of the list", "one row less", "its own phase", "written elsewhere"})
      QTest::newRow(damage) << QString(damage);
  }
  void wrongDeedsAreNamed() {
    QFETCH(QString, damage);
    SessionFixture s(manifestWith(kPyramidSettings));
    s.prompt(150);
    s.must("step");
    const std::span<const PassDeed> all = s->store().deeds().all();
    std::vector<PassDeed> deeds(all.begin(), all.end());
    QVERIFY(!deeds.empty());
    PassDeed& last = deeds.back();
    ListDeed list = *last.list;
    if (damage == "a slot of the list") ++list.slots[2];
    if (damage == "a phase of the list") ++list.phases[2];
    if (damage == "one row less") --last.end.back();
    if (damage == "its own phase") --last.phase.back();
    if (damage == "written elsewhere") ++last.written.back();
    last.list = std::make_shared<const ListDeed>(std::move(list));
    // A check that is not full looks at one layer in each tick.
    while (s->state().tick.value() % static_cast<int>(s->state().groupOf.size()) != last.layer.value()) s.must("step");
    for (const bool full : {true, false}) {
      const CheckInput input{.state = s->state(),
                             .store = s->store(),
                             .manifest = s->manifest(),
                             .full = full,
                             .transformer = s->parts().transformer.get(),
                             .deeds = deeds};
      std::vector<Violation> found;
      Findings findings("visible_rows", found);
      checkVisibleRows(input, findings);
      QCOMPARE(found.size(), std::size_t{1});
      QCOMPARE(found[0].layer, std::optional(last.layer));
      QCOMPARE(found[0].ledger, std::optional(LedgerId(static_cast<std::int32_t>(last.tags.back()))));
    }
  }
};

KV_TEST(WlodDeedsTest)
#include "wlod_deeds_test.moc"
