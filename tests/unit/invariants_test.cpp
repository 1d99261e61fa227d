// SPDX-License-Identifier: Apache-2.0
// Every invariant fails for the damage it exists for, names it exactly, and holds otherwise.
#include <functional>
#include <limits>
#include <set>

#include "support/cache_fixture.h"
#include "support/runner.h"

using namespace kvlab;
using Options = CacheFixture::Options;

namespace {
/// A value in the buffer that a column shares with others.
template <class T>
T& writable(const Column<T>& column, std::size_t i) {
  return const_cast<T&>(column[i]);
}

/// One damage with its place, and which invariants must speak (no others).
struct Damage {
  const char* name;
  std::set<std::string> expected;                // the first is the damage that it exists for
  std::function<Violation(CacheFixture&)> make;  // the place that must be named by `expected`'s named one
  const char* named;                             // invariant whose finding must name the place
  bool full = true;
  PositionMode position = PositionMode::Context;
};

Violation violationAt(int layer, int index, LedgerId ledger) {
  return {"", "", CacheLayer(layer), Index(index), ledger};
}

/// 40 tokens, an edit, and rows evicted from layer 1 and one row from every layer.
void furnish(CacheFixture& cache) {
  QVERIFY(cache.add(40));
  QVERIFY(cache.apply({ReplacePair{Position(4), Position(5), {TokenId(9)}}, Delete{Position(12)},
                       Insert{Position(20), {TokenId(1), TokenId(2)}}, Add{TokenId(3)}}));
  const LedgerId gone = cache.state.context[30], other = cache.state.context[7];
  QVERIFY(cache.apply({Evict{Layer(0), {}, {gone}}, Evict{Layer(1), {}, {gone, other}}, Evict{Layer(2), {}, {gone}}}));
}

/// Layer 1 as a ring over its rows, which lie there in order.
RingState& inRing(CacheFixture& c, int layer) {
  ResidencyView& map = c.ownMap(layer);
  const auto rows = static_cast<std::int32_t>(map.size());
  for (std::int32_t i = 0; i < rows; ++i) c.writeRow(layer, Slot(i), map.ledger[static_cast<std::size_t>(i)].value());
  map.slotOf = Column<Slot>::make(map.size(), [&](Slot* out) {
    for (std::int32_t i = 0; i < rows; ++i) out[i] = Slot(i);
  });
  c.store.slots(CacheLayer(layer)).restart(runsOf(map.slotOf.span()));
  LayerGroup& group = c.state.groups.back();
  RingState ring;
  ring.capacity = ring.window = 400;
  ring.filled = rows;
  ring.offset = rows;
  group.ring = ring;
  return *group.ring;
}

Violation lastOf(CacheFixture& c, int layer) {
  const ResidencyView& map = c.state.map(CacheLayer(layer));
  return violationAt(layer, static_cast<int>(map.size()) - 1, map.ledger[map.size() - 1]);
}

std::vector<Damage> damages() {
  std::vector<Damage> all;
  const auto add = [&](const char* named, const char* name, std::set<std::string> expected,
                       std::function<Violation(CacheFixture&)> make, bool full = true,
                       PositionMode position = PositionMode::Context) {
    expected.insert(named);
    all.push_back({name, std::move(expected), std::move(make), named, full, position});
  };

  add("mirror_length", "brightness too short", {}, [](CacheFixture& c) {
    c.state.brightness = c.state.brightness.prefix(10);
    return Violation{};
  });
  add("mirror_length", "a birth phase too few", {}, [](CacheFixture& c) {
    c.state.birthPhases = c.state.birthPhases.prefix(c.state.birthPhases.size() - 1);
    return Violation{};
  });
  add("mirror_length", "provenance too short", {}, [](CacheFixture& c) {
    LayerGroup& group = c.state.groups[static_cast<std::size_t>(c.state.groupOf[1])];
    group.provenance = group.provenance.prefix(3);
    return Violation{"", "", CacheLayer(1), {}, {}};
  });
  add("mirror_length", "phases too long", {}, [](CacheFixture& c) {
    c.state.phases = changed(c.state.phases, [](auto& v) { v.push_back(v.back() + 1); });
    return Violation{};
  });
  add("mirror_length", "a layer without a map", {}, [](CacheFixture& c) {
    c.state.groupOf[2] = 77;
    return Violation{"", "", CacheLayer(2), {}, {}};
  });
  add("mirror_length", "a whole entry lost", {}, [](CacheFixture& c) {
    ResidencyView& map = c.ownMap(2);
    const auto drop = [](auto& v) { v.erase(v.begin() + 5); };
    map.ledger = changed(map.ledger, drop);
    map.slotOf = changed(map.slotOf, drop);
    map.phases = changed(map.phases, drop);
    return Violation{"", "", CacheLayer(2), {}, {}};
  });
  add("mirror_length", "an eviction forgotten", {}, [](CacheFixture& c) {
    LayerGroup& group = c.state.groups[static_cast<std::size_t>(c.state.groupOf[1])];
    group.evicted = group.evicted.prefix(1);
    return Violation{"", "", CacheLayer(1), {}, {}};
  });
  add("mirror_length", "the last slot lost", {}, [](CacheFixture& c) {
    ResidencyView& map = c.ownMap(2);
    map.slotOf = map.slotOf.prefix(map.slotOf.size() - 1);
    return Violation{"", "", CacheLayer(2), {}, {}};
  });

  add(
      "context_rows", "a replaced row in the context", {},
      [](CacheFixture& c) {
        const LedgerId id = c.state.context[8];
        c.state.ledger.change(id).state = RowState::Replaced;
        return Violation{"", "", {}, Index(8), id};
      },
      false);
  add(
      "context_rows", "evicted though resident", {},
      [](CacheFixture& c) {
        const LedgerId id = c.state.context[7];
        c.state.ledger.change(id).state = RowState::Evicted;
        return Violation{"", "", {}, Index(7), id};
      },
      false);
  add(
      "context_rows", "live though in no layer", {},
      [](CacheFixture& c) {
        const LedgerId id = c.state.context[30];
        c.state.ledger.change(id).state = RowState::Live;
        return Violation{"", "", {}, Index(30), id};
      },
      false);
  add(
      "context_rows", "a row twice", {"residency_order"},
      [](CacheFixture& c) {
        c.state.context = changed(c.state.context, [](auto& v) { v[3] = v[2]; });
        return Violation{"", "", {}, Index(3), c.state.context[2]};
      },
      false);
  add(
      "context_rows", "a row that does not exist", {"residency_order"},
      [](CacheFixture& c) {
        c.state.context = changed(c.state.context, [](auto& v) { v[3] = LedgerId(123456); });
        return Violation{"", "", {}, Index(3), LedgerId(123456)};
      },
      false);

  add("ledger_states", "a deleted row made live", {}, [](CacheFixture& c) {
    c.state.ledger.change(LedgerId(12)).state = RowState::Live;
    return Violation{"", "", {}, {}, LedgerId(12)};
  });
  add(
      "ledger_states", "a child disowned", {},
      [](CacheFixture& c) {
        const LedgerId child = c.state.context[4];
        c.state.ledger.change(LedgerId(4)).children.clear();
        return Violation{"", "", {}, {}, child};
      },
      false);
  add("ledger_states", "a parent disowned", {}, [](CacheFixture& c) {
    c.state.ledger.change(c.state.context[4]).parents.clear();
    return Violation{"", "", {}, {}, LedgerId(4)};
  });

  add(
      "residency_order", "two entries swapped", {"phases_increase"},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        const auto swap = [](auto& v) { std::swap(v[10], v[11]); };
        map.ledger = changed(map.ledger, swap);
        map.slotOf = changed(map.slotOf, swap);
        return violationAt(1, 11, map.ledger[11]);
      },
      false);
  add(
      "residency_order", "two entries swapped, mode cache", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        const auto swap = [](auto& v) { std::swap(v[10], v[11]); };
        map.ledger = changed(map.ledger, swap);
        map.slotOf = changed(map.slotOf, swap);
        return violationAt(1, 11, map.ledger[11]);
      },
      false, PositionMode::Cache);
  add(
      "residency_order", "a row of the past", {"row_tags"},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(0);
        map.ledger = changed(map.ledger, [](auto& v) { v.back() = LedgerId(5); });
        return violationAt(0, static_cast<int>(map.ledger.size()) - 1, LedgerId(5));
      },
      false);

  add(
      "slots_unique", "a slot used twice", {"row_tags"},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.slotOf = changed(map.slotOf, [](auto& v) { v[6] = v[3]; });
        return violationAt(1, 6, map.ledger[6]);
      },
      false);
  add(
      "slots_unique", "a slot outside the pool", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.slotOf = changed(map.slotOf, [](auto& v) { v[6] = Slot(400); });
        return violationAt(1, 6, map.ledger[6]);
      },
      false);
  add(
      "slots_unique", "a negative slot", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.slotOf = changed(map.slotOf, [](auto& v) { v[6] = Slot(-1); });
        return violationAt(1, 6, map.ledger[6]);
      },
      false);
  add(
      "slots_unique", "a used slot given back", {},
      [](CacheFixture& c) {
        const Slot slot = c.state.map(CacheLayer(2)).slotOf[9];
        c.store.slots(CacheLayer(2)).give(std::span(&slot, 1));
        return violationAt(2, 9, c.state.map(CacheLayer(2)).ledger[9]);
      },
      false);
  add(
      "slots_unique", "a used slot never taken", {},
      [](CacheFixture& c) {
        std::vector<Slot> taken;
        for (int i = 0; i < 41; ++i) taken.emplace_back(i);
        c.store.slots(CacheLayer(2)).restart(runsOf(taken));
        const auto& map = c.state.map(CacheLayer(2));
        const auto found = std::find_if(map.slotOf.begin(), map.slotOf.end(), [](Slot s) { return s.value() >= 41; });
        const auto index = found - map.slotOf.begin();
        return violationAt(2, static_cast<int>(index), map.ledger[static_cast<std::size_t>(index)]);
      },
      false);

  add(
      "phases_increase", "a phase repeated in a map", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.phases = changed(map.phases, [](auto& v) { v[9] = v[8]; });
        return violationAt(1, 9, map.ledger[9]);
      },
      false);
  add(
      "phases_increase", "a phase that is not the position", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.phases = changed(map.phases, [](auto& v) { v.back() += 2; });
        return violationAt(1, static_cast<int>(map.size()) - 1, map.ledger[map.size() - 1]);
      },
      false);
  add(
      "phases_increase", "a phase that is not the index, mode cache", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.phases = changed(map.phases, [](auto& v) { v.back() += 2; });
        return violationAt(1, static_cast<int>(map.size()) - 1, map.ledger[map.size() - 1]);
      },
      false, PositionMode::Cache);
  add(
      "phases_increase", "phases of the context out of order, mode absolute", {},
      [](CacheFixture& c) {
        c.state.phases = changed(c.state.phases, [](auto& v) { v[30] = v[29]; });  // in no layer
        return Violation{"", "", {}, Index(30), c.state.context[30]};
      },
      false, PositionMode::Absolute);
  add(
      "phases_increase", "no phase left", {},
      [](CacheFixture& c) {
        const auto top = [](auto& v) { v.back() = std::numeric_limits<std::int32_t>::max(); };
        c.state.phases = changed(c.state.phases, top);
        for (int layer = 0; layer < 3; ++layer) {
          ResidencyView& map = c.ownMap(layer);
          map.phases = changed(map.phases, top);
        }
        return Violation{};
      },
      false, PositionMode::Absolute);
  add(
      "phases_increase", "a phase outside the table of other phases", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.phases = changed(map.phases, [](auto& v) { v[9] = -5; });
        return violationAt(1, 9, map.ledger[9]);
      },
      false);

  add(
      "row_tags", "two slots swapped", {},
      [](CacheFixture& c) {
        ResidencyView& map = c.ownMap(1);
        map.slotOf = changed(map.slotOf, [](auto& v) { std::swap(v[10], v[30]); });
        return violationAt(1, 10, map.ledger[10]);
      },
      false);
  add("row_tags", "a row overwritten by another's", {}, [](CacheFixture& c) {
    c.writeRow(2, c.state.map(CacheLayer(2)).slotOf[17], 3);
    return violationAt(2, 17, c.state.map(CacheLayer(2)).ledger[17]);
  });

  add("row_checksums", "a bit of a value", {}, [](CacheFixture& c) {
    c.record(0, 21)[4] ^= 1;
    return violationAt(0, 21, c.state.map(CacheLayer(0)).ledger[21]);
  });
  add("row_checksums", "a bit of a checksum", {}, [](CacheFixture& c) {
    c.record(0, 21)[c.store.pool(CacheLayer(0)).stride() - 1] ^= 128;
    return violationAt(0, 21, c.state.map(CacheLayer(0)).ledger[21]);
  });

  add("finite_rows", "a key that overflowed", {}, [](CacheFixture& c) {
    const auto& map = c.state.map(CacheLayer(1));
    c.writeRow(1, map.slotOf[2], map.ledger[2].value(), std::numeric_limits<float>::infinity());
    return violationAt(1, 2, map.ledger[2]);
  });

  for (const float bad : {-1.f, 256.f, std::numeric_limits<float>::quiet_NaN()})
    add(
        "brightness_range", "brightness out of range", {},
        [bad](CacheFixture& c) {
          c.state.brightness = changed(c.state.brightness, [bad](auto& v) { v[11] = bad; });
          return Violation{"", "", {}, Index(11), c.state.context[11]};
        },
        false);

  add(
      "capacity", "one row more than the capacity", {},
      [](CacheFixture& c) {
        c.rules.capacity =
            static_cast<std::int64_t>(c.state.map(CacheLayer(1)).size());  // layers 0 and 2 have one more
        return Violation{"", "", CacheLayer(0), {}, {}};
      },
      false);

  add("storage_form", "a ring whose pointer is off", {}, [](CacheFixture& c) {
    inRing(c, 1).offset += 1;
    return lastOf(c, 1);
  });
  add("storage_form", "a ring that counts a row too many", {}, [](CacheFixture& c) {
    RingState& ring = inRing(c, 1);
    ++ring.filled;
    ++ring.offset;
    return lastOf(c, 1);
  });
  add("storage_form", "two rows of a ring exchanged, maps and all", {"row_tags"}, [](CacheFixture& c) {
    inRing(c, 1);
    ResidencyView& map = c.ownMap(1);
    map.slotOf = changed(map.slotOf, [](auto& v) { std::swap(v[6], v[7]); });
    return violationAt(1, 6, map.ledger[6]);
  });

  add(
      "next_logits", "no logits", {},
      [](CacheFixture& c) {
        c.state.logits = nullptr;
        return Violation{};
      },
      false);
  add(
      "next_logits", "a logit too few", {},
      [](CacheFixture& c) {
        c.state.logits = std::make_shared<std::vector<float>>(999, 0.f);
        return Violation{};
      },
      false);
  add(
      "next_logits", "a logit that is no number", {},
      [](CacheFixture& c) {
        auto logits = std::make_shared<std::vector<float>>(1000, 0.f);
        (*logits)[5] = std::numeric_limits<float>::quiet_NaN();
        c.state.logits = logits;
        return Violation{};
      },
      false);

  add("prefix_sums", "sums of another map", {}, [](CacheFixture& c) {
    LayerGroup& group = c.state.groups[static_cast<std::size_t>(c.state.groupOf[1])];
    group.idSums = changed(group.idSums, [](auto& v) { v = {0, 1, 2}; });
    return Violation{"", "", CacheLayer(1), Index(1), {}};
  });
  add("prefix_sums", "sums of a longer context", {}, [](CacheFixture& c) {
    c.state.contextSums = changed(c.state.contextSums, [](auto& v) { v.assign(500, 0); });
    return Violation{};
  });
  return all;
}

}  // namespace

class InvariantsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void soundStatesPass_data() {
    QTest::addColumn<int>("position");
    QTest::addColumn<int>("dtype");
    QTest::addColumn<int>("threads");
    for (int position = 0; position < 3; ++position)
      for (const int dtype : {int(kernels::DType::f32), int(kernels::DType::f16), int(kernels::DType::bf16)})
        QTest::addRow("position %d, dtype %d", position, dtype) << position << dtype << 1 + dtype % 2;
  }
  void soundStatesPass() {
    QFETCH(int, position);
    QFETCH(int, dtype);
    QFETCH(int, threads);
    Options options;
    options.position = static_cast<PositionMode>(position);
    options.dtype = static_cast<kernels::DType>(dtype);
    options.threads = threads;
    CacheFixture cache(options);
    QVERIFY2(checkAll(cache.input(true)).empty(), "an empty cache");
    furnish(cache);
    for (const bool full : {false, true})
      QVERIFY2(checkAll(cache.input(full)).empty(), qPrintable(text(checkAll(cache.input(full)))));
    QVERIFY(cache.apply({Delete{Position(7)}, Delete{Position(30)}}));  // the evicted ones
    QVERIFY2(checkAll(cache.input(true)).empty(), qPrintable(text(checkAll(cache.input(true)))));
    QCOMPARE(cache.state.group(CacheLayer(1)).absent, 0);
  }

  void damageIsNamed_data() {
    QTest::addColumn<int>("number");
    const std::vector<Damage> all = damages();
    for (std::size_t i = 0; i < all.size(); ++i)
      QTest::addRow("%zu %s: %s", i, all[i].named, all[i].name) << static_cast<int>(i);
  }
  void damageIsNamed() {
    QFETCH(int, number);
    const Damage damage = damages()[static_cast<std::size_t>(number)];
    Options options;
    options.position = damage.position;
    CacheFixture cache(options);
    furnish(cache);
    const CacheState sound = cache.state;
    const Violation place = damage.make(cache);
    const std::vector<Violation> found = checkAll(cache.input(damage.full));
    std::set<std::string> ids;
    for (const Violation& violation : found) ids.insert(violation.invariant);
    QVERIFY2(ids == damage.expected, qPrintable("found:\n" + text(found)));
    const bool named = std::any_of(found.begin(), found.end(), [&](const Violation& v) {
      return v.invariant == damage.named && v.layer == place.layer && v.index == place.index &&
          v.ledger == place.ledger && !v.detail.empty();
    });
    QVERIFY2(named, qPrintable("no finding names the place:\n" + text(found)));
    if (damage.full) return;
    CheckInput behind = cache.input(false);  // looks at the parts that differ from the state that passed
    behind.passed = &sound;
    QCOMPARE(text(checkAll(behind)), text(found));
  }

  /// A check after one that passed finds the same as a check of everything, however many rows came in between.
  void whatCameIsLookedAt_data() {
    QTest::addColumn<int>("come");
    for (const int come : {0, 1, 8, 9, 40}) QTest::addRow("%d rows came", come) << come;
  }
  void whatCameIsLookedAt() {
    QFETCH(int, come);
    const auto last = [](const CacheState& state) { return state.map(CacheLayer(1)).size() - 1; };
    const std::pair<const char*, std::function<void(CacheFixture&)>> kinds[] = {
        {"", [](CacheFixture&) {}},
        {"slots_unique",
         [&](CacheFixture& c) {
           ResidencyView& map = c.ownMap(1);
           map.slotOf = changed(map.slotOf, [](auto& v) { v.back() = v[v.size() - 2]; });
         }},
        {"slots_unique",
         [&](CacheFixture& c) {
           const Slot slot = c.state.map(CacheLayer(1)).slotOf[last(c.state)];
           c.store.slots(CacheLayer(1)).give(std::span(&slot, 1));
         }},
        {"context_rows", [](CacheFixture& c) { c.state.ledger.change(LedgerId(3)).state = RowState::Live; }},
        {"context_rows",
         [](CacheFixture& c) {
           c.state.ledger.change(c.state.context[c.state.context.size() - 1]).state = RowState::Evicted;
         }},
        {"context_rows",
         [](CacheFixture& c) { c.state.context = changed(c.state.context, [](auto& v) { v.back() = v.front(); }); }},
        {"row_tags",
         [&](CacheFixture& c) {
           c.writeRow(1, c.state.map(CacheLayer(1)).slotOf[last(c.state)], 3);
           LayerGroup& group = c.state.groups[static_cast<std::size_t>(c.state.groupOf[1])];
           group.writers = changed(group.writers, [](auto& v) { v.back() += 1; });
         }},
        // A row that was appended wrongly: the columns share the memory of those that passed, as far as these go.
        {come > 0 ? "residency_order" : "",
         [&](CacheFixture& c) {
           if (come > 0) writable(c.state.map(CacheLayer(1)).ledger, last(c.state)) = LedgerId(5);
         }},
        {come > 0 ? "phases_increase" : "",
         [&](CacheFixture& c) {
           if (come > 0) writable(c.state.map(CacheLayer(1)).phases, last(c.state)) -= 1;
         }},
    };
    for (const auto& [invariant, damage] : kinds) {
      CacheFixture cache({});
      QVERIFY(cache.add(70));
      QVERIFY(cache.apply({Evict{Layer(0), {}, {LedgerId(3)}}, Evict{Layer(1), {}, {LedgerId(3)}},
                           Evict{Layer(2), {}, {LedgerId(3)}}}));
      for (LayerGroup& group : cache.state.groups)
        group.writers = Column<std::int32_t>(std::vector<std::int32_t>(cache.state.ledger.size(), 1));
      const CacheState sound = cache.state;
      QVERIFY(cache.add(come));
      for (LayerGroup& group : cache.state.groups)
        for (int i = 0; i < come; ++i) group.writers.push_back(2);
      damage(cache);
      CheckInput behind = cache.input(false, 1);
      behind.passed = &sound;
      const QString found = text(checkAll(behind));
      QVERIFY2(*invariant ? found.contains(invariant) : found.isEmpty(), invariant + found.toUtf8());
      behind.passed = nullptr;
      QCOMPARE(text(checkAll(behind)), found);
    }
  }

  void everyInvariantHasDamage() {
    std::set<std::string> listed, damaged;
    for (const Invariant& invariant : invariants()) {
      QVERIFY(!invariant.title.empty());
      QVERIFY2(listed.insert(std::string(invariant.id)).second, "an id twice");
    }
    for (const Damage& damage : damages()) damaged.insert(damage.named);
    damaged.insert({"wlod_tiling", "wlod_rows"});                                     // in property/wlod_session_test
    damaged.insert({"drawn_tokens", "edit_passes", "gate_scores", "policy_scores"});  // in unit/commit_checks_test
    // In unit/bugs_test:
    damaged.insert({"visible_rows", "exact_rows", "slot_conservation", "scale_law", "policy_contract", "row_origin"});
    QVERIFY(listed == damaged);
    QVERIFY(listed.size() < 32);  // a bit for each in core/session/check_marks
  }

  void checksumsAreReadOnceInAPeriod() {
    CacheFixture cache({});
    furnish(cache);
    cache.manifest.scrubPeriod = 8;
    const int flipped = 23;
    cache.record(0, flipped)[0] ^= 4;
    const std::int32_t id = cache.state.map(CacheLayer(0)).ledger[flipped].value();
    int found = 0;
    for (std::int64_t tick = 100; tick < 108; ++tick) {
      const std::vector<Violation> violations = checkAll(cache.input(false, tick));
      if (violations.empty()) continue;
      ++found;
      QCOMPARE(tick % 8, std::int64_t{id % 8});
      QCOMPARE(violations.front().invariant, std::string("row_checksums"));
    }
    QCOMPARE(found, 1);
  }

  /// Tags of rows that nobody has written are read with the checksums.
  void tagsOfOldRowsAreReadOnceInAPeriod() {
    CacheFixture cache({});
    furnish(cache);
    cache.manifest.scrubPeriod = 8;
    const CacheState sound = cache.state;
    const LedgerId id = cache.state.map(CacheLayer(2)).ledger[17];
    cache.writeRow(2, cache.state.map(CacheLayer(2)).slotOf[17], 3);
    int found = 0;
    for (std::int64_t tick = 100; tick < 108; ++tick) {
      CheckInput behind = cache.input(false, tick);
      behind.passed = &sound;
      const std::vector<Violation> violations = checkAll(behind);
      if (violations.empty()) continue;
      ++found;
      QCOMPARE(tick % 8, std::int64_t{id.value() % 8});
      QCOMPARE(violations.front().invariant, std::string("row_tags"));
    }
    QCOMPARE(found, 1);
    QCOMPARE(checkAll(cache.input(false, id.value() + 1)).size(), std::size_t{1});  // nothing has passed: all tags
  }

  void findingsAreKeptShort() {
    CacheFixture cache({});
    QVERIFY(cache.add(60));
    cache.state.brightness = changed(cache.state.brightness, [](auto& v) { std::fill(v.begin(), v.end(), -1.f); });
    const std::vector<Violation> found = checkAll(cache.input(false));
    QCOMPARE(found.size(), std::size_t{16});
    QVERIFY(QString::fromStdString(found.back().detail).endsWith("(and 44 more)"));
  }
};

KV_TEST(InvariantsTest)
#include "invariants_test.moc"
