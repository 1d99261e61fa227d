// SPDX-License-Identifier: Apache-2.0
// Questions set no armed fault off and do not count it down: what the drill has armed waits for a change. All verbs
// that read or measure, with every fault that can be armed, also where a session has a working context (wlod).
#include <QTemporaryDir>

#include "core/check/fault_drill.h"
#include "support/furnished_session.h"
#include "support/runner.h"

using namespace kvlab;

class ArmedQueriesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void faultsStayArmed_data() {
    QTest::addColumn<QByteArray>("manifest");
    for (const auto& [name, manifest] : kKinds)
      if (isServed(manifest)) QTest::newRow(name) << QByteArray(manifest);
  }
  void faultsStayArmed() {
    QFETCH(QByteArray, manifest);
    const QTemporaryDir folder(scratchFolder());
    const std::string path = folder.path().toStdString();
    json changes = json::parse(manifest.toStdString());
    changes["faults"] = true;
    const SessionFixture s = furnishedSession(QByteArray::fromStdString(changes.dump()), Waiting::Nothing, path);
    for (const FaultKind& kind : faultKinds())
      if (kind.caughtBy.empty()) s.must("fault", {{"kind", kind.kind}, {"n", 1}});
    const std::string hash = s.hash();
    int answered = 0;
    for (const Good& one : questions(path)) {
      const Result<json> answer = s.verb(one.verb, one.args);
      answered += bool(answer);
      QVERIFY2(answer || answer.error().code != "fault", one.verb);
      QVERIFY2(s.hash() == hash, one.verb);
      FaultDoor door = s->parts().faults;
      for (const FaultPoint point : {FaultPoint::Allocation, FaultPoint::Kernel, FaultPoint::Copy})
        QVERIFY2(!door.pass(point, "a step"), one.verb);
    }
    QVERIFY(answered > 20);
    QVERIFY(!s.must("step")[0]["ok"].get<bool>());
  }

 private:
  static std::vector<Good> questions(const std::string& folder) {
    std::vector<Good> out = goodCalls(folder);
    std::erase_if(out, [](const Good& one) {
      const Effect effect = verbNamed(one.verb)->effect;
      return effect != Effect::Reads && effect != Effect::Measures;
    });
    out.push_back({"value", {{"expression", "kl"}}});
    out.push_back({"value", {{"expression", "read(ledger==1, layer==0)"}}});
    return out;
  }
};

KV_TEST(ArmedQueriesTest)
#include "armed_queries_test.moc"
