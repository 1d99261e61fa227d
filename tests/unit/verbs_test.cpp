// SPDX-License-Identifier: Apache-2.0
// The table of verbs describes its verbs. Tests the features that all verbs share: arguments by the table, actions
// queued or applied at once, the places where others may look at a session.
#include "support/session_fixture.h"

#include <QTemporaryDir>
#include <set>

#include "core/api/guarded.h"
#include "core/api/texts.h"
#include "core/kinds/wlod/wlod.h"
#include "core/lanes/lane_verbs.h"
#include "core/lanes/session_holder.h"
#include "core/policy/policy.h"
#include "core/session/truth.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

json removal(int position) { return {{"action", "delete"}, {"position", position}}; }

json length(SessionHolder& holder) {
  return *test::scripted([&](const auto& verb, const json& args) { return holder.execute(verb, args); }, "length");
}

/// Everything that a refused call has to leave alone.
std::string hashAndLength(const Session& s) { return stateHash(s) + " " + std::to_string(s.timeline().size()); }

}  // namespace

class VerbsTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_folder;

 private Q_SLOTS:
  void everyLineIsWhole() {
    std::set<std::string> names;
    for (const VerbInfo& verb : verbs()) {
      QVERIFY2(names.insert(verb.name).second, verb.name.c_str());
      QVERIFY2(verb.help.ends_with('.') && verb.help.size() > 10 && !verb.gives.empty(), verb.name.c_str());
      QVERIFY(verbNamed(verb.name) == verbNamed(verb.name) && verbNamed(verb.name)->help == verb.help);
      for (const ArgInfo& arg : verb.args) {
        QVERIFY2(!typeText(arg).empty(), (verb.name + " " + arg.name).c_str());
        QVERIFY2(arg.type != ArgType::Integer || arg.low < arg.high, (verb.name + " " + arg.name).c_str());
        QVERIFY2(arg.optional || arg.otherwise.is_null(), (verb.name + " " + arg.name).c_str());
      }
    }
    QVERIFY(names.size() > 70 && !verbNamed("frobnicate"));
  }

  /// The table accepts the default of every argument.
  void defaultsAreAccepted() {
    for (const VerbInfo& verb : verbs())
      for (const ArgInfo& arg : verb.args) {
        if (arg.otherwise.is_null()) continue;
        const json given{{arg.name, arg.otherwise}};
        const std::vector<ArgInfo> alone = {arg};
        const VerbArgs in(alone, given);
        QVERIFY2(!in.error(), (verb.name + " " + arg.name).c_str());
      }
  }

  /// A verb that says that it reads gets a session that it cannot change, and only such a verb does.
  void readersCannotChange() {
    for (const auto part : {tickVerbs(), stateVerbs(), noteVerbs(), queryVerbs(), compareVerbs(), watchVerbs(),
                            storageVerbs(), fileVerbs(), wlodVerbs()})
      for (const Verb& verb : part)
        QVERIFY2(std::holds_alternative<LooksAtSession>(verb.run) == (verb.info.effect == Effect::Reads),
                 verb.info.name.c_str());
  }

  void pathsNameFiles() {
    const SessionFixture s;
    s.prompt(3);
    for (const char* verb : {"saveCache", "loadCache"}) {
      QCOMPARE(execute(*s.session, verb, {{"path", ""}}).error().why, std::string("path is empty"));
      const Result<json> cut = execute(*s.session, verb, {{"path", std::string("a\0b", 3)}});
      QCOMPARE(cut.error().why, std::string("path has a NUL character"));
    }
  }

  void lanesDoWhatTheTableSays() {
    const SessionFixture s;
    s.prompt(6);
    const Result<std::unique_ptr<Lanes>> lanes = Lanes::make(*s.session, {json::object()});
    QVERIFY2(lanes, lanes ? "" : lanes.error().text().c_str());
    for (const VerbInfo& verb : verbs()) {
      if (verb.lanes == InLanes::Refused)
        QCOMPARE(execute(**lanes, verb.name, nullptr).error().code, std::string("in_lockstep"));
      if (verb.lanes == InLanes::Steps || verb.lanes == InLanes::Own) {  // each has something that runs it
        const Result<json> wrong = execute(**lanes, verb.name, {{"frobnicate", 1}});
        QVERIFY2(!wrong && wrong.error().code == "bad_argument", verb.name.c_str());
      }
      if (verb.lanes == InLanes::Feeds)
        QVERIFY2((*lanes)->feed(verb.name, {{"frobnicate", 1}}).error().code == "bad_argument", verb.name.c_str());
      if (!verb.ofLanes()) continue;
      json args = json::object();
      if (verb.name == "lane") args = {{"lane", 0}, {"verb", "bytes"}};
      if (verb.name == "lanesOpen") args = {{"lanes", json::array()}};
      if (verb.name == "lanesNeedles") args = {{"places", json::array()}};
      if (verb.name == "lanesDifference") args = {{"lane", 0}};
      if (verb.name == "batchOpen") args = {{"size", 2}};
      if (verb.name == "batchPrompts") args = {{"prompts", json::array()}};
      if (verb.name == "sequence") args = {{"sequence", 0}, {"verb", "bytes"}};
      if (verb.name == "batchRelease") args = {{"sequence", 0}};
      QCOMPARE(s.verb(verb.name, args).error().code, std::string(verb.ofBatch() ? "no_batch" : "no_lanes"));
      QVERIFY(!verb.recorded());
    }
    QCOMPARE(execute(**lanes, "step", {{"n", 2}})->size(), std::size_t{2});
  }

  void lanesTakeThePlaceOfASession() {
    SessionFixture s;
    s.prompt(6);
    SessionHolder holder(std::move(s.session));
    int snapshots = 0, between = 0;
    holder.setPublish([&](const SnapshotPtr&) { ++snapshots; });
    holder.setBetweenTicks([&] { ++between; });
    QCOMPARE(holder.execute("lanesClose", nullptr).error().code, std::string("no_lanes"));
    QCOMPARE(holder.execute("lanesOpen", nullptr).error().code, std::string("bad_argument"));
    QCOMPARE(holder.execute("lanesOpen", {{"lanes", {json::object()}}})->at("lanes"), json(2));
    QCOMPARE(holder.execute("lanesOpen", {{"lanes", {json::object()}}}).error().code, std::string("in_lockstep"));
    QVERIFY(holder.execute("step", {{"n", 3}}));
    QCOMPARE(between, 2);
    QVERIFY(holder.snapshot()->lanes);
    QVERIFY(holder.execute("lanesClose", {{"lane", 1}}));
    QVERIFY(!holder.snapshot()->lanes && snapshots >= 5);
    QCOMPARE(length(holder), json(9));
    QVERIFY(holder.execute("step", {{"n", 3}}));
    QCOMPARE(between, 4);
  }

  void aBatchTakesThePlaceOfASession() {
    SessionFixture s;
    s.prompt(6);
    SessionHolder holder(std::move(s.session));
    int snapshots = 0, between = 0;
    holder.setPublish([&](const SnapshotPtr&) { ++snapshots; });
    holder.setBetweenTicks([&] { ++between; });
    QCOMPARE(holder.execute("batchClose", nullptr).error().code, std::string("no_batch"));
    QCOMPARE(holder.execute("batchOpen", {{"size", 0}}).error().code, std::string("bad_argument"));
    QCOMPARE(holder.execute("batchOpen", {{"size", 3}})->at("sequences"), json(3));
    QCOMPARE(holder.execute("batchOpen", {{"size", 3}}).error().code, std::string("in_lockstep"));
    QCOMPARE(holder.execute("lanesOpen", {{"lanes", {json::object()}}}).error().code, std::string("in_lockstep"));
    QCOMPARE(holder.execute("lanesReport", nullptr).error().code, std::string("no_lanes"));
    QCOMPARE(holder.execute("batchStep", {{"n", 3}})->size(), std::size_t{3});
    QCOMPARE(between, 2);
    for (const VerbInfo& verb : verbs())  // each has something that runs it
      if (verb.ofBatch()) QCOMPARE(holder.execute(verb.name, {{"frobnicate", 1}}).error().code.empty(), false);
    QVERIFY(holder.execute("promptIds", {{"ids", {5, 6}}}));  // goes to the first sequence
    QCOMPARE(length(holder), json(11));
    QCOMPARE(holder.execute("batchReport", nullptr)->at(1).at("length"), json(9));
    Result<std::unique_ptr<SessionHolder>> copy = holder.fork();
    QVERIFY(copy && (*copy)->execute("batchClose", {{"sequence", 1}}));
    QCOMPARE(length(**copy), json(9));
    QVERIFY(holder.execute("batchClose", nullptr) && snapshots >= 5);
    QCOMPARE(length(holder), json(11));
  }

  void unknownNamesHaveNeighbours() {
    const SessionFixture s;
    const Error error = s.verb("tockenise").error();
    QCOMPARE(error.code, std::string("unknown_verb"));
    QVERIFY2(error.why.ends_with("the nearest is tokenise"), error.why.c_str());
    QVERIFY(s.verb("topk", {{"K", 3}}).error().why.ends_with("the nearest is k"));
  }

  void nearestNames_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("near");
    QTest::newRow("one more") << "checks"
                              << "check";
    QTest::newRow("one less") << "chek"
                              << "check";
    QTest::newRow("another") << "chack"
                             << "check";
    QTest::newRow("swapped") << "hcekc"
                             << "";  // twice
    QTest::newRow("swapped once") << "chekc"
                                  << "check";
    QTest::newRow("case") << "CHECK"
                          << "check";
    QTest::newRow("beginning") << "sam"
                               << "sampling,sample";
    QTest::newRow("nearest first") << "samplin"
                                   << "sampling,sample";
    QTest::newRow("nothing") << "frobnicate"
                             << "";
    QTest::newRow("empty") << ""
                           << "";
  }
  void nearestNames() {
    QFETCH(QString, name);
    QFETCH(QString, near);
    QString all;
    for (const std::string& one : nearest(name.toStdString(), {"check", "sampling", "capacity", "sample"}))
      all += (all.isEmpty() ? "" : ",") + QString::fromStdString(one);
    QCOMPARE(all, near);
  }

  /// A policy that no manifest could name: never taken for another one.
  void unknownPolicies() {
    const Result<const Policy*> none = findPolicy("snapvk");
    QVERIFY(!none);
    QCOMPARE(none.error().code, std::string("bad_manifest"));
    QVERIFY2(none.error().why.ends_with("the nearest is snapkv"), none.error().why.c_str());
    QVERIFY_EXCEPTION_THROWN(policyOf("snapvk"), ErrorThrown);
    QVERIFY(*findPolicy("h2o") == &policyOf("h2o") && knownPolicies({PolicySpec{}}));
    QVERIFY(!knownPolicies({PolicySpec{}, PolicySpec{.name = "h3o"}}));
    Manifest made = Manifest::fromJson(json{{"model", "synthetic:tiny"}}).take();
    made.policy.name = "snapvk";
    const auto session = openSession(made, KVLAB_RESOURCES_DIR);
    QVERIFY(!session && session.error().why == none.error().why);
    for (const char* near : {R"({"policy":"h3o"})", R"({"layout":"pagd:block=4"})", R"({"checks":{"level":"full"}})",
                             R"({"sampling":{"topk":3}})", R"({"policy":{"name":"h2o","windows":3}})"}) {
      const auto manifest = Manifest::fromJson(json::parse(near));
      QVERIFY2(!manifest && manifest.error().why.find("the nearest is ") != std::string::npos, near);
    }
  }

  /// One call queues and applies; the reply is the tick's report and names the queued actions.
  void injectAppliesAtOnce() {
    const SessionFixture s, other;
    for (const SessionFixture* one : {&s, &other}) one->prompt(20);
    const json report = s.must("inject", {{"actions", {removal(3), removal(7)}}, {"now", true}});
    QVERIFY(report["ok"] == true && report["queued"] == 2 && report["actions"].size() == 2);
    QCOMPARE(s.must("inject", {{"actions", {removal(4)}}, {"now", false}}), (json{{"pending", 1}}));
    QCOMPARE(s.must("clearPending"), (json{{"pending", 0}}));
    other.must("inject", {{"actions", {removal(3), removal(7)}}});
    other.must("apply");
    QCOMPARE(s.hash(), other.hash());
    // Actions that already wait are applied with the new one.
    s.must("inject", {{"actions", {removal(1)}}});
    QCOMPARE(s.must("inject", {{"actions", {removal(2)}}, {"now", true}})["actions"].size(), std::size_t{2});
    QVERIFY(s->pending().empty());
    QCOMPARE(s.must("evict", {{"layer", 0}, {"ledger", {10}}, {"now", true}})["queued"], json(1));
  }

  void whatInjectCannotApplyIsNotQueued_data() {
    QTest::addColumn<bool>("waiting");
    QTest::newRow("alone") << false;
    QTest::newRow("behind another") << true;
  }
  void whatInjectCannotApplyIsNotQueued() {
    QFETCH(bool, waiting);
    const SessionFixture s(json{{"faults", true}});
    s.prompt(20);
    if (waiting) s.must("inject", {{"actions", {removal(1)}}});
    const std::string before = hashAndLength(*s.session);
    const std::size_t pending = s->pending().size();
    for (const char* refused : {"plan", "tick"}) {
      if (refused == std::string("tick")) s.must("fault", {{"kind", "kernel"}, {"n", 1}});
      const json actions = refused == std::string("tick")
          ? json{{{"action", "insert"}, {"position", 4}, {"token_ids", {9}}}}
          : json{removal(999)};
      QVERIFY2(!s.verb("inject", {{"actions", actions}, {"now", true}}), refused);
      QCOMPARE(hashAndLength(*s.session), before);
      QCOMPARE(s->pending().size(), pending);
      QCOMPARE(s->snapshot()->pending.size(), pending);
    }
    QVERIFY2(s.damage().isEmpty(), s.damage());
  }

  /// History and captures do it again.
  void injectAtOnceIsReplayed_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::newRow("states kept") << QByteArray("{}");
    QTest::newRow("executed again") << QByteArray(R"({"layout":"contiguous_splice"})");
  }
  void injectAtOnceIsReplayed() {
    QFETCH(QByteArray, manifest);
    const SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(20);
    s.must("inject", {{"actions", {removal(1)}}});
    s.must("inject", {{"actions", {removal(3)}}, {"now", true}});
    const std::string edited = s.hash();
    s.must("step", {{"n", 2}});
    const std::string last = s.hash();
    s.must("undo"), s.must("undo");
    QCOMPARE(s.hash(), edited);
    s.must("redo"), s.must("redo");
    QCOMPARE(s.hash(), last);
    const std::string path = m_folder.filePath("c").toStdString();
    s.must("saveCapture", {{"path", path}});
    const Result<Replay> replay = replayCapture(path, KVLAB_RESOURCES_DIR, {.to = {}, .verify = true});
    QVERIFY2(replay && replay->ok(), replay ? "a hash differs" : replay.error().text().c_str());
    QCOMPARE(replay->steps.size(), std::size_t{3});
  }

  /// A refused tick leaves pending actions, and no snapshot on the way says that nothing is pending.
  void whatWaitsIsAlwaysShown_data() {
    QTest::addColumn<QString>("verb");
    QTest::newRow("a refused tick") << "step";
    QTest::newRow("one action of two") << "stepAction";
  }
  void whatWaitsIsAlwaysShown() {
    QFETCH(QString, verb);
    const SessionFixture s;
    s.prompt(12);
    if (verb == "step") {
      s.must("inject", {{"actions", {{{"action", "evict"}, {"layer", 0}, {"ledger", {3}}}}}});
      s.must("pin", {{"ledger", 3}});
    } else {
      s.must("inject", {{"actions", {removal(1), removal(5)}}});
    }
    std::vector<std::size_t> shown;
    s->setPublish([&](const SnapshotPtr& snapshot) { shown.push_back(snapshot->pending.size()); });
    (void)s.verb(verb.toStdString());
    QCOMPARE(s->pending().size(), std::size_t{1});
    QCOMPARE(shown.back(), std::size_t{1});
    QVERIFY(std::find(shown.begin(), shown.end(), std::size_t{0}) == shown.end());
  }

  /// Others may look between two ticks; they see a whole state with its pending actions.
  void whoLooksBetweenTicksSeesAWholeSession_data() {
    QTest::addColumn<QString>("verb");
    QTest::addColumn<QString>("args");
    QTest::newRow("step") << "step"
                          << R"({"n":3})";
    QTest::newRow("run") << "run"
                         << R"({"maxTicks":3})";
  }
  void whoLooksBetweenTicksSeesAWholeSession() {
    QFETCH(QString, verb);
    QFETCH(QString, args);
    const SessionFixture s(json{{"layout", "contiguous_splice"}});
    s.prompt(12);
    std::vector<std::string> seen;
    s->setBetweenTicks([&] {
      seen.push_back(s.must("tick").dump() + " " + s.must("length").dump());
      QCOMPARE(s->snapshot()->tick, s->state().tick);
      QCOMPARE(s->snapshot()->pending.size(), s->pending().size());
    });
    s.must(verb.toStdString(), json::parse(args.toStdString()));
    QCOMPARE(seen, (std::vector<std::string>{"2 13", "3 14"}));
    s.must("undo");  // executes again: a session on its way to somewhere is nothing to look at
    QCOMPARE(seen.size(), std::size_t{2});
  }
};

KV_TEST(VerbsTest)
#include "verbs_test.moc"
