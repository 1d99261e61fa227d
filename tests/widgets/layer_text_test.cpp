// SPDX-License-Identifier: GPL-3.0-or-later
// Layers by the names that people know, where residency is by layer and where it is by KV head.
#include "widgets/base/layer_text.h"
#include "support/runner.h"
#include "widgets/base/storage_groups.h"

using namespace kvlab;

class LayerTextTest : public QObject {
  Q_OBJECT

  static Snapshot of(int perLayer) {
    auto info = std::make_shared<SessionInfo>();
    info->cacheLayers = {4, perLayer};
    Snapshot s;
    s.info = info;
    return s;
  }

 private slots:
  void names() {
    QCOMPARE(layerText(of(1), CacheLayer(3)), QStringLiteral("3"));
    QCOMPARE(layerText(of(2), CacheLayer(3)), QStringLiteral("1.1"));
    QCOMPARE(layerText(Snapshot(), CacheLayer(3)), QStringLiteral("3"));
    QCOMPARE(of(2).info->cacheLayers.count(), 8);
  }

  void argumentsOfVerbs() {
    QCOMPARE(withLayer(of(1), CacheLayer(3)), nlohmann::json({{"layer", 3}}));
    QCOMPARE(withLayer(of(2), CacheLayer(3), {{"begin", 5}}),
             nlohmann::json({{"layer", 1}, {"kvHead", 1}, {"begin", 5}}));
  }

  void groups() {
    StorageGroup group{{CacheLayer(0), CacheLayer(1), CacheLayer(2), CacheLayer(5)}, nullptr, nullptr, {4, 1}};
    QCOMPARE(group.name(), QStringLiteral("layers 0–2, 5"));
    group.all.perLayer = 2;
    QCOMPARE(group.name(), QStringLiteral("layers 0.0–1.0, 2.1"));
  }
};

KV_TEST(LayerTextTest)
#include "layer_text_test.moc"
