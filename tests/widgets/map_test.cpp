// SPDX-License-Identifier: GPL-3.0-or-later
// The map with real clicks, keys and wheel turns, its figures at full size, and its notice when it has nothing to show.
#include <QLabel>
#include <QToolButton>

#include <QSignalSpy>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/views/map/map_view.h"
#include "widgets/views/strip/strip_view.h"

using namespace kvlab;

class MapTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void showsEveryQuantity() {
    FakeContext context;
    MapView view(context, nullptr);
    for (int q = 0; q < kQuantities; ++q) {
      context.setQuantity(static_cast<Quantity>(q));
      QVERIFY(golden::settle(view));
      QVERIFY(view.dump().contains(QString::fromUtf8(name(static_cast<Quantity>(q)).data())));
    }
  }

  void clickFocusesAndSaysSo() {
    FakeContext context;
    MapView view(context, nullptr);
    show(view);
    QSignalSpy said(&context, &InspectorContext::scripted);
    const QPoint at(34 + static_cast<int>(view.canvas().axis().pixel(30.5)), 200);
    QTest::mouseClick(&view.canvas(), Qt::LeftButton, {}, at);
    QCOMPARE(context.focus().position, Position(30));
    QCOMPARE(context.focus().ledger, context.snapshot()->context[30]);
    QCOMPARE(said.count(), 1);
    QCOMPARE(said[0][0].toString(), QString("view.focus({layer: %1, row: 30})").arg(context.focus().layer.value()));
  }

  /// An older tick asks for its own values, and shows residency until they come.
  void scrubbingNeverShowsForeignValues() {
    FakeContext context;
    MapView view(context, nullptr);
    QVERIFY(golden::settle(view));
    context.holdTiles = true;
    context.showTick(Tick(4));
    QVERIFY2(view.dump().startsWith("map: residency, tick 4"), qPrintable(view.dump().left(60)));
    QVERIFY(!view.ready());
    QCOMPARE(context.fetched.back().tick, std::optional(Tick(4)));
    context.releaseTiles();
    QVERIFY(golden::settle(view));
    QVERIFY2(view.dump().startsWith("map: brightness, tick 4"), qPrintable(view.dump().left(60)));
    context.holdTiles = false;
    context.showTick(Tick(20));
    QVERIFY(golden::settle(view));
    QVERIFY(view.dump().startsWith("map: brightness, tick 20"));
  }

  /// Tiles of a run come when it is already further.
  void aRunShowsTheNewestValuesThereAre() {
    const std::vector<SnapshotPtr> ticks = FakeContext().history();
    FakeContext context(ticks[ticks.size() - 3]);
    MapView map(context, nullptr);
    StripView strip(context, nullptr);
    QVERIFY(golden::settle(map) && golden::settle(strip));
    const auto missing = strip.dump().count(" none");
    context.isBusy = context.holdTiles = true;
    const auto shows = [&](std::int64_t tick) { return map.dump().contains(QString(", tick %1,").arg(tick)); };
    context.push(ticks[ticks.size() - 2]);
    context.push(ticks.back());
    const std::int64_t newest = ticks.back()->tick.value();
    context.releaseTiles(2);  // tiles of the map and of the strip, a tick late
    QVERIFY2(shows(newest - 1), qPrintable(map.dump().left(80)));
    const QString late = QString("values of tick %1").arg(newest - 1);
    QCOMPARE(map.canvas().note(), late);
    QVERIFY2(strip.dump().count(" none") <= missing, "the strip lost the values of a run");
    QVERIFY(strip.findChild<QLabel*>("readout")->text().endsWith(late));
    context.releaseTiles();
    QVERIFY(shows(newest));
    QCOMPARE(map.canvas().note(), QString("values of tick %1").arg(newest));  // it does not flicker in a run
    context.isBusy = false;
    emit context.busyChanged();
    QVERIFY(map.canvas().note().isEmpty());
    context.showTick(ticks[ticks.size() - 3]->tick);
    context.showTick(Tick(0));
    QVERIFY(!map.dump().contains(", tick " + QString::number(newest) + ","));
  }

  void staleRowsAreMarkedInEveryColouring() {
    Snapshot s;
    s.exactness = std::make_shared<std::vector<Exactness>>(std::vector<Exactness>{
        Exactness::Exact, Exactness(2), Exactness(2), Exactness::Exact, Exactness(3), Exactness(2)});
    const auto runs = staleRuns(s);
    QCOMPARE(runs.size(), std::size_t{3});
    QCOMPARE(runs[0].begin, 1);
    QCOMPARE(runs[0].end, 3);
    QCOMPARE(runs[1].why, Exactness(3));
    QCOMPARE(runs[2].end, 6);
    QVERIFY(staleRuns(Snapshot()).empty());
    FakeContext context;
    MapView view(context, nullptr);
    show(view);
    const auto& exact = *context.snapshot()->exactness;
    const auto stale = std::find_if(exact.begin(), exact.end(), [](Exactness e) { return e != Exactness::Exact; });
    QVERIFY(stale != exact.end());
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(1), Head(0),
                           Position(static_cast<std::int32_t>(stale - exact.begin())), LedgerId(-1)});
    QVERIFY2(view.canvas().readout().contains(valueText(Quantity::Staleness, static_cast<float>(*stale))),
             qPrintable(view.canvas().readout()));
  }

  /// Tiles are known by their ticks, which another session counts anew.
  void tilesOfAnotherSessionAreForgotten() {
    FakeContext context;
    MapView view(context, nullptr);
    show(view);
    TileCache cache(context, "test", &view);
    cache.request(Quantity::Age);
    QTRY_VERIFY(cache.shown(Quantity::Age));
    context.holdTiles = true;
    cache.request(Quantity::Age);
    context.open(context.history());
    QVERIFY(!cache.shown(Quantity::Age) && !cache.waiting());
    context.releaseTiles();
    QVERIFY2(!cache.shown(Quantity::Age), "a tile of the session before was taken");
    QVERIFY(view.ready());
  }

  void notReadyUntilTheTileIsThere() {
    FakeContext context;
    context.holdTiles = true;
    MapView view(context, nullptr);
    view.prepare();
    QTest::qWait(20);
    QVERIFY(!view.ready());
    QSignalSpy ready(&view, &InspectorView::readyChanged);
    context.releaseTiles();
    QVERIFY(view.ready());
    QVERIFY(ready.count() > 0);
  }

  void fullSize() {
    FakeContext context(fixture::hugeSnapshot(32, 131072));
    MapView view(context, nullptr);
    view.resize(1200, 400);
    QVERIFY(golden::settle(view));
    QVERIFY(!view.picture({1200, 400}, 1).isNull());
  }

  void optionsAreChecked() {
    FakeContext context;
    MapView view(context, nullptr);
    view.setObjectName("map");
    QVERIFY(golden::settle(view));
    QVERIFY(static_cast<bool>(view.setOption("quantity", "age")));
    QCOMPARE(context.quantity(), Quantity::Age);
    const Status refused = view.setOption("quantity", "colour");
    QVERIFY(!refused);
    QCOMPARE(refused.error().field, std::string("quantity"));
    QVERIFY(!view.setOption("nonsense", 1));
  }

  /// Before the first generated token brightness is the same everywhere: the legend says so and the way
  /// to something that differs is one click.
  void oneColourExplainsItself() {
    LegendBar bar(nullptr);
    const ColourScales scales = scalesFor(Quantity::Brightness, std::vector<float>{255, 250}, 1, {});
    bar.show({scales});
    QVERIFY(!bar.plain());
    bar.show({scales, onlyValue(std::vector<float>{255, NAN, 255})});
    QVERIFY(bar.plain());
    QVERIFY2(bar.toolTip().contains("every row: 255; fades with each generated token"), qPrintable(bar.toolTip()));
    FakeContext context;
    context.sameValue = 255;
    MapView view(context, nullptr);
    view.setObjectName("map");
    show(view);
    QSignalSpy said(&context, &InspectorContext::scripted);
    auto* received = view.findChild<QToolButton*>("received");
    QVERIFY(received->isVisible());
    QTest::mouseClick(received, Qt::LeftButton);
    QCOMPARE(context.quantity(), Quantity::Received);
    QCOMPARE(said.last().at(0).toString(), QString("view.set(\"map\", {quantity: \"received\"})"));
    QTRY_VERIFY(!received->isVisible());
  }

 private:
  static void show(MapView& view) {
    view.resize(1180, 420);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(golden::settle(view));
  }
};

KV_TEST(MapTest)
#include "map_test.moc"
