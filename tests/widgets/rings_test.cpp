// SPDX-License-Identifier: GPL-3.0-or-later
// The rings view with real clicks and keys: partly filled, full, wrapped and rolled rings, rings of
// thousands of slots, a ring whose figures are wrong, layers without one; and rows that left through a
// window, in the mirror and in the map.
#include <QSignalSpy>
#include <QToolButton>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/table/data_table.h"
#include "widgets/views/map/map_canvas.h"
#include "widgets/views/mirror/mirror_model.h"
#include "widgets/views/rings/rings_view.h"

using namespace kvlab;

namespace {
/// A snapshot of `rows` tokens whose only layer is a ring.
std::shared_ptr<Snapshot> ringOf(int rows, int window, int capacity, bool rolled = false, int fresh = 1) {
  auto s = std::make_shared<Snapshot>(*fixture::hugeSnapshot(1, rows));
  auto map = std::make_shared<ResidencyView>(*s->layers[0]);
  StorageView storage = fixture::plainStorage(capacity, rows);
  fixture::storeInRing(*map, storage, window, capacity, rolled, fresh);
  s->layers[0] = map;
  s->storage[0] = std::make_shared<StorageView>(storage);
  return s;
}

RingPicture pictureOf(std::shared_ptr<Snapshot> s) { return *ringPicture(s, storageGroups(*s).front()); }

int countOf(const RingPicture& ring, SlotUse use) {
  return static_cast<int>(std::count(ring.use.begin(), ring.use.end(), use));
}
}  // namespace

class RingsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void partlyFilled() {
    const RingPicture ring = pictureOf(ringOf(10, 24, 32));
    QCOMPARE(ring.rows(), 10);
    QCOMPARE(countOf(ring, SlotUse::Row), 10);
    QCOMPARE(countOf(ring, SlotUse::Wrapped), 0);
    QCOMPARE(countOf(ring, SlotUse::Room), 8);
    QCOMPARE(countOf(ring, SlotUse::Free), 14);
    QCOMPARE(ring.pointer(), 10);
    QCOMPARE(ring.rowAt[9], 9);
    QVERIFY(ring.written(9) && !ring.written(8) && !ring.written(10));
    QVERIFY(ring.describe(9).contains("the newest") && ring.describe(0).contains("the oldest"));
  }

  void wrapped() {
    const RingPicture ring = pictureOf(ringOf(70, 24, 32, false, 8));  // slots 14..31 and 0..5
    QCOMPARE(ring.head(), 14);
    QCOMPARE(ring.pointer(), 6);
    QCOMPARE(countOf(ring, SlotUse::Row), 18);
    QCOMPARE(countOf(ring, SlotUse::Wrapped), 6);
    QCOMPARE(countOf(ring, SlotUse::Room), 8);
    QCOMPARE(ring.rowAt[14], 0);
    QCOMPARE(ring.rowAt[5], 23);
    QVERIFY(ring.written(31) && ring.written(0) && !ring.written(29));
    QCOMPARE(ring.wrong, 0);
    const auto runs = slotRuns(ring);
    QCOMPARE(runs.size(), std::size_t{3});
  }

  void fullWithoutRoom() {
    const RingPicture ring = pictureOf(ringOf(75, 32, 32));
    QCOMPARE(countOf(ring, SlotUse::Room), 0);
    QCOMPARE(countOf(ring, SlotUse::Row) + countOf(ring, SlotUse::Wrapped), 32);
    QCOMPARE(ring.head(), ring.pointer());
  }

  /// The oldest row lies in slot 0, whatever head the ring would have.
  void rolled() {
    const RingPicture ring = pictureOf(ringOf(70, 24, 32, true));
    QCOMPARE(ring.head(), 0);
    QCOMPARE(ring.pointer(), 24);
    QCOMPARE(countOf(ring, SlotUse::Row), 24);
    QCOMPARE(countOf(ring, SlotUse::Wrapped), 0);
    QCOMPARE(ring.rowAt[0], 0);
    QCOMPARE(ring.wrong, 0);
  }

  /// A ring whose pointer is off by one is shown where map and figures disagree: one row too many, one missing.
  void wrongFiguresAreShown() {
    auto s = ringOf(70, 24, 32);
    StorageView off = *s->storage[0];
    off.ring->head += 1;
    s->storage[0] = std::make_shared<StorageView>(off);
    const RingPicture ring = pictureOf(s);
    QVERIFY(ring.wrong > 0);
    QCOMPARE(ring.use[14], SlotUse::Wrong);
    const auto figures = ringFigures(ring);
    QVERIFY(std::any_of(figures.begin(), figures.end(), [](const RingFigure& f) { return f.mark == RingMark::Wrong; }));
  }

  /// One wrong slot among thousands keeps pixels of its own.
  void oneBadSlotAmongThousands() {
    auto s = ringOf(20000, 8192, 9000);
    auto map = std::make_shared<ResidencyView>(*s->layers[0]);
    std::vector<Slot> places(map->slotOf.begin(), map->slotOf.end());
    places[15000] = Slot(places[15000].value() + 1);  // onto the slot of the next row
    map->slotOf = Column<Slot>(places);
    s->layers[0] = map;
    FakeContext context{SnapshotPtr(s)};
    RingsView view(context, nullptr);
    show(view);
    const QImage shot = view.picture({560, 640}, 1);
    const QRgb red = Theme::current()->error.rgb();
    int seen = 0;
    for (int y = 40; y < 480; ++y)
      for (int x = 0; x < shot.width(); ++x) seen += shot.pixel(x, y) == red;
    QVERIFY2(seen > 8, qPrintable(QString::number(seen)));
  }

  /// In a low column the figures stand in lines beside the ring, which has the height.
  void theRingHasTheRoom() {
    FakeContext context{SnapshotPtr(ringOf(70, 24, 32))};
    RingsView view(context, nullptr);
    show(view);
    view.canvas().resize(500, 290);
    QVERIFY2(view.canvas().shape().radius >= 85, qPrintable(QString::number(view.canvas().shape().radius)));
  }

  void clickFocusesAndSaysSo() {
    FakeContext context({.mixed = true});
    RingsView view(context, nullptr);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    show(view);
    const RingPicture& ring = *view.canvas().ring();
    const RingShape shape = view.canvas().shape();
    const int slot = ring.slotOf[10];
    QSignalSpy said(&context, &InspectorContext::scripted);
    const QPoint at = shape.at(shape.turn(slot + 0.5), shape.radius * 0.9).toPoint();
    QTest::mouseMove(&view.canvas(), at);
    QTRY_COMPARE(context.hovered().value(), ring.positionOf[10]);
    QVERIFY(view.canvas().readout().startsWith("under pointer"));
    QTest::mouseClick(&view.canvas(), Qt::LeftButton, {}, at);
    QCOMPARE(context.focus().position.value(), ring.positionOf[10]);
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QCOMPARE(said.last().at(0).toString(), QString("view.focus({layer: 2, row: %1})").arg(ring.positionOf[10]));
  }

  void keysFollowTheLogicalOrder() {
    FakeContext context({.mixed = true});
    RingsView view(context, nullptr);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    show(view);
    const auto key = [&](Qt::Key pressed) { QTest::keyClick(&view.canvas(), pressed); };
    const auto row = [&] { return view.canvas().ring()->rowOf(context.focus().position); };
    key(Qt::Key_Home);
    QCOMPARE(row(), 0);
    key(Qt::Key_Left);
    QCOMPARE(row(), 0);
    for (int i = 0; i < 3; ++i) key(Qt::Key_Right);
    QCOMPARE(row(), 3);
    key(Qt::Key_End);
    QCOMPARE(row(), 39);
    key(Qt::Key_Down);
    QCOMPARE(context.focus().layer, CacheLayer(3));
    QCOMPARE(view.canvas().ring()->ring.window, 24);
    key(Qt::Key_Up);
    key(Qt::Key_Up);
    QCOMPARE(context.focus().layer, CacheLayer(0));
    QVERIFY(!view.canvas().ring());
    QTest::mouseClick(&view.canvas(), Qt::LeftButton, {}, view.canvas().smallRing(1).toPoint());
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QVERIFY(!view.canvas().accessibleName().isEmpty());
    QVERIFY(view.canvas().accessibleDescription().startsWith("focus"));
  }

  void scrubbingGoesThroughAWrap() {
    FakeContext context({.mixed = true});
    RingsView view(context, nullptr);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(3), Head(0), Position(-1), LedgerId(-1)});
    show(view);
    QSignalSpy said(&context, &InspectorContext::scripted);
    const auto before = view.ticks().wrapBeside(false);
    QVERIFY(before);
    QTest::keyClick(&view.ticks(), Qt::Key_PageUp);
    QCOMPARE(context.snapshot()->tick, *before);
    QCOMPARE(said.last().at(0).toString(), QString("view.focus({tick: %1})").arg(before->value()));
    const std::int64_t wraps = view.canvas().ring()->ring.wraps;
    QTest::keyClick(&view.ticks(), Qt::Key_Left);
    QCOMPARE(view.canvas().ring()->ring.wraps, wraps - 1);
    QTest::keyClick(&view.ticks(), Qt::Key_Right);
    QCOMPARE(view.canvas().ring()->ring.wraps, wraps);
    QTest::keyClick(&view.ticks(), Qt::Key_Home);
    QCOMPARE(context.snapshot()->tick, Tick(0));
    QTest::mouseClick(&view.ticks(), Qt::LeftButton, {}, {46 + 14 * 5 + 3, 40});
    QCOMPARE(context.snapshot()->tick, Tick(5));
  }

  /// The strip reads each snapshot once; another layer, a tick published again and forgotten ticks are seen.
  void theStripFollowsTheHistory() {
    FakeContext context({.mixed = true});
    auto history = context.history();
    WrapStrip followed(nullptr);
    for (std::size_t end = 1; end <= history.size(); ++end)
      followed.show({history.begin(), history.begin() + static_cast<std::ptrdiff_t>(end)}, CacheLayer(3),
                    history[end - 1]->tick);
    const auto same = [&](CacheLayer layer) {
      WrapStrip fresh(nullptr);
      const Tick shown = history.back()->tick;
      fresh.show(history, layer, shown);
      followed.show(history, layer, shown);
      fresh.resize(400, 64), followed.resize(400, 64);
      QCOMPARE(followed.wrapBeside(false), fresh.wrapBeside(false));
      QCOMPARE(followed.grab().toImage(), fresh.grab().toImage());
    };
    same(CacheLayer(3));
    same(CacheLayer(2));
    same(CacheLayer(3));
    history.push_back(std::make_shared<Snapshot>(*history.back()));
    same(CacheLayer(3));
    history.erase(history.begin(), history.begin() + 5);
    same(CacheLayer(3));
    history.clear();
    followed.show(history, CacheLayer(3), Tick(-1));
    QVERIFY(!followed.tickAt({60, 40}));
  }

  void withoutARingThereIsAWayToOne() {
    FakeContext context;
    RingsView view(context, nullptr);
    view.setObjectName("rings");
    show(view);
    QCOMPARE(view.dump(), QString("rings: none\n"));
    QVERIFY(view.tsv().isEmpty());
    QToolButton* use = nullptr;
    for (QToolButton* one : view.findChildren<QToolButton*>())
      if (one->text().contains("ring_fused")) use = one;
    QVERIFY(use && use->isVisible());
    QTest::mouseClick(use, Qt::LeftButton);
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("storage_layout"));
    QCOMPARE(context.commands[0].args, nlohmann::json({{"layout", "ring_fused"}}));
  }

  void tableHasEverySlot() {
    FakeContext context(SnapshotPtr(ringOf(70, 24, 32)));
    RingsView view(context, nullptr);
    show(view);
    const QStringList lines = view.tsv().trimmed().split('\n');
    QCOMPARE(lines.size(), 33);
    QVERIFY(lines[15].startsWith("14\t46\t46\t46\t"));
    QVERIFY(lines[9].endsWith("room for the pending block"));
  }

  /// Rows behind the window have no slot: nothing is out of place, and the other entries of the column are no slots.
  void mirrorShowsLeftRows() {
    const SnapshotPtr s = ringOf(70, 24, 32);
    QVERIFY(mirrorOf(*s, CacheLayer(0)).findings.empty());
    MirrorModel model;
    model.set(s, {CacheLayer(0)}, false);
    const int slot = model.columnOf("slot0"), tag = model.columnOf("tag0");
    QCOMPARE(model.index(45, slot).data().toString(), QString("left"));
    QCOMPARE(model.index(45, tag).data().toString(), QString());
    QCOMPARE(model.index(45, slot).data(kToneRole).toInt(), static_cast<int>(Tone::Ghost));
    QCOMPARE(model.index(46, slot).data().toString(), QString("14"));
    const auto tile = tileFromSnapshot(*s, Quantity::Residency);
    QCOMPARE(tile->values[45], 0.0f);
    QCOMPARE(tile->values[46], 1.0f);
  }

  void layersAreNamed() {
    StorageGroup group{{CacheLayer(0), CacheLayer(1), CacheLayer(2), CacheLayer(5)}, nullptr, nullptr};
    QCOMPARE(group.name(), QString("layers 0–2, 5"));
    group.layers = {CacheLayer(3)};
    QCOMPARE(group.name(), QString("layer 3"));
    group.layers = {CacheLayer(0), CacheLayer(1)};
    QCOMPARE(group.name(), QString("layers 0, 1"));
  }

  /// The inner band shows the quantity that colours the map, and the readout says the row's value.
  void theBandFollowsTheMap() {
    FakeContext context(SnapshotPtr(ringOf(70, 24, 32)));
    RingsView view(context, nullptr);
    view.setObjectName("rings");
    show(view);
    context.focusPosition(Position(60));
    const QImage order = view.canvas().grab().toImage();
    QVERIFY(static_cast<bool>(view.setOption("as_map", true)));
    context.setQuantity(Quantity::Brightness);
    QVERIFY(golden::settle(view));
    const auto tile = FakeContext::makeTile(*context.snapshot(), {});
    const float value = tile->values[60];
    QVERIFY2(view.dump().contains(valueText(Quantity::Brightness, value)), qPrintable(view.dump()));
    const QPointF middle = view.canvas().shape().at(
        view.canvas().shape().turn(view.canvas().ring()->slotOf[at(view.canvas().ring()->rowOf(Position(60)))] + 0.5),
        view.canvas().shape().radius * (RingShape::kOrderInner + RingShape::kOrderOuter) / 2);
    const auto colourAt = [&] { return view.canvas().grab().toImage().pixelColor(middle.toPoint()); };
    const ColourScale scale = scaleFor(Quantity::Brightness, tile->values);
    QCOMPARE(colourAt(), QColor(colourTable(Quantity::Brightness, *Theme::current())[scale.index(value)]));
    for (const char* theme : {"dark", "light"}) {
      Theme::apply(*qApp, theme);
      QVERIFY(golden::settle(view));
      QCOMPARE(golden::compareImage(QString("rings_map_%1").arg(theme), view.picture({560, 640}, 1)), QString());
    }
    Theme::apply(*qApp, "dark");
    QVERIFY(static_cast<bool>(view.setOption("as_map", false)));
    QCOMPARE(view.canvas().grab().toImage(), order);
  }

  void big() {
    FakeContext context(SnapshotPtr(ringOf(20000, 8192, 9000)));
    for (const char* theme : {"dark", "light"}) {
      Theme::apply(*qApp, theme);
      RingsView view(context, nullptr);
      view.setObjectName("rings");
      view.resize(560, 640);
      context.focusPosition(Position(15000));
      QVERIFY(golden::settle(view));
      QCOMPARE(golden::compareImage(QString("rings_big_%1").arg(theme), view.picture({560, 640}, 1)), QString());
    }
    Theme::apply(*qApp, "dark");
  }

 private:
  static void show(RingsView& view) {
    view.resize(560, 640);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(golden::settle(view));
  }
};

KV_TEST(RingsTest)
#include "rings_test.moc"
