// SPDX-License-Identifier: Apache-2.0
// Policies whose rules come from outside: their memory is part of the state, what they decided is repeated without the
// rule, and a rule that fails changes nothing. The policy of expressions keeps the rows of the policies that it writes
// out.
#include <QTemporaryDir>

#include "core/policy/policy.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

/// Rows with a large sum of the first key stay; remembers how often it was asked, and the rows of the last time.
struct Outside {
  static inline bool there = true, fails = false;
  static inline int asked = 0;

  static Policy rule() {
    Policy out;
    out.needs = kKeys | kReceived;
    out.scores = [](const PolicySpec& spec, const LayerRows& rows) -> Result<std::vector<float>> {
      ++asked;
      if (!there || fails) return Error("bad_policy", "the rule was asked", "it is not there", "none");
      std::vector<float> scores;
      const auto width = at(rows.kvHeads) * at(rows.headDim);
      for (std::size_t row = 0; row < rows.rows(); ++row)
        scores.push_back(rows.keys[row * width] * spec.options.value("sign", 1.0f) +
                         static_cast<float>(rows.memory.size()));
      return scores;
    };
    out.observes = [](const PolicySpec&, const LayerRows& rows) -> Result<std::string> {
      if (!there || fails) return Error("bad_policy", "the rule was asked", "it is not there", "none");
      return std::to_string(rows.rows()) + std::string(1, '\0') + std::string(rows.memory.substr(0, 8));
    };
    return out;
  }
};

const json kOutside{{"policy", "outside:budget=12,sinks=2,window=6"}};

/// The code of the error that a step's tick ends with.
std::string whyNoTick(const SessionFixture& s) {
  const json reports = s.must("step");
  return reports.empty() || !reports.back().contains("error") ? "" : reports.back()["error"]["code"].get<std::string>();
}

class AddedPoliciesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { QVERIFY(addPolicy("outside", "rows by their first key", {{"sign", 1.0}}, Outside::rule())); }
  void init() { Outside::there = true, Outside::fails = false; }

  void namesAreRefused() {
    for (const char* name : {"h2o", "", "Outside", "two words", "9th"}) {
      const Status added = addPolicy(name, "", nullptr, Outside::rule());
      QVERIFY2(!added && added.error().code == "bad_policy", name);
    }
    QVERIFY(!addPolicy("other", "", {{"budget", 1}}, Outside::rule()));
    QVERIFY(!addPolicy("other", "", {{"list", json::array()}}, Outside::rule()));
    QVERIFY(!policyNamed("other"));
    const Result<PolicySpec> wrong = PolicySpec::fromJson("outside:budget=3,sign=no");
    QVERIFY(!wrong && wrong.error().field == "sign");
    QVERIFY(!PolicySpec::fromJson("outside:budget=3,sing=1"));
    const Result<PolicySpec> right = PolicySpec::fromJson("outside:budget=3,sign=-1");
    QVERIFY(right && right->options["sign"] == -1);
    QVERIFY(*PolicySpec::fromJson(right->toJson()) == *right);
  }

  void decidesByItsRule() {
    const SessionFixture one(kOutside), other(json{{"policy", "outside:budget=12,sinks=2,window=6,sign=-1"}});
    for (const SessionFixture* s : {&one, &other}) {
      s->prompt(40);
      s->must("step", {{"n", 5}});
      for (const CacheLayer layer : (*s)->state().layers()) QCOMPARE((*s)->state().map(layer).resident(), 20u);
      QVERIFY(s->sound());
    }
    QVERIFY(one.parts()["map 0"] != other.parts()["map 0"]);
  }

  void memoryIsPartOfTheState() {
    const SessionFixture s(kOutside);
    s.prompt(30);
    const std::string first = s->state().policy->layers[0].memory, hash = s.hash();
    QVERIFY(!first.empty());
    s.must("step", {{"n", 3}});
    QVERIFY(s->state().policy->layers[0].memory != first);
    s.must("undo", {{"n", 3}});
    QCOMPARE(s->state().policy->layers[0].memory, first);
    QCOMPARE(s.hash(), hash);
  }

  /// A session without room for old states goes back by executing commands again.
  void goingBackAsksNobody() {
    json manifest = kOutside;
    manifest["history_bytes"] = 0;
    const SessionFixture s(manifest);
    s.prompt(30);
    s.must("step", {{"n", 4}});
    const std::string then = s.hash();
    s.must("step", {{"n", 4}});
    Outside::there = false;
    s.must("goto", {{"tick", 5}});
    QCOMPARE(s.hash(), then);
    QCOMPARE(whyNoTick(s), std::string("bad_policy"));
    QCOMPARE(s.hash(), then);
  }

  void capturesHoldWhatWasDecided() {
    const QTemporaryDir folder;
    const std::string whole = folder.filePath("whole.kvcap").toStdString(),
                      grown = folder.filePath("grown.kvcap").toStdString();
    const SessionFixture s(kOutside);
    s.must("startCapture", {{"path", grown}});
    s.prompt(30);
    s.must("step", {{"n", 6}});
    s.must("settings", {{"policy", "outside:budget=4,window=4,sign=-1"}});
    s.must("step", {{"n", 3}});
    s.must("stopCapture");
    s.must("saveCapture", {{"path", whole}});
    Outside::there = false;
    for (const std::string& path : {whole, grown}) {
      Outside::asked = 0;
      Result<Replay> again = replayCapture(path, KVLAB_RESOURCES_DIR, {.to = {}, .verify = true});
      QVERIFY2(again, again ? "" : again.error().text().c_str());
      QVERIFY2(again->ok(), qPrintable(QString::fromStdString(path)));
      QCOMPARE(stateHash(again->session->state(), again->session->store(), {}), s.hash());
      QCOMPARE(Outside::asked, 0);
    }
  }

  /// What it decided before stays, and what it fails at leaves the session as it was.
  void failuresChangeNothing() {
    const SessionFixture s(kOutside);
    s.prompt(30);
    const std::string before = s.hash();
    Outside::fails = true;
    QCOMPARE(whyNoTick(s), std::string("bad_policy"));
    QCOMPARE(s.hash(), before);
    Outside::fails = false;
    s.must("step");
    QVERIFY(s.sound());
  }

  void cacheFilesHaveTheMemory() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("a.kvcache").toStdString();
    const SessionFixture s(kOutside), other(kOutside);
    s.prompt(30);
    s.must("saveCache", {{"path", path}});
    other.must("loadCache", {{"path", path}});
    QCOMPARE(other->state().policy->layers[1].memory, s->state().policy->layers[1].memory);
  }

  void expressions_data() {
    QTest::addColumn<QString>("written");
    QTest::addColumn<QString>("known");
    QTest::newRow("received") << "received"
                              << "h2o";
    QTest::newRow("newest") << "newest"
                            << "tova";
    QTest::newRow("small keys") << "-key_norm"
                                << "knorm:heads=sum";
    QTest::newRow("position") << "position"
                              << "streaming_llm";
    QTest::newRow("age") << "0 - age * 2"
                         << "streaming_llm";
    QTest::newRow("brightness") << "brightness"
                                << "brightness";
  }
  void expressions() {
    QFETCH(QString, written);
    QFETCH(QString, known);
    const std::string bands = "sinks=2,window=5,budget=9";
    const SessionFixture own(json{{"policy", "score:" + bands + ",by=" + written.toStdString()}}),
        theirs(json{{"policy", known.toStdString() + (known.contains(':') ? "," : ":") + bands}});
    for (const SessionFixture* s : {&own, &theirs}) {
      s->prompt(40);
      s->must("step", {{"n", 8}});
      QVERIFY(s->sound());
    }
    for (const CacheLayer layer : own->state().layers())
      QVERIFY(std::ranges::equal(own->state().map(layer).ledger, theirs->state().map(layer).ledger));
  }

  void badExpressionsAreRefused() {
    for (const char* by : {"", "receivd", "received +", "length", "'text'", "before(received)", "rows(layer==3)"}) {
      const Result<Manifest> manifest =
          Manifest::fromJson({{"model", "synthetic:tiny"}, {"policy", {{"name", "score"}, {"by", by}, {"budget", 4}}}});
      QVERIFY(manifest);
      const auto opened = openSession(*manifest, KVLAB_RESOURCES_DIR);
      QVERIFY2(!opened && opened.error().code == "bad_manifest" && opened.error().field == "by", by);
    }
    // a comma inside a value is a part of it
    const Result<PolicySpec> spec = PolicySpec::fromJson("score:by=received * (age > 3 or head == 1),ratio=0.5");
    QVERIFY(spec && spec->by == "received * (age > 3 or head == 1)" && spec->ratio == 0.5);
  }
};

}  // namespace

KV_TEST(AddedPoliciesTest)
#include "added_policies_test.moc"
