// SPDX-License-Identifier: Apache-2.0
// wLOD in sessions: after any expansion, collapse, appended text, edit, draft or focus round, the rows are those of a
// rebuild, every invariant holds, history leads back, and refused calls change nothing.
#include <set>

#include "core/api/layout_names.h"
#include "core/check/fault_drill.h"
#include "core/kinds/wlod/kind/wlod_parts.h"
#include "core/parts/kinds.h"
#include "support/runner.h"
#include "support/wlod_session.h"

namespace kvlab {
namespace {

/// Checksums of the rows of all layers whose nodes end at or before a moment.
std::vector<std::uint64_t> checksumsBefore(const SessionFixture& s, std::int32_t moment) {
  std::vector<std::uint64_t> out;
  const WlodState& state = wlodIn(s->state());
  for (const CacheLayer layer : s->state().layers()) {
    std::vector<std::int32_t> slots;
    for (std::size_t row = 0; row < state.rows.size(); ++row)
      if (state.rows[row].node.end() <= moment) slots.push_back(s->state().group(layer).stored().slotOf[row].value());
    std::vector<std::uint64_t> tags(slots.size()), sums(slots.size());
    s->store().pool(layer).readTags(slots, tags.data(), sums.data());
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

}  // namespace

class WlodSessionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void edits_data() {
    QTest::addColumn<QByteArray>("wlod");
    QTest::addColumn<QByteArray>("more");
    QTest::addColumn<int>("seed");
    for (int seed = 1; seed <= 3; ++seed) {
      const QByteArray n = QByteArray::number(seed);
      QTest::newRow("flat " + n) << QByteArray(R"({"budget":200,"start_tokens":40,"start_gists":200,"protect":20})")
                                 << QByteArray("{}") << seed;
      QTest::newRow("pyramid " + n) << QByteArray(
                                           R"({"budget":200,"attention":"pyramid","w":64,"w2":1024,"protect":20})")
                                    << QByteArray("{}") << seed;
      QTest::newRow("near-causal " + n)
          << QByteArray(
                 R"({"budget":200,"attention":"pyramid","w":32,"w2":1024,"near_causal":true,
                                                   "protect":20,"recompute":"incremental"})")
          << QByteArray("{}") << seed;
      QTest::newRow("no damping, always full " + n)
          << QByteArray(R"({"budget":160,"sigma":0,"recompute":"full","protect":0})") << QByteArray("{}") << seed;
      QTest::newRow("incremental, int8 " + n)
          << QByteArray(R"({"budget":160,"recompute":"incremental","attention":"pyramid","w":32,"w2":1024})")
          << QByteArray(R"({"kv":{"k":"int8","v":"f16"}})") << seed;
    }
    const std::span<const LayoutName> all = layouts();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string name(all[i].name);
      const json flat{{"budget", 160}, {"protect", 8}, {"recompute", i % 2 ? "chosen" : "incremental"}};
      const json pyramid{{"budget", 160}, {"protect", 8}, {"attention", "pyramid"}, {"w", 32}, {"w2", 1024}};
      const json heads{{"layout", name}, {"residency", "kv_head"}, {"kv", {{"k", i % 2 ? "fp8-e4m3" : "int8"}}}};
      const json windows{{"layout", name}, {"layers", {{{"match", "0"}, {"window", 100}}}}};
      QTest::newRow(("flat, by head, " + name).c_str())
          << QByteArray::fromStdString(flat.dump()) << QByteArray::fromStdString(heads.dump()) << 4;
      QTest::newRow(("pyramid, window, " + name).c_str())
          << QByteArray::fromStdString(pyramid.dump()) << QByteArray::fromStdString(windows.dump()) << 5;
    }
  }
  void edits() {
    QFETCH(QByteArray, wlod);
    QFETCH(QByteArray, more);
    QFETCH(int, seed);
    const SessionFixture s(manifest(json::parse(wlod.toStdString()), json::parse(more.toStdString())));
    s.prompt(1300, static_cast<unsigned>(seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    int done = 0, refused = 0;
    for (int i = 0; i < 40; ++i) {
      const std::string before = s.hash();
      const auto [verb, args] = randomEdit(s, random);
      Result<json> result = s.verb(verb, args);
      if (result && verb == "inject") result = s.verb("apply");
      if (!result) {
        s.must("clearPending");
        QCOMPARE(s.hash(), before);
        ++refused;
        continue;
      }
      ++done;
      const QByteArray damage = s.damage();
      QVERIFY2(damage.isEmpty(), (QByteArray::fromStdString(verb + args.dump()) + ": " + damage).constData());
      QVERIFY2(s->state().length() <= wlodIn(s->state()).rules.working.budget, verb.c_str());
      QVERIFY2(drift(s) == 0, (verb + args.dump()).c_str());
    }
    QVERIFY(done > 10 && refused > 0);
    const std::vector<float> values = s.values();
    const std::string hash = s.hash();
    s.must("rebuild");
    QVERIFY(s.values() == values);
    s.must("undo");
    QCOMPARE(s.hash(), hash);
  }

  void earlierNodesStay() {
    const SessionFixture s(manifest({{"budget", 600},
                                     {"attention", "pyramid"},
                                     {"w", 64},
                                     {"w2", 1024},
                                     {"lens", "off"},
                                     {"recompute", "incremental"},
                                     {"protect", 0}}));
    s.prompt(500);
    const std::vector<std::uint64_t> before = checksumsBefore(s, 256);
    QVERIFY(before.size() > 256 * 2);
    s.must("collapse", {{"node", id(1, 256)}, {"now", true}});
    QCOMPARE(checksumsBefore(s, 256), before);
    s.must("inject", {{"actions", {{{"action", "replace"}, {"positions", {300}}, {"new_token_ids", {9}}}}}});
    s.must("apply");
    QCOMPARE(checksumsBefore(s, 256), before);
    QCOMPARE(wlodIn(s->state()).tree.dirty().size(), std::size_t{0});
  }

  void historyExecutesAgain() {
    const SessionFixture s(manifest({{"budget", 128}, {"every", 8}, {"protect", 16}}, {{"history_bytes", 0}}));
    std::vector<std::string> hashes;
    const auto note = [&] { hashes.push_back(s.hash()); };
    s.prompt(400), note();
    s.must("step", {{"n", 12}}), note();
    s.must("refocus"), note();
    s.must("speculate", {{"tokens", {5, 6, 7}}}), note();
    s.must("rollback"), note();
    s.must("step", {{"n", 20}}), note();
    QCOMPARE(hashes[4], hashes[2]);
    const std::int64_t end = s->state().tick.value();
    s.must("goto", {{"tick", 1}});
    s.must("goto", {{"tick", end}});
    QCOMPARE(s.hash(), hashes[5]);
    QVERIFY(s.damage().isEmpty());
  }

  /// The layout decides the places of rows, never their content.
  void layoutsAgree_data() {
    QTest::addColumn<bool>("pyramid");
    QTest::addColumn<bool>("heads");
    QTest::newRow("flat") << false << false;
    QTest::newRow("flat, by head") << false << true;
    QTest::newRow("pyramid") << true << false;
    QTest::newRow("pyramid, by head") << true << true;
  }
  void layoutsAgree() {
    QFETCH(bool, pyramid);
    QFETCH(bool, heads);
    std::vector<float> values, logits;
    for (const LayoutName& layout : layouts()) {
      const SessionFixture s(
          manifest({{"budget", 140}, {"protect", 8}, {"attention", pyramid ? "pyramid" : "flat"}, {"w", 32}},
                   {{"layout", layout.name}, {"residency", heads ? "kv_head" : "layer"}, {"kv", {{"v", "int8"}}}}));
      s.prompt(700);
      std::mt19937 random(11);
      for (int i = 0; i < 12; ++i) {
        const auto [verb, args] = randomEdit(s, random);
        const Result<json> result = s.verb(verb, args);
        if (result && verb == "inject" && !s.verb("apply")) s.must("clearPending");
      }
      if (values.empty()) values = s.values(), logits = *s->state().logits;
      QVERIFY2(s.values() == values, std::string(layout.name).c_str());
      QVERIFY2(*s->state().logits == logits, std::string(layout.name).c_str());
    }
  }

  void draftsComeAndGo_data() {
    QTest::addColumn<QByteArray>("layout");
    for (const LayoutName& layout : layouts())
      QTest::newRow(std::string(layout.name).c_str()) << QByteArray::fromStdString(std::string(layout.name));
  }
  void draftsComeAndGo() {
    QFETCH(QByteArray, layout);
    const SessionFixture s(manifest({{"budget", 300}, {"attention", "pyramid"}, {"w", 64}, {"w2", 1024}},
                                    {{"layout", layout.toStdString()}}));
    s.prompt(250);
    const std::string before = s.hash();
    const std::vector<float> logits = *s->state().logits;
    s.must("speculate", {{"tokens", SessionFixture::ids(20, 3)}});
    s.must("step");  // belongs to the span
    QVERIFY(s.damage().isEmpty());
    const json tree = s.must("tree");
    QCOMPARE(tree.at("draft").at("begin").get<int>(), 250);
    QCOMPARE(tree.at("attention"), json("pyramid"));
    QCOMPARE(tree.at("w"), json(64));
    QCOMPARE(tree.at("w2"), json(1024));
    for (const auto& [verb, args] : {std::pair<std::string, json>{"refocus", json::object()},
                                     {"rebuild", json::object()},
                                     {"collapse", {{"node", id(1, 0)}, {"now", true}}}}) {
      const Result<json> refused = s.verb(verb, args);
      if (verb == "rebuild" && s->parts().layouts.inPlace()) {  // a rollback computes rows again anyway
        QVERIFY(refused);
        continue;
      }
      QVERIFY(!refused);
      QCOMPARE(refused.error().code, std::string("speculating"));
      s.must("clearPending");
    }
    s.must("rollback");
    QCOMPARE(s.hash(), before);
    QCOMPARE(*s->state().logits, logits);
    QVERIFY(s.damage().isEmpty());
    s.must("speculate", {{"tokens", {4, 5}}});
    s.must("accept");
    QVERIFY(s.damage().isEmpty());
    QCOMPARE(wlodIn(s->state()).tree.length(), 252);
    QCOMPARE(s.verb("accept").error().code, std::string("no_draft"));
  }

  /// Rows that `selective` left as they were cannot be computed again: where rows move in place, a tick that would have
  /// a rollback do so is refused, and the rollback leads back.
  void draftsOverStaleRows_data() { draftsComeAndGo_data(); }
  void draftsOverStaleRows() {
    QFETCH(QByteArray, layout);
    const SessionFixture s(
        manifest({{"budget", 64}, {"protect", 32}, {"recompute", "selective"}}, {{"layout", layout.toStdString()}}));
    s.prompt(30);
    s.must("promptIds", {{"ids", SessionFixture::ids(18, 5)}});
    const std::string before = s.hash();
    s.must("speculate", {{"tokens", {27, 91, 77}}});
    for (int i = 0; i < 5; ++i) {
      const Result<json> more = s.verb("promptIds", {{"ids", SessionFixture::ids(8, i)}});
      if (!more) QCOMPARE(more.error().code, std::string("unsupported"));
    }
    QVERIFY(s.damage().isEmpty());
    s.must("rollback");
    QCOMPARE(s.hash(), before);
    QVERIFY(s.damage().isEmpty());
  }

  /// Rows that saw rows which a policy has let go are made others by a rebuild, too: where a rollback could not bring
  /// them back, the rebuild waits for the end of the draft.
  void rebuildsInDrafts_data() { draftsComeAndGo_data(); }
  void rebuildsInDrafts() {
    QFETCH(QByteArray, layout);
    for (const char* policy : {"full", "oracle:capacity=8", "h2o:capacity=20,window=4"}) {
      const SessionFixture s(
          manifest({{"budget", 64}, {"protect", 8}}, {{"layout", layout.toStdString()}, {"policy", policy}}));
      s.prompt(30);
      s.must("step", {{"n", 4}});
      const std::string before = s.hash();
      s.must("speculate", {{"tokens", {27, 91, 77}}});
      const Result<json> rebuilt = s.verb("rebuild");
      if (!rebuilt) QCOMPARE(rebuilt.error().code, std::string("speculating"));
      QVERIFY2(s.damage().isEmpty(), s.damage());
      s.must("rollback");
      QCOMPARE(s.hash(), before);
      QVERIFY2(s.damage().isEmpty(), s.damage());
    }
  }

  void refusals_data() {
    QTest::addColumn<QByteArray>("actions");
    QTest::addColumn<QByteArray>("code");
    QTest::newRow("misaligned") << QByteArray(R"([{"action":"collapse","node":65}])") << QByteArray("misaligned");
    QTest::newRow("token") << QByteArray(R"([{"action":"expand","node":1200}])") << QByteArray("no_children");
    QTest::newRow("not an entry") << QByteArray(R"([{"action":"expand","node":1153}])") << QByteArray("not_an_entry");
    QTest::newRow("unknown") << QByteArray(R"([{"action":"expand","node":4000001}])") << QByteArray("unknown_node");
    QTest::newRow("over budget") << QByteArray(R"([{"action":"expand","node":1},{"action":"expand","node":129}])")
                                 << QByteArray("over_budget");
    QTest::newRow("protected") << QByteArray(R"([{"action":"collapse","node":1409}])") << QByteArray("protected_tail");
    QTest::newRow("too many tokens")
        << QByteArray::fromStdString(
               json{{{"action", "insert"}, {"position", 60}, {"token_ids", std::vector(40, 4)}}}.dump())
        << QByteArray("over_budget");
    QTest::newRow("a gist is deleted") << QByteArray(R"([{"action":"delete","position":0}])")
                                       << QByteArray("not_a_token");
    QTest::newRow("a gist's place") << QByteArray(R"([{"action":"replace","positions":[0],"new_token_ids":[4]}])")
                                    << QByteArray("not_a_token");
    QTest::newRow("evict") << QByteArray(R"([{"action":"evict","layer":0,"ledger":[1]}])") << QByteArray("unsupported");
  }
  void refusals() {
    QFETCH(QByteArray, actions);
    QFETCH(QByteArray, code);
    const SessionFixture s(
        manifest({{"budget", 160}, {"start_tokens", 128}, {"lens", "off"}, {"protect", 64}, {"cooldown", 0}}));
    s.prompt(390);
    const std::string before = s.hash();
    const Result<json> refused = s.verb("inject", {{"actions", json::parse(actions.toStdString())}});
    QVERIFY(!refused);
    QCOMPARE(QByteArray::fromStdString(refused.error().code), code);
    QVERIFY(!refused.error().why.empty() && !refused.error().remedy.empty());
    QCOMPARE(s.hash(), before);
  }
  void partsRefuse() {
    const SessionFixture s(
        manifest({{"budget", 200}, {"start_tokens", 32}, {"protect", 16}, {"cooldown", 0}, {"lens", "off"}}));
    s.prompt(1100);
    QCOMPARE(wlodIn(s->state()).context.entries()[0], (TreeNode{1, 0}));
    s.must("expand", {{"node", id(1, 0)}, {"now", true}});
    const std::string before = s.hash();
    const Result<json> refused = s.verb("collapse", {{"node", id(2, 0)}, {"now", true}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("partial"));
    QCOMPARE(s.hash(), before);
  }
  void cooldownRefuses() {
    const SessionFixture s(
        manifest({{"budget", 200}, {"start_tokens", 64}, {"protect", 0}, {"cooldown", 2}, {"lens", "script"}}));
    s.prompt(390);
    s.must("expand", {{"node", id(1, 0)}, {"now", true}});
    const std::string before = s.hash();
    const Result<json> refused = s.verb("collapse", {{"node", id(1, 0)}, {"now", true}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("cooldown"));
    QCOMPARE(s.hash(), before);
    s.must("refocus", {{"rounds", 2}});
    s.must("collapse", {{"node", id(1, 0)}, {"now", true}});
    QVERIFY(s.damage().isEmpty());
  }

  void manifestsThatDoNotGoTogether_data() {
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QByteArray>("value");
    QTest::newRow("capacity") << QByteArray("capacity") << QByteArray("100");
    QTest::newRow("blocks") << QByteArray("ring") << QByteArray(R"({"block_tokens":2})");
    QTest::newRow("position") << QByteArray("position") << QByteArray("\"absolute\"");
    QTest::newRow("at write") << QByteArray("key_phase") << QByteArray("\"at_write\"");
    QTest::newRow("culling") << QByteArray("brightness") << QByteArray(R"({"compressor":"nearest"})");
    QTest::newRow("embeddings") << QByteArray("new_rows") << QByteArray("\"embedding_only\"");
    QTest::newRow("probes") << QByteArray("probes") << QByteArray("false");
    QTest::newRow("gist file") << QByteArray("wlod") << QByteArray(R"({"gist":"/nowhere.safetensors"})");
    QTest::newRow("lens file") << QByteArray("wlod") << QByteArray(R"({"lens":"/nowhere.json"})");
  }
  void manifestsThatDoNotGoTogether() {
    QFETCH(QByteArray, key);
    QFETCH(QByteArray, value);
    json wanted{{"model", "synthetic:tiny"}, {"threads", 1}, {"wlod", json::object()}};
    wanted[key.toStdString()] = json::parse(value.toStdString());
    const Result<Manifest> parsed = Manifest::fromJson(wanted);
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    const Result<std::unique_ptr<Session>> opened = openSession(*parsed, KVLAB_RESOURCES_DIR);
    QVERIFY(!opened);
    QVERIFY(!opened.error().remedy.empty());
  }

  void liveFarBeyondTheBudget() {
    const SessionFixture s(
        manifest({{"budget", 128}, {"every", 16}, {"protect", 32}, {"start_tokens", 48}, {"start_gists", 512}}));
    s.prompt(3000);
    for (int i = 0; i < 12; ++i) {
      s.must("step", {{"n", 16}});
      QVERIFY(s->state().length() <= 128);
      const QByteArray damage = s.damage();
      QVERIFY2(damage.isEmpty(), damage.constData());
    }
    QCOMPARE(wlodIn(s->state()).tree.length(), 3192);
    QVERIFY(wlodIn(s->state()).rounds.size() >= 12);
    QVERIFY(drift(s) == 0);
  }

  void forksGoOnAlike() {
    const SessionFixture s(
        manifest({{"budget", 128}, {"every", 8}, {"attention", "pyramid"}, {"w", 32}, {"w2", 1024}, {"protect", 16}}));
    s.prompt(300);
    Result<std::unique_ptr<Session>> other = s->fork();
    QVERIFY(other);
    s.must("step", {{"n", 24}});
    QVERIFY(execute(**other, "step", {{"n", 24}}));
    QCOMPARE(stateHash(**other), stateHash(*s));
    for (const InvariantState& one : (*other)->check(true)) QVERIFY2(one.ok, one.detail.c_str());
  }

  void scoresFromOutside() {
    const SessionFixture s(manifest({{"budget", 200}, {"lens", "script"}, {"start_tokens", 64}, {"protect", 16}}));
    s.prompt(390);
    QVERIFY(!s.verb("setLensScores", {{"scores", {0.5}}}));
    std::vector<double> scores(static_cast<std::size_t>(s->state().length()), 0.0);
    QCOMPARE(wlodIn(s->state()).context.entries()[2].level, 1);
    QCOMPARE(s.must("rows", {{"layer", 0}})[2].at("sigma"), json(16.0));
    scores[2] = 0.9;
    s.must("setLensScores", {{"scores", scores}});
    s.must("refocus");
    QCOMPARE(wlodIn(s->state()).context.entries()[2].level, 0);
    QCOMPARE(wlodIn(s->state()).rounds.back()->decisions.front().code, std::string("accepted"));
    QVERIFY(s.damage().isEmpty());
  }

  void selectiveIsNearAndSaysSo() {
    const SessionFixture s(manifest(
        {{"budget", 600}, {"lens", "off"}, {"recompute", "selective"}, {"selective_ratio", 0.2}, {"protect", 0}}));
    s.prompt(500);
    s.must("collapse", {{"node", id(1, 128)}, {"now", true}});
    QVERIFY(s.damage().isEmpty());
    const json change = s.must("tree").at("change");
    QVERIFY(change.at("left").get<int>() > 200);
    QVERIFY(change.at("computed").get<int>() < 120);
    const double apart = drift(s);
    QVERIFY2(apart > 0 && apart < 2, std::to_string(apart).c_str());
    QCOMPARE(exactnessMap(*s).layers.back().front(), Exactness::Exact);
    QVERIFY(exactnessMap(*s).layers.back().back() != Exactness::Exact);
    s.must("rebuild");
    QVERIFY(drift(s) == 0);
    QCOMPARE(exactnessMap(*s).layers.back().back(), Exactness::Exact);
  }

  /// An expansion that finds the budget full names the weakest block, and collapses it if it is asked to.
  void expansionsMakeRoom() {
    const SessionFixture s(manifest({{"budget", 130}, {"lens", "script"}, {"cooldown", 0}, {"protect", 0}}));
    s.prompt(128);
    s.must("collapse", {{"node", id(1, 0)}, {"now", true}});
    s.prompt(32);
    std::vector<double> scores(at(s->state().length()), 0.5);
    std::fill_n(scores.begin() + 33, 32, -0.5);  // moments 64 to 95
    s.must("setLensScores", {{"scores", scores}});
    const std::string before = s.hash();
    const Result<json> refused = s.verb("expand", {{"node", id(1, 0)}, {"now", true}});
    QVERIFY(!refused && refused.error().code == "over_budget");
    QVERIFY2(refused.error().remedy.find(TreeNode{1, 64}.text()) != std::string::npos, refused.error().remedy.c_str());
    QCOMPARE(s.hash(), before);
    s.must("expand", {{"node", id(1, 0)}, {"room", true}, {"now", true}});
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
    const WlodState& state = wlodIn(s->state());
    QVERIFY(state.context.hasEntry({0, 0}) && state.context.hasEntry({1, 64}) && state.context.cost() <= 130);
    s.must("undo");
    QCOMPARE(s.hash(), before);
    // Queued behind a collapse that makes the room, it needs no other.
    s.must("collapse", {{"node", id(1, 128)}});
    s.must("expand", {{"node", id(1, 0)}});
    s.must("apply");
    QVERIFY(wlodIn(s->state()).context.hasEntry({1, 128}) && wlodIn(s->state()).context.hasEntry({0, 64}));
  }
  /// Where no block may collapse, nothing changes.
  void expansionsThatFindNoRoom() {
    const SessionFixture s(manifest({{"budget", 70}, {"lens", "off"}, {"cooldown", 0}, {"protect", 64}}));
    s.prompt(96);
    QVERIFY(wlodIn(s->state()).context.hasEntry({1, 0}));
    const std::string before = s.hash();
    for (const bool room : {false, true}) {
      const Result<json> reply = s.verb("expand", {{"node", id(1, 0)}, {"room", room}});
      QVERIFY(!reply && reply.error().code == "over_budget");
      QVERIFY(s->pending().empty());
    }
    QCOMPARE(s.hash(), before);
  }

  /// The tail may shrink to nothing, and the newest entry's logits are always there.
  void tailsShrink() {
    const SessionFixture s(manifest({{"budget", 100}, {"lens", "off"}}));
    s.prompt(40);
    const std::vector<float> logits = *s->state().logits;
    s.prompt(1, 9);
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 40}}}}});
    s.must("apply");
    QCOMPARE(*s->state().logits, logits);
    QVERIFY(s.damage().isEmpty());
    s.must("reset");
    s.prompt(3);
    s.must("inject",
           {{"actions",
             {{{"action", "delete"}, {"position", 0}},
              {{"action", "delete"}, {"position", 1}},
              {{"action", "delete"}, {"position", 2}}}}});
    s.must("apply");
    QCOMPARE(s->state().length(), 0);
    QVERIFY(s.damage().isEmpty());
    s.prompt(50);
    QVERIFY(s.damage().isEmpty());
  }

  /// A failure on the way leaves the state before; the tick after it goes on.
  void failuresLeaveNothingBehind() {
    const SessionFixture s(manifest({{"budget", 300}, {"lens", "off"}, {"protect", 0}}, {{"faults", true}}));
    s.prompt(250);
    const std::string before = s.hash();
    s.must("fault", {{"kind", "kernel"}, {"n", 1}});
    QVERIFY(!s.verb("collapse", {{"node", id(1, 32)}, {"now", true}}));
    s.must("clearPending");
    QCOMPARE(s.hash(), before);
    QVERIFY(s.damage().isEmpty());
    s.must("collapse", {{"node", id(1, 32)}, {"now", true}});
    QVERIFY(s.damage().isEmpty());
  }

  /// The two invariants of wLOD: exactly one of them finds each damage, and the other one is silent.
  void wlodDamageIsNamed_data() {
    QTest::addColumn<int>("damage");
    QTest::addColumn<QString>("expected");
    const char* kExpected[] = {"wlod_tiling gap",   "wlod_tiling overlap",  "wlod_tiling misaligned",
                               "wlod_tiling short", "wlod_tiling budget",   "wlod_rows phase",
                               "wlod_rows slot",    "wlod_rows dirty gist", "wlod_rows order"};
    for (int i = 0; i < 9; ++i) QTest::newRow(kExpected[i]) << i << QString(kExpected[i]).section(' ', 0, 0);
  }
  void wlodDamageIsNamed() {
    QFETCH(int, damage);
    QFETCH(QString, expected);
    const SessionFixture s(manifest({{"budget", 200},
                                     {"start_tokens", 64},
                                     {"protect", 16},
                                     {"lens", "off"},
                                     {"attention", damage == 6 ? "pyramid" : "flat"}}));
    s.prompt(390);
    CacheState state = s->state();
    auto wlod = std::make_shared<WlodState>(wlodIn(state));
    std::vector<TreeNode> entries(wlod->context.entries().begin(), wlod->context.entries().end());
    QVERIFY(entries[0].level == 1 && entries.back().level == 0);
    if (damage == 0) entries.erase(entries.begin() + 3);
    if (damage == 1) entries.insert(entries.begin() + 3, entries[2]);
    if (damage == 2) entries[3].start += 5;
    if (damage == 3) entries.pop_back();
    if (damage < 4) wlod->context = WorkingContext::of(entries);
    if (damage == 4) wlod->rules.working.budget = 10;
    if (damage == 5)
      state.phases = Column<std::int32_t>::make(state.phases.size(), [&](std::int32_t* out) {
        std::copy(s->state().phases.begin(), s->state().phases.end(), out);
        ++out[2];
      });
    if (damage == 6) {
      auto map = std::make_shared<ResidencyView>(*state.groups[0].map);
      std::vector<Slot> slots(map->slotOf.begin(), map->slotOf.end());
      std::swap(slots[2], slots[3]);
      map->slotOf.assign(slots);
      state.groups[0].map = std::move(map);
    }
    if (damage == 7) wlod->tree.replace(Moment(40), wlod->tree.token(Moment(41)));
    if (damage == 8) {
      std::vector<WlodRow> rows(wlod->rows.begin(), wlod->rows.end());
      rows[5].entry = false;
      wlod->rows = wlod->rows.following(rows);
    }
    state.kind = wlod;
    std::set<std::string> found;
    for (const Violation& violation : checkAll({state, s->store(), s->manifest(), s->parts().capacity, true, 0, 0}))
      found.insert(violation.invariant);
    const std::string other = expected == "wlod_rows" ? "wlod_tiling" : "";
    QVERIFY2(found.count(expected.toStdString()), json(found).dump().c_str());
    QVERIFY2(!found.count(other), json(found).dump().c_str());
  }

  /// Damage is found by the invariant that the drill names, in summaries as in entries, and a rebuild repairs it.
  void damageIsFound_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("caughtBy");
    for (const FaultKind& kind : faultKinds())
      if (!kind.caughtBy.empty() && kind.kind != "scale_swap")
        QTest::newRow(std::string(kind.kind).c_str())
            << QString::fromStdString(std::string(kind.kind)) << QString::fromStdString(std::string(kind.caughtBy));
  }
  void damageIsFound() {
    QFETCH(QString, kind);
    QFETCH(QString, caughtBy);
    const SessionFixture s(
        manifest({{"budget", 300}, {"lens", "off"}, {"attention", "pyramid"}, {"w", 32}}, {{"faults", true}}));
    s.prompt(250);
    s.must("fault", {{"kind", kind.toStdString()}, {"seed", 3}});
    const QByteArray found = s.damage();  // maps against the rows of the tree, too
    QVERIFY2(found.contains(caughtBy.toUtf8() + ":") || found.contains("wlod_rows:"), found.constData());
    s.must("rebuild");
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
  }
};

}  // namespace kvlab

KV_TEST(kvlab::WlodSessionTest)
#include "wlod_session_test.moc"
