// SPDX-License-Identifier: Apache-2.0
// Advice about layouts: the trial of another layout counts the bytes that a session with that layout moves in the same
// commits, and the advice follows from figures alone.
#include "core/session/layout_advice.h"
#include "core/api/layout_names.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr int kAdviceEdits = 5;

/// Edits in front of many rows: two become one, one becomes three, one leaves, with a new token at the end or without.
void editOften(const SessionFixture& s) {
  s.prompt(120);
  for (int i = 0; i < kAdviceEdits; ++i) {
    s.must("inject",
           {{"actions",
             {{{"action", "replace_pair"}, {"original_pos1", 8}, {"original_pos2", 9}, {"new_token_ids", {7}}},
              {{"action", "replace"}, {"positions", {30 + i}}, {"new_token_ids", {5, 6, 7}}},
              {{"action", "delete"}, {"position", 50}}}}});
    s.must(i % 2 ? "step" : "apply");
  }
}

/// Bytes of the `commit` events of the last edits.
std::int64_t movedByEdits(const SessionFixture& s) {
  std::int64_t out = 0;
  int id = s->timeline().currentId();
  for (int i = 0; i < kAdviceEdits; ++i, id = s->timeline().entry(id).parent)
    for (const Event& event : s->timeline().entry(id).report->events)
      if (event.name == "commit") out += event.bytes;
  return out;
}

/// Advice is for layouts that keep the same rows.
std::vector<std::string> layoutsWithoutRings() {
  std::vector<std::string> out;
  for (const LayoutName& one : layouts())
    if (!one.name.starts_with("ring_")) out.emplace_back(one.name);
  return out;
}

LayoutTrial trialOf(const SessionFixture& s, const std::string& layout) {
  for (const LayoutTrial& one : layoutTrials(*s))
    if (one.layout.starts_with(layout)) return one;
  return {};
}

}  // namespace

class LayoutAdviceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void trialsMoveWhatSessionsMove() {
    for (const char* present : {"contiguous_splice", "boolean_gather"}) {
      const SessionFixture s(json{{"layout", present}});
      editOften(s);
      const CommitCosts costs = commitCosts(*s);
      QCOMPARE(costs.commits, kAdviceEdits);
      QCOMPARE(costs.bytes, movedByEdits(s));
      QVERIFY(costs.us > 0 && costs.tickUs > costs.us);
      for (const std::string& layout : layoutsWithoutRings()) {
        if (layout == present) continue;
        const SessionFixture other(json{{"layout", layout}});
        editOften(other);
        const LayoutTrial trial = trialOf(s, layout);
        QVERIFY2(trial.layout.starts_with(layout), layout.c_str());
        // Pages have other holes where a session has lived in them.
        if (layout == "paged") QVERIFY(trial.bytes > 0 && trial.bytes < trialOf(s, "indirection").bytes + costs.bytes);
        else
          QVERIFY2(trial.bytes == movedByEdits(other),
                   (layout + " " + std::to_string(trial.bytes) + " " + std::to_string(movedByEdits(other))).c_str());
      }
    }
  }

  void ringsAreComparedWithRings() {
    const SessionFixture s(json{{"layout", "ring_roll"}, {"ring", {{"window", 32}}}});
    s.prompt(100);
    s.must("step", {{"n", 6}});
    QVERIFY(commitCosts(*s).commits >= 6);
    const std::vector<LayoutTrial> trials = layoutTrials(*s);
    QCOMPARE(trials.size(), std::size_t{1});  // the others copy rows for each read
    QCOMPARE(trials[0].layout, std::string("ring_fused"));
    QCOMPARE(trials[0].bytes, std::int64_t{0});
  }

  void nothingMovesNothingIsSaid() {
    const SessionFixture s;
    editOften(s);
    QCOMPARE(commitCosts(*s).commits, 0);
    QVERIFY(!layoutAdvice(*s));
    QVERIFY(!s.must("storage", {{"layer", 0}}).contains("advice"));
    const SessionFixture mixed(
        json{{"layout", "batch_splice"}, {"layers", {{{"match", "0"}, {"layout", "boolean_gather"}}}}});
    editOften(mixed);
    QVERIFY(layoutTrials(*mixed).empty());
  }

  void adviceFollowsFigures() {
    const CommitCosts costs{.commits = 4, .us = 16000, .tickUs = 40000, .bytes = 4 << 20};
    const std::vector<LayoutTrial> trials{{"batch_splice", 100, 3 << 20}, {"indirection", 80, 0}, {"paged", 100, 4096}};
    const std::optional<LayoutAdvice> advice = adviceFrom(costs, trials);
    QVERIFY(advice);
    QCOMPARE(advice->text(), std::string("your commits cost 4.0 ms; `indirection` would cost 0.02"));
    QCOMPARE(advice->bytes, std::int64_t{1 << 20});
    QCOMPARE(advice->wouldBytes, std::int64_t{0});
    QVERIFY(!adviceFrom(costs, {}));
    QVERIFY(!adviceFrom(costs, {{"batch_splice", 100, 3 << 20}}));  // less than half is saved
    QVERIFY(
        !adviceFrom({.commits = 4, .us = 1600, .tickUs = 40000, .bytes = 4 << 20}, trials));  // nobody would feel it
    QVERIFY(!adviceFrom({.commits = 2, .us = 16000, .tickUs = 40000, .bytes = 4 << 20}, trials));
    QVERIFY(!adviceFrom({.commits = 4, .us = 16000, .tickUs = 40000, .bytes = 0}, trials));
  }
};

KV_TEST(LayoutAdviceTest)
#include "layout_advice_test.moc"
