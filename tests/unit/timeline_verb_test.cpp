// SPDX-License-Identifier: Apache-2.0
// The verb timeline gives the same as a walk over the session's history, whole or in parts; goto with a branch leads to
// every state of every branch.
#include "support/runner.h"
#include "support/session_fixture.h"

#include <QTemporaryDir>
#include <cstring>

using namespace kvlab;

namespace {

json replacing(int position) {
  return {{"actions", {{{"action", "replace"}, {"positions", {position}}, {"new_token_ids", {9}}}}}, {"now", true}};
}

/// Steps, edits and ways back until there are some branches.
void wander(const SessionFixture& s) {
  s.prompt(12);
  s.must("step", {{"n", 6}});
  s.must("goto", {{"tick", 3}});
  s.must("inject", replacing(4));
  s.must("run", {{"maxTicks", 4}});
  s.must("rebuild");
  s.must("undo", {{"n", 3}});
  s.must("pin", {{"ledger", 2}});
  s.must("step");
  s.must("evict", {{"layer", 1}, {"ledger", {3, 5}}, {"now", true}});
  s.must("goto", {{"tick", 2}});
  s.must("step", {{"n", 2}});
}

/// The result of a walk over the timeline, in the shape of the verb's reply.
json walked(const Session& session) {
  const Timeline& timeline = session.timeline();
  json parent = json::array(), edit = json::array(), tick = json::array(), kept = json::array();
  json entries = json::array(), sorts = json::array(), words = json::array(), branches = json::array();
  bool before = false;
  for (int id = 0; id < timeline.size(); ++id) {
    const Timeline::Entry& one = timeline.entry(id);
    parent.push_back(one.parent);
    edit.push_back(one.edit);
    tick.push_back(one.tick.value());
    if (before != !!one.state()) kept.push_back(id);
    before = !!one.state();
    if (id == 0 || one.words.empty() || one.edit != id) continue;
    entries.push_back(id);
    sorts.push_back(name(one.sort));
    words.push_back(one.words);
  }
  if (before) kept.push_back(timeline.size());
  for (const Timeline::Branch& one : timeline.branches()) branches.push_back({{"name", one.name}, {"tip", one.tip}});
  return {{"size", timeline.size()},
          {"current", timeline.currentId()},
          {"branch", timeline.branch()},
          {"parent", parent},
          {"edit", edit},
          {"tick", tick},
          {"kept", kept},
          {"branches", branches},
          {"edits", {{"entry", entries}, {"sort", sorts}, {"words", words}}}};
}

template <class T>
std::vector<T> unpacked(const json& column) {
  const auto& bytes = column.get_binary();
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

class TimelineVerbTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void tellsTheWholeTree_data() {
    QTest::addColumn<qint64>("bytes");
    QTest::newRow("everything is kept") << (qint64{64} << 20);
    QTest::newRow("little is kept") << qint64{40000};
  }
  void tellsTheWholeTree() {
    QFETCH(qint64, bytes);
    const SessionFixture s(json{{"history_bytes", bytes}});
    wander(s);
    const json told = s.must("timeline"), found = walked(*s);
    for (const auto& [field, value] : found.items())
      QVERIFY2(told[field] == value, (field + ": " + told[field].dump() + ", not " + value.dump()).c_str());
    QVERIFY(told["branches"].size() >= 3 && told["edits"]["entry"].size() >= 4);
    QVERIFY((told["kept"] == json{0, told["size"]}) == (bytes > 50000));
  }

  /// As the reports of the ticks tell them.
  void rowsThatLeftAreCounted() {
    const SessionFixture s(json{{"policy", "streaming_llm:capacity=10,window=4,sinks=2"}});
    s.prompt(14);
    std::size_t all = 0;
    for (const json& report : s.must("step", {{"n", 3}})) {
      std::size_t rows = 0;
      for (const json& one : report["left"]) rows += one["ledger"].size();
      for (const json& one : report["actions"])
        if (one["action"] == "evict") rows += one["ledger"].size();
      const int entry = s->timeline().find(Tick(report["tick"]));
      QCOMPARE(s.must("timeline")["left"][static_cast<std::size_t>(entry)].get<std::size_t>(), rows);
      all += rows;
    }
    QVERIFY(all > 0);
  }

  void partsMakeTheWhole() {
    const SessionFixture s;
    json whole;
    const auto grow = [&](int since) {
      const json part = s.must("timeline", {{"since", since}});
      QCOMPARE(part["since"].get<int>(), since);
      for (const char* field : {"parent", "edit", "tick", "left"})
        for (const json& value : part[field]) whole[field].push_back(value);
      for (const char* field : {"entry", "sort", "words"})
        for (const json& value : part["edits"][field]) whole["edits"][field].push_back(value);
    };
    grow(0);
    int known = s->timeline().size();
    for (const int steps : {1, 3, 2}) {
      s.prompt(3, static_cast<unsigned>(steps));
      s.must("step", {{"n", steps}});
      grow(std::exchange(known, s->timeline().size()));
    }
    const json all = s.must("timeline");
    for (const auto& [field, value] : whole.items()) QVERIFY2(all[field] == value, field.c_str());
    const json packed = s.must("timeline", {{"packed", true}}), nothing = s.must("timeline", {{"since", 9999}});
    QCOMPARE(unpacked<std::int64_t>(packed["tick"]), all["tick"].get<std::vector<std::int64_t>>());
    for (const char* field : {"parent", "edit", "left", "kept"})
      QCOMPARE(unpacked<std::int32_t>(packed[field]), all[field].get<std::vector<std::int32_t>>());
    QVERIFY(nothing["tick"].empty() && nothing["since"] == all["size"]);
  }

  void aResetBeginsAnother() {
    const SessionFixture s;
    s.prompt(5);
    s.must("step", {{"n", 2}});
    s.must("undo");
    const json before = s.must("timeline");
    QCOMPARE(before["starts"], s.must("timeline")["starts"]);
    s.must("reset");
    const json after = s.must("timeline");
    QVERIFY(after["starts"] > before["starts"] && after["size"] == 1);
  }

  /// Whatever states are kept, and from wherever the way begins.
  void everyBranchIsReached_data() { tellsTheWholeTree_data(); }
  void everyBranchIsReached() {
    QFETCH(qint64, bytes);
    const SessionFixture s(json{{"history_bytes", bytes}});
    std::map<int, std::string> hashes;
    s->setPublish([&](SnapshotPtr) {
      if (!s->history().replaying()) hashes.try_emplace(s->timeline().currentId(), s.hash());
    });
    wander(s);
    const json tree = s.must("timeline");
    for (int round = 0; round < 2; ++round)
      for (const json& branch : tree["branches"])
        for (std::int64_t tick = 0; tick <= tree["tick"][branch["tip"].get<std::size_t>()]; tick += 1 + round) {
          const std::string name = branch["name"];
          const json where = s.must("goto", {{"tick", tick}, {"branch", name}});
          QCOMPARE(where["branch"], json(name));
          QCOMPARE(where["tick"], json(tick));
          const int here = s->timeline().currentId();
          QCOMPARE(here, s->timeline().find(Tick(tick), s->timeline().branchNamed(name)));
          if (const auto known = hashes.find(here); known != hashes.end()) QCOMPARE(s.hash(), known->second);
          QCOMPARE(s->snapshot()->branch, name);
        }
    QCOMPARE(s->timeline().size(), tree["size"].get<int>());
  }

  /// Redo and later ticks go on with the branch that was named.
  void aBranchGoesOn() {
    const SessionFixture s;
    s.prompt(5);
    s.must("step", {{"n", 4}});
    const std::string tip = s.hash();
    s.must("goto", {{"tick", 2}});
    s.must("step", {{"n", 1}, {"tokens", {9}}});
    QCOMPARE(s->timeline().branch(), std::string("branch-1"));
    s.must("goto", {{"tick", 1}, {"branch", "main"}});
    const std::int64_t last = s->timeline().entry(s->timeline().tip()).tick.value();
    s.must("redo", {{"n", last - 1}});
    QCOMPARE(s.hash(), tip);
    s.must("step");
    QCOMPARE(s->timeline().branch(), std::string("main"));
    QCOMPARE(s.must("branches").size(), std::size_t{2});
  }

  void whatCannotBeReachedIsRefused() {
    const SessionFixture s;
    QTemporaryDir folder;
    s.prompt(5);
    s.must("step", {{"n", 2}});
    s.must("goto", {{"tick", 1}});
    s.must("step", {{"tokens", {9}}});
    const std::string before = s.hash();
    const auto code = [&](const json& args) {
      const Result<json> reply = s.verb("goto", args);
      return reply ? std::string() : reply.error().code;
    };
    QCOMPARE(code({{"tick", 1}, {"branch", "elsewhere"}}), std::string("unknown_branch"));
    QCOMPARE(code({{"tick", 99}, {"branch", "main"}}), std::string("out_of_range"));
    s.must("startCapture", {{"path", folder.filePath("c.kvcap").toStdString()}});
    QCOMPARE(code({{"tick", 1}, {"branch", "main"}}), std::string("capturing"));
    QCOMPARE(s->timeline().branch(), std::string("branch-1"));
    QCOMPARE(s.hash(), before);
    QCOMPARE(code({{"tick", 1}}), std::string());
    s.must("stopCapture");
    QCOMPARE(code({{"tick", 1}, {"branch", "main"}}), std::string());
  }
};

KV_TEST(TimelineVerbTest)
#include "timeline_verb_test.moc"
