// SPDX-License-Identifier: Apache-2.0
// Rows behind the end of a text are the rows of a layer that was not cut, unless they are places of a page that no row
// was written to.
#include "core/explain/row_counts.h"
#include "support/runner.h"

using namespace kvlab;

class RowCountsTest : public QObject {
  Q_OBJECT
 private:
  /// Two layers of six rows for a text of four tokens.
  static std::vector<Cause> causes(const std::vector<std::int32_t>& positions, std::int32_t block = 0) {
    ForeignCache cache;
    cache.block = block;
    std::vector<ExplainedLayer> layers(2);
    for (std::int32_t l = 0; l < 2; ++l) {
      cache.layers.push_back({.layer = l, .rows = 6, .keys = {}, .values = {}, .positions = positions});
      layers[at(l)].layer = layers[at(l)].own = l;
      layers[at(l)].tokens = {0, 1, 2, 3, -1, -1};
    }
    return rowCountCauses(layers, cache, 4, *Manifest::fromJson({{"model", "demo"}}));
  }

 private Q_SLOTS:
  void rowsBehindTheText() {
    QCOMPARE(causes({0, 1, 2, 3, 4, 5}).front().kind, std::string("crop_zero"));
    QCOMPARE(causes({0, 1, 2, 3, 4, 5}).front().parameters["rows"].get<int>(), 2);
    QCOMPARE(causes({0, 1, 2, 3, 4, -1}).front().parameters["rows"].get<int>(), 1);
    QCOMPARE(causes({}).front().kind, std::string("crop_zero"));
    QCOMPARE(causes({}, 2).front().kind, std::string("crop_zero"));
  }
  void placesOfAPage() {
    QVERIFY(causes({0, 1, 2, 3, -1, -1}).empty());
    QVERIFY(causes({}, 16).empty());
  }
};

KV_TEST(RowCountsTest)
#include "row_counts_test.moc"
