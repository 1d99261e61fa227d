// SPDX-License-Identifier: Apache-2.0
// As rebuild_drills_test, for sessions with a working context: a layer's rows and its map come anew from the rows of
// the tree and from what policies have evicted.
#include "support/drills.h"
#include "support/runner.h"
#include "support/wlod_session.h"

using namespace kvlab;

class WlodDrillsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rebuildRepairs_data() {
    QTest::addColumn<QByteArray>("manifest");
    const json flat{{"budget", 64}, {"protect", 16}},
        pyramid{{"budget", 64}, {"protect", 16}, {"attention", "pyramid"}};
    const json policy{{"policy", "h2o:sinks=2,window=8,capacity=20"}};
    for (const std::string& layout : drilledLayouts())
      for (const auto& [name, wlod, more] :
           {std::tuple("flat", flat, json::object()), std::tuple("pyramid", pyramid, json::object()),
            std::tuple("flat h2o", flat, policy), std::tuple("pyramid h2o", pyramid, policy)}) {
        json all = manifest(wlod, {{"faults", true}, {"layout", layout}, {"check", {{"level", "full"}}}});
        all.update(more);
        QTest::addRow("%s %s", name, layout.c_str()) << QByteArray::fromStdString(all.dump());
      }
  }
  void rebuildRepairs() {
    QFETCH(QByteArray, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(100);
    s.must("step", {{"n", 2}});
    QVERIFY(s.sound());
    const QByteArray trouble = drilled(s);
    QVERIFY2(trouble.isEmpty(), trouble);
  }
};

KV_TEST(WlodDrillsTest)
#include "wlod_drills_test.moc"
