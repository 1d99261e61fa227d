// SPDX-License-Identifier: Apache-2.0
// Every bug of the clinic is found by the check, in the layer and at the row that its case names, in the tick in which
// its condition is met; without the bug the same steps find nothing.
#include <QTemporaryDir>
#include <set>

#include "core/api/layout_names.h"
#include "core/bugs/bug_kind.h"
#include "core/clinic/clinic_run.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

const std::vector<ClinicCase>& clinicCases() {
  static const Result<std::vector<ClinicCase>> all = readClinic(KVLAB_RESOURCES_DIR);
  if (!all) qFatal("%s", all.error().text().c_str());
  return *all;
}

/// A folder with the files of all cases; the file of the first one is `text`.
void copyCases(const QTemporaryDir& dir, const QByteArray& text) {
  QVERIFY(QDir(dir.path()).mkpath("clinic"));
  for (const ClinicCase& one : clinicCases()) {
    const QString name = "/clinic/" + QString::fromStdString(one.bug) + ".json";
    QVERIFY(QFile::copy(QString(KVLAB_RESOURCES_DIR) + name, dir.path() + name));
  }
  QFile first(dir.path() + "/clinic/" + QString::fromStdString(clinicCases().front().bug) + ".json");
  QVERIFY(first.open(QIODevice::WriteOnly | QIODevice::Truncate));
  first.write(text);
}

}  // namespace

class BugsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void isFound_data() {
    QTest::addColumn<int>("at");
    for (std::size_t i = 0; i < clinicCases().size(); ++i)
      QTest::newRow(clinicCases()[i].bug.c_str()) << static_cast<int>(i);
  }
  void isFound() {
    QFETCH(int, at);
    const ClinicCase& one = clinicCases()[static_cast<std::size_t>(at)];
    const QTemporaryDir folder;
    const Result<ClinicResult> result = runClinic(one, KVLAB_RESOURCES_DIR, folder.path().toStdString());
    QVERIFY2(result, result ? "" : result.error().text().c_str());
    for (const Finding& finding : result->healthy) QFAIL(finding.violation.detail.c_str());
    std::string said;
    for (const Finding& f : result->findings) said += f.violation.invariant + ": " + f.violation.detail + "\n";
    QVERIFY2(result->finding, said.c_str());
    QVERIFY2(result->caught(one), said.c_str());
    QVERIFY(result->finding->violation.layer && result->finding->violation.ledger);
    QVERIFY2(result->finding->blame.find("tick ") != std::string::npos, result->finding->blame.c_str());
    QVERIFY(!one.story.empty() && !one.look.empty() && !one.threads.empty());
  }

  /// No bug reads or writes outside the memory of a layout: the damage is reported, and the program goes on.
  void inEveryLayout_data() {
    QTest::addColumn<QByteArray>("layout");
    for (const LayoutName& one : layouts()) QTest::newRow(one.name.data()) << QByteArray(one.name.data());
  }
  void inEveryLayout() {
    QFETCH(QByteArray, layout);
    json changes = {{"layout", layout.toStdString()},
                    {"ring", {{"window", 24}}},
                    {"capacity", 128},
                    {"prefill_chunk", 16},
                    {"faults", true}};
    test::SanitizerSample sample(3);
    for (const BugKind& bug : bugKinds())
      for (const char* type : {"f16", "int8"})
        for (const char* level : {"off", "full"}) {
          if (!sample.takes()) continue;
          changes["kv"] = {{"k", type}, {"v", type}};
          changes["check"] = {{"level", level}};
          const SessionFixture session(changes);
          session.must("bug", {{"name", std::string(bug.name)}});
          for (const int tokens : {37, 5}) {  // a refusal is an answer, too
            (void)session.verb("promptIds", {{"ids", SessionFixture::ids(tokens)}});
            (void)session.verb("step", {{"n", 3}});
            (void)session.verb("inject", {{"actions", {{{"action", "delete"}, {"position", 9}}}}, {"now", true}});
            (void)session.verb("undo");
            (void)session.verb("rebuild");
          }
          QVERIFY(!session.must("bugs").empty());
        }
  }

  /// At level full a row that nobody wrote makes the logits no numbers, and the recorded inputs of passes still show
  /// it.
  void unwrittenRowsAreNoNumbers() {
    const auto record = [](const char* level) {
      const SessionFixture session(json{{"check", {{"level", level}}}});
      session.prompt(5);
      const RowPool& pool = session->store().pool(CacheLayer(0));
      const Slot next(session->store().slots(CacheLayer(0)).untouched());
      std::vector<float> k(at(pool.width()));
      pool.gather(plain({&next, 1}), k.data(), nullptr);
      return k;
    };
    QCOMPARE(std::ranges::count(record("cheap"), 0.0f), std::ssize(record("cheap")));
    QVERIFY(std::ranges::all_of(record("full"), [](float value) { return std::isnan(value); }));

    const SessionFixture session(
        {{"layout", "ring_fused"}, {"ring", {{"window", 24}}}, {"faults", true}, {"check", {{"level", "full"}}}});
    session.prompt(5);
    session.must("bug", {{"name", "unfilled_ring_read"}});
    (void)session.verb("step");
    std::set<std::string> found;
    for (const Finding& finding : session->health().alignment.findings()) found.insert(finding.violation.invariant);
    QVERIFY(found.contains("visible_rows"));
    QVERIFY(found.contains("next_logits"));
  }

  /// Bugs that no cheap check of a scrub period finds behind their script.
  void cheapLevel() {
    QStringList missed;
    for (const ClinicCase& one : clinicCases()) {
      const QTemporaryDir folder;
      if (!runClinic(one, KVLAB_RESOURCES_DIR, folder.path().toStdString())->cheapTicks)
        missed << QString::fromStdString(one.bug);
    }
    missed.sort();
    QCOMPARE(missed.join(' '), QString("page_leak shared_tail_page"));
  }

  void badFiles_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("field");
    const auto changed = [](const char* key, const json& value) {
      QFile file(QString(KVLAB_RESOURCES_DIR) + "/clinic/" + QString::fromStdString(clinicCases().front().bug) +
                 ".json");
      if (!file.open(QIODevice::ReadOnly)) qFatal("no file");
      json one = json::parse(file.readAll().toStdString());
      one[key] = value;
      return QByteArray::fromStdString(one.dump());
    };
    QTest::newRow("no json") << QByteArray("{") << QString();
    QTest::newRow("a list") << QByteArray("[]") << QString();
    QTest::newRow("an unknown key") << changed("colour", "red") << "colour";
    QTest::newRow("another bug") << changed("bug", "bees") << "bug";
    QTest::newRow("an unknown verb") << changed("after", {{{"verb", "jump"}}}) << "after";
    QTest::newRow("no steps") << changed("before", 3) << "before";
    QTest::newRow("an unknown invariant") << changed("found", {{"check", "luck"}}) << "found";
    QTest::newRow("a layer in words") << changed("found", {{"check", "row_tags"}, {"layer", "first"}}) << "found";
    QTest::newRow("an unknown manifest key") << changed("session", {{"lamp", 1}}) << "session";
  }
  void badFiles() {
    QFETCH(QByteArray, text);
    QFETCH(QString, field);
    const QTemporaryDir dir;
    copyCases(dir, text);
    const auto read = readClinic(dir.path().toStdString());
    QVERIFY(!read);
    QCOMPARE(read.error().code, std::string("bad_file"));
    QCOMPARE(QString::fromStdString(read.error().field), field);
    QVERIFY(QString::fromStdString(read.error().text()).contains(QString::fromStdString(clinicCases().front().bug)));
  }

  void doorIsShut() {
    SessionFixture s;
    QCOMPARE(s.verb("bug", {{"name", "one_slot"}}).error().code, std::string("door_closed"));
    SessionFixture open(json{{"faults", true}});
    QCOMPARE(open.verb("bug", {{"name", "bees"}}).error().code, std::string("bad_bug"));
    QCOMPARE(open.must("bug", {{"name", "one_slot"}})["name"], json("one_slot"));
    QCOMPARE(open.must("bug", {{"blind", 7}}), (json{{"blind", 7}}));
    QCOMPARE(std::string(open->parts().faults.bug()->name), drawnBug(7));
    QCOMPARE(open.verb("bug", {{"name", "one_slot"}, {"blind", 7}}).error().code, std::string("bad_argument"));
    QVERIFY(open.must("bug").is_null());
    open.prompt(12);
    QVERIFY(open.sound());
    QCOMPARE(open.must("bugs").size(), bugKinds().size());
  }

  /// Other weights go when the bug goes.
  void weightsComeBack() {
    SessionFixture s(json{{"faults", true}, {"check", {{"level", "full"}}}});
    s.prompt(12);
    s.must("bug", {{"name", "weights_swapped"}});
    s.must("step");
    QVERIFY(!s->health().alignment.findings().empty());
    s.must("bug");
    s.must("rebuild");
    QVERIFY(s.sound());
  }
};

KV_TEST(BugsTest)
#include "bugs_test.moc"
