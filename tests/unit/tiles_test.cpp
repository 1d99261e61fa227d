// SPDX-License-Identifier: Apache-2.0
// Tiles: the content of each column, and norms that a device brings beside the ticks: they belong to the state of the
// request whatever happens meanwhile. With a late device (support/far_module.cpp) reading happens last, unless
// something waits for it.
#include "core/session/tiles.h"
#include "core/session/ticks.h"
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/session_fixture.h"

#include <cmath>

using namespace kvlab;

namespace {

json on(const char* backend, json changes = json::object()) {
  changes["backend"] = backend;
  return changes;
}

std::unique_ptr<PendingTile> ask(const SessionFixture& s, Quantity quantity, std::int32_t begin = 0,
                                 std::int32_t end = INT32_MAX) {
  auto tile = kvlab::tile(*s, {.quantity = quantity, .begin = Position(begin), .end = Position(end)});
  if (!tile) qFatal("%s", tile.error().text().c_str());
  return tile.take();
}

std::vector<float> tileValues(PendingTile& tile) {
  Result<Tile> taken = tile.take();
  if (!taken) qFatal("%s", taken.error().text().c_str());
  return taken->values;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

/// From the rows as they are read one by one.
std::vector<float> norms(const SessionFixture& s, bool keys) {
  std::vector<float> out;
  for (const CacheLayer layer : s->state().layers()) {
    const ResidencyView& map = s->state().map(layer);
    const RowPool& pool = s->store().pool(layer);
    std::vector<float> row(static_cast<std::size_t>(pool.width()));
    std::size_t i = 0;
    for (const LedgerId id : s->state().context) {
      const bool counted = i < map.size() && map.ledger[i] == id, resident = counted && map.has(i);
      if (resident)
        pool.gather(std::vector{map.slotOf[i].value()}, keys ? row.data() : nullptr, keys ? nullptr : row.data());
      double sum = 0;
      for (const float x : row) sum += double{x} * x;
      out.push_back(resident ? static_cast<float>(std::sqrt(sum)) : std::nanf(""));
      i += counted;
    }
  }
  return out;
}

bool near(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return std::isnan(x) ? std::isnan(y) : std::abs(x - y) <= 1e-6f * y;
         });
}

}  // namespace

class TilesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    m_backend = qEnvironmentVariableIsSet("KVLAB_CUDA_MODULE") ? "cuda" : "cpu";
    m_late = qEnvironmentVariableIntValue("KVLAB_FAR_LATE") != 0;
  }

  void normsAreThoseOfTheRows() {
    for (const json& changes :
         {json::object(), json{{"kv", {{"k", "int8"}, {"v", "f16"}}}}, json{{"policy", evicting()}}}) {
      SessionFixture s(on(m_backend, changes));
      s.prompt(60);
      s.must("step", {{"n", 12}});
      for (const Quantity quantity : {Quantity::KNorm, Quantity::VNorm})
        QVERIFY(near(tileValues(*ask(s, quantity)), norms(s, quantity == Quantity::KNorm)));
    }
  }

  void aPartIsThatPartOfTheWhole() {
    SessionFixture s(on(m_backend, {{"policy", evicting()}}));
    s.prompt(60);
    const std::size_t length = 60, layers = s->state().layers().size();
    for (const Quantity quantity : {Quantity::KNorm, Quantity::Residency, Quantity::Age, Quantity::Attention}) {
      const std::vector<float> all = tileValues(*ask(s, quantity));
      for (const auto& [begin, end] : {std::pair{0, 1}, {13, 41}, {59, 60}, {60, 60}, {50, 400}, {300, 400}}) {
        const std::size_t from = static_cast<std::size_t>(std::min(begin, 60)),
                          to = static_cast<std::size_t>(std::min(end, 60));
        std::vector<float> wanted;
        for (std::size_t l = 0; l < layers; ++l)
          wanted.insert(wanted.end(), all.begin() + static_cast<std::ptrdiff_t>(l * length + from),
                        all.begin() + static_cast<std::ptrdiff_t>(l * length + to));
        QVERIFY(same(tileValues(*ask(s, quantity, begin, end)), wanted));
      }
    }
  }

  /// Work that overwrites rows waits for the reading; work that only adds rows does not.
  void aTileIsOfItsMoment() {
    struct Change {
      const char* what;
      json manifest;
      std::function<void(SessionFixture&)> run;
    };
    const std::vector<Change> changes{
        {"tokens", json::object(),
         [](SessionFixture& s) {
           s.must("step", {{"n", 8}});
         }},
        {"evictions",
         {{"policy", evicting()}, {"history_bytes", 0}},
         [](SessionFixture& s) {
           s.must("step", {{"n", 12}});
         }},
        {"a ring",
         {{"layout", "ring_fused"}, {"ring", {{"window", 48}}}, {"history_bytes", 0}},
         [](SessionFixture& s) {
           s.must("step", {{"n", 60}});
         }},
        {"moved rows", {{"layout", "contiguous_splice"}}, [](SessionFixture& s) { edit(s); }},
        {"undo", json::object(),
         [](SessionFixture& s) {
           s.must("undo"), s.prompt(9, 77), s.must("step", {{"n", 3}});
         }},
        {"an edit", json::object(),
         [](SessionFixture& s) {
           edit(s), s.must("step", {{"n", 3}});
         }},
        {"turned keys", {{"key_phase", "at_write"}}, [](SessionFixture& s) { edit(s); }},
        {"a rebuild", json::object(), [](SessionFixture& s) { s.must("rebuild"); }},
        {"reset", json::object(), [](SessionFixture& s) { s.must("reset"), s.prompt(30, 3); }},
        {"pools of another size", json::object(),
         [](SessionFixture& s) {
           s.must("settings", {{"capacity", 120}}), s.must("step", {{"n", 2}});
         }},
    };
    for (const Change& change : changes) {
      SessionFixture s(on(m_backend, change.manifest));
      s.prompt(50);
      s.must("step", {{"n", 3}});
      const std::vector<float> wanted = tileValues(*ask(s, Quantity::VNorm));
      const std::unique_ptr<PendingTile> tile = ask(s, Quantity::VNorm);
      change.run(s);
      QVERIFY2(same(tileValues(*tile), wanted), change.what);
      QCOMPARE(s.damage(), QByteArray());
    }
  }

  /// Steady ticks replay, wait and copy as often with a tile under way as without one.
  void ticksGoOnBeside() {
    if (!m_late) QSKIP("a device that is late is needed");
    SessionFixture s(on(m_backend));
    s.prompt(50);
    s.must("step", {{"n", 4}});
    tileValues(*ask(s, Quantity::KNorm));
    const kernels::Backend& backend = s->transformer().backend();
    const auto costOf = [&](int ticks) {
      const kernels::BackendCounters before = backend.counters();
      s.must("step", {{"n", ticks}});
      const kernels::BackendCounters after = backend.counters();
      return std::array{after.waits - before.waits, after.downloads - before.downloads,
                        after.allocations - before.allocations, after.captures - before.captures};
    };
    const auto alone = costOf(5);
    const std::unique_ptr<PendingTile> tile = ask(s, Quantity::KNorm);
    QVERIFY(!tile->arrived());
    QCOMPARE(costOf(5), alone);
    int asked = 1;
    while (!tile->arrived()) ++asked;
    qInfo("arrived when asked for the %dth time", asked);
    QVERIFY(asked > 1);  // the ticks did not bring it
    tileValues(*tile);
  }

  void aTileMayBeDropped() {
    SessionFixture s(on(m_backend));
    s.prompt(50);
    const std::vector<float> wanted = norms(s, false);
    ask(s, Quantity::KNorm).reset();
    s.must("step");
    QCOMPARE(s.damage(), QByteArray());
    s.must("undo");
    const std::unique_ptr<PendingTile> last = ask(s, Quantity::VNorm);
    s.session.reset();
    QVERIFY(near(tileValues(*last), wanted));  // a tile outlives its session
  }

  /// Attention of other layers than the last comes to the host where somebody asks: the same numbers by either way, and
  /// columns that were not asked for stay away. Looking changes nothing that a tick does.
  void attentionComesWhereItIsAskedFor() {
    SessionFixture all(on(m_backend)), some(on(m_backend));
    keepAttention(*all);
    const std::size_t layers = some->state().layers().size();
    const auto here = [&] {
      std::size_t count = 0;
      for (const std::vector<float>& mass : some->state().attention->mass) count += !mass.empty();
      return count;
    };
    const auto both = [&](const char* verb, const json& args) { all.must(verb, args), some.must(verb, args); };
    const auto agree = [&] {
      return same(tileValues(*ask(all, Quantity::Attention)), tileValues(*ask(some, Quantity::Attention))) &&
          all.hash() == some.hash();
    };
    both("promptIds", {{"ids", SessionFixture::ids(50)}});
    QCOMPARE(here(), layers);  // a prompt is looked at as a whole
    both("step", {{"n", 3}});
    QCOMPARE(here(), std::size_t{1});
    QVERIFY(tile(*some, {Quantity::Attention, CacheLayer(static_cast<int>(layers) - 1)}));
    both("step", {});
    QCOMPARE(here(), std::size_t{1});  // the last layer's was there
    QVERIFY(agree());
    QCOMPARE(here(), std::size_t{1});  // looked for beside the state
    both("step", {{"n", 5}});
    QCOMPARE(here(), layers);  // a caller that has asked may ask again
    QVERIFY(agree());
    both("step", {{"n", 70}});
    QCOMPARE(here(), std::size_t{1});
    QVERIFY(agree());
    both("undo", {});
    QVERIFY(agree());
    QVERIFY(same(tileValues(*ask(some, Quantity::Brightness)), tileValues(*ask(all, Quantity::Brightness))));
    SessionFixture policy(on(m_backend, {{"policy", "h2o:sinks=2,window=6,capacity=40"}}));
    policy.prompt(50);
    policy.must("step", {{"n", 3}});
    QVERIFY(policy->state().attention->whole());
  }

  /// The attention that a prompt paid to the rows stays while the model generates; generated rows have received nothing
  /// yet.
  void receivedAttentionStays() {
    SessionFixture s(on(m_backend));
    s.must("promptIds", {{"ids", SessionFixture::ids(40)}});
    const std::size_t layers = s->state().layers().size();
    const std::vector<float> prompt = tileValues(*ask(s, Quantity::Received));
    QCOMPARE(prompt.size(), layers * 40);
    QVERIFY(std::none_of(prompt.begin(), prompt.end(), [](float one) { return std::isnan(one); }));
    s.must("step", {{"n", 6}});
    const std::vector<float> later = tileValues(*ask(s, Quantity::Received));
    QCOMPARE(later.size(), layers * 46);
    for (std::size_t i = 0; i < later.size(); ++i) {
      const std::size_t layer = i / 46, row = i % 46;
      if (row < 40) QCOMPARE(later[i], prompt[layer * 40 + row]);
      else QVERIFY(std::isnan(later[i]));
    }
    s.must("promptIds", {{"ids", SessionFixture::ids(5)}});
    QVERIFY(!same(tileValues(*ask(s, Quantity::Received, 0, 40)), prompt));
    s.must("undo");
    QVERIFY(same(tileValues(*ask(s, Quantity::Received)), later));
  }

  /// A damaged map is looked at as far as it holds, and looking takes no step of a drill.
  void damageIsLookedAt() {
    for (const json& fault : {json{{"kind", "map_drop"}}, json{{"kind", "map_drop"}, {"column", "entries"}},
                              json{{"kind", "map_swap"}, {"column", "entries"}}, json{{"kind", "tag_bit"}}}) {
      SessionFixture s(on(m_backend, {{"faults", true}}));
      s.prompt(50);
      s.must("step", {{"n", 3}});
      s.must("fault", fault);
      for (int quantity = 0; quantity < kQuantities; ++quantity) {
        auto tile = kvlab::tile(*s, {static_cast<Quantity>(quantity)});
        QVERIFY2(tile, fault.dump().c_str());
        QVERIFY((*tile)->take());
      }
    }
    SessionFixture s(on(m_backend, {{"faults", true}}));
    s.prompt(50);
    s.must("step", {{"n", 3}});
    s.must("fault", {{"kind", "kernel"}, {"n", 1}});
    QVERIFY(!std::isnan(tileValues(*ask(s, Quantity::Attention))[0]));
    QVERIFY(!step(*s).ok);
  }

  void layersBeyondTheLastAreRefused() {
    SessionFixture s(on(m_backend));
    s.prompt(5);
    for (const int layer : {-1, s->cacheLayers().count()})
      QCOMPARE(tile(*s, {Quantity::KNorm, CacheLayer(layer)}).error().code, std::string("out_of_range"));
  }

 private:
  static json evicting() { return "streaming_llm:sinks=4,window=30"; }
  static void edit(SessionFixture& s) {
    s.must("inject",
           {{"actions",
             {{{"action", "replace_pair"}, {"original_pos1", 9}, {"original_pos2", 12}, {"new_token_ids", {7}}}}}});
    s.must("apply");
  }

  const char* m_backend = "cpu";
  bool m_late = false;
};

KV_TEST(TilesTest)
#include "tiles_test.moc"
