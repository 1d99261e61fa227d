// SPDX-License-Identifier: GPL-3.0-or-later
// Rows are counted by layer, with their limits; a value that is not kept is not called absent.
#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"
#include "widgets/views/attention/attention_view.h"
#include "widgets/views/smartkv/band_canvas.h"
#include "widgets/views/smartkv/smartkv_view.h"
#include "widgets/views/strip/strip_view.h"

using namespace kvlab;

namespace {

/// A snapshot in which every layer holds the newest `rows` rows.
SnapshotPtr holding(int rows, const std::function<void(StorageView&)>& change = {}) {
  auto s = std::make_shared<Snapshot>(*FakeContext().snapshot());
  auto map = std::make_shared<ResidencyView>();
  std::vector<LedgerId> ids(s->context.end() - rows, s->context.end());
  map->ledger = Column<LedgerId>(ids);
  for (int i = 0; i < rows; ++i) map->slotOf.push_back(Slot(i)), map->phases.push_back(i);
  StorageView storage = *s->storage.front();
  if (change) change(storage);
  s->layers.assign(s->layers.size(), map);
  s->storage.assign(s->layers.size(), std::make_shared<StorageView>(storage));
  return s;
}

QString spaced(const char* text) { return QString(text).replace('_', QChar(0x202F)); }

}  // namespace

class LayerRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void thePoolLimits() {
    QCOMPARE(layerRowsText(*holding(64)), spaced("64 of 1_024 rows a layer"));
    QCOMPARE(layerRowsTip(*holding(64)), spaced("layers 0–3: 64 of 1_024 rows (capacity of the pools)"));
  }

  /// A ring with a window of 64 is full although its pool has room.
  void theWindowLimits() {
    const SnapshotPtr ring = holding(64, [](StorageView& one) {
      one.ring = RingState{};
      one.ring->window = 64, one.ring->capacity = 128, one.ring->filled = 64;
    });
    QCOMPARE(layerRowsText(*ring), QString("64 of 64 rows a layer, window"));
    QVERIFY(layerRowsTip(*ring).contains("window of the ring"));
  }

  void thePolicyLimits() {
    auto s = std::make_shared<Snapshot>(*holding(60));
    PolicyAudit audit;
    LayerAudit layer;
    layer.bounded = true, layer.bands = {4, 32, 24};
    audit.layers.assign(s->layers.size(), layer);
    s->policies = std::make_shared<const PolicyAudit>(audit);
    QCOMPARE(layerRowsText(*s), QString("60 of 60 rows a layer, policy"));
  }

  void layersMayDiffer() {
    fixture::Options mixed;
    mixed.mixed = true;
    const SnapshotPtr s = FakeContext(mixed).snapshot();
    QCOMPARE(layerRowsText(*s), QString("24 to 95 rows a layer"));
    QCOMPARE(layerRowsTip(*s).split('\n').last(), QString("layer 3: 24 of 24 rows (window of the ring)"));
  }

  /// The first token's surprise is not known, though every layer has its row; one row has left all layers.
  void whatIsNotKeptIsNotCalledAbsent() {
    const SnapshotPtr s = FakeContext().snapshot();
    const auto says = [&](LedgerId row, std::optional<CacheLayer> layer) {
      return noValueText(*s, row, layer, QStringLiteral("surprise"));
    };
    const LedgerId first = s->context[0], gone = s->context[3];
    QCOMPARE(says(first, CacheLayer(1)), QString("resident, surprise not known"));
    QCOMPARE(says(first, {}), QString("resident, surprise not known"));
    QCOMPARE(says(gone, CacheLayer(1)), QString("not resident in this layer"));
    QCOMPARE(says(gone, {}), QString("not resident in any layer"));
    fixture::Options mixed;
    mixed.mixed = true;
    const SnapshotPtr ring = FakeContext(mixed).snapshot();
    QCOMPARE(noValueText(*ring, ring->context[0], CacheLayer(3), "surprise"), QString("left through the window"));
  }

  void theStripSaysWhy() {
    FakeContext context;
    context.setQuantity(Quantity::Surprise);
    StripView view(context, nullptr);
    view.resize(700, 400);
    QVERIFY(golden::settle(view));
    QVERIFY2(view.dump().contains("0 <s> resident, surprise of the model not measured: s.score(text)\n"),
             qPrintable(view.dump().left(200)));
    QVERIFY2(view.dump().contains("3 ·to not resident in any layer\n"), qPrintable(view.dump().left(300)));
  }

  /// A row that has left the window was not evicted.
  void thePolicyViewSaysWhatIsKnown() {
    fixture::Options options = fixture::withPolicies();
    options.mixed = true;
    FakeContext context(options);
    SmartKvView view(context, nullptr);
    context.focusLayer(CacheLayer(3));
    context.focusPosition(Position(5));
    view.resize(700, 500);
    QVERIFY(golden::settle(view));
    const QString told = view.findChild<BandCanvas*>()->readout();
    QVERIFY2(told.endsWith("left through the window"), qPrintable(told));
  }

  void attentionCountsRowsAndTokens() {
    FakeContext context;
    AttentionView view(context, nullptr);
    QVERIFY(view.setOption("follow", true));
    context.focusLayer(CacheLayer(2));
    context.focusPosition(Position(3));
    view.resize(900, 400);
    QVERIFY(golden::settle(view));
    QVERIFY2(view.dump().contains("resident rows of 96 tokens"), qPrintable(view.dump().left(300)));
    QVERIFY2(view.dump().contains("position 3 to: not resident in this layer"), qPrintable(view.dump().left(300)));
  }
};

KV_TEST(LayerRowsTest)
#include "layer_rows_test.moc"
