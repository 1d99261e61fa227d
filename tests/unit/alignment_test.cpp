// SPDX-License-Identifier: Apache-2.0
// The report to readers on cache and mirror: a finding stays, with the ticks between which it came, until a check
// holds again; without a check since the last change no lamp says that all is in step.
#include <QTemporaryDir>
#include <random>

#include "core/session/alignment.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

const Alignment& alignmentOf(const SessionFixture& session) {
  static SnapshotPtr kept;
  kept = session->snapshot();
  return kept->alignment;
}

std::string blamed(const SessionFixture& session) {
  const Alignment known = alignmentOf(session);
  return known.findings.empty() ? std::string() : known.findings.front().blame;
}

/// Damages a stored tag behind the engine's back, as a bug or broken memory would.
void flipTag(const SessionFixture& session, CacheLayer layer, int index) {
  RowPool& pool = session->parts().store.pool(layer);
  const std::span<const Slot> slot(&session->state().map(layer).slotOf[at(index)], 1);
  std::vector<std::uint8_t> record(at(pool.stride()));
  pool.readRecords(slot, record.data());
  record[at(kernels::rowLayout(pool.format()).tag)] ^= 1;
  pool.writeRecords(slot, record.data());
}

}  // namespace

class AlignmentTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Nothing found in a part of the rows neither clears a finding nor proves that the event came later.
  void aCheapCheckClearsOnlyWhatItLooksAt() {
    const SessionFixture session;
    session.prompt(20);
    const Timeline& timeline = session->timeline();
    for (const Invariant& one : invariants()) {
      const Violation violation{std::string(one.id), "damaged", {}, {}, {}, {}};
      AlignmentLog log;
      const auto check = [&](std::vector<Violation> found, bool full) {
        const CheckMade made = CheckMarks::made(found, full, 0, 64);
        log.take(found, made, session->state(), timeline, {});
      };
      const bool all = one.cheap == Cheap::All;
      check({}, false);
      check({violation}, true);
      const Alignment known = log.tell(timeline);
      QCOMPARE(known.findings.size(), std::size_t{1});
      QCOMPARE(known.findings[0].since().verified, all ? std::optional(Tick(1)) : std::nullopt);
      QCOMPARE(known.findings[0].blame,
               all ? std::string("no command came in between") : "promptIds (tick 1: add) came in between");
      check({}, false);
      QCOMPARE(log.anyFinding(), !all);
      check({}, true);
      QVERIFY(!log.anyFinding());
    }
  }

  /// Travel looks at the end of the way only; the marks are those of all checks on it.
  void marksAreThoseOfTheWholeWay() {
    const auto whole = [](const Timeline& timeline) {
      CheckMarks out;
      for (const int id : timeline.path(timeline.currentId()))
        for (const CheckMade& made : timeline.entry(id).checks)
          out.add(made, {timeline.entry(id).tick, timeline.entry(id).depth, made.visit});
      return out;
    };
    const auto same = [](const CheckMark& a, const CheckMark& b) {
      return a.tick == b.tick && a.depth == b.depth && a.visit == b.visit;
    };
    for (unsigned seed = 0; seed < 40; ++seed) {
      std::mt19937 random(seed);
      SessionFixture session(json{{"faults", true}, {"check", {{"scrub_period", 2 + seed % 4}}}});
      session.prompt(12);
      for (int i = 0; i < 60; ++i) {
        const auto kind = random() % 12;
        if (kind < 6) static_cast<void>(session.verb("step", {{"n", 1 + random() % 3}}));
        else if (kind < 9) static_cast<void>(session.verb("undo", {{"n", 1 + random() % 5}}));
        else if (kind == 9) static_cast<void>(session.verb("redo", {{"n", 1 + random() % 5}}));
        else if (kind == 10 && seed % 2) session.must("invariants");
        else if (kind == 11 && seed % 3 == 1)
          static_cast<void>(
              session.verb("fault", {{"kind", "tag_bit"}, {"layer", 1}, {"index", random() % 8}, {"bit", 0}}));
        else if (kind == 11 && seed % 3 == 0)
          session.must("settings", {{"check", {{"scrub_period", 1 + random() % 5}}}});
        const CheckMarks expected = whole(session->timeline()), marks = CheckMarks::along(session->timeline());
        for (std::size_t one = 0; one < invariants().size(); ++one) {
          QVERIFY2(same(marks.last(one), expected.last(one)), invariants()[one].id.data());
          QCOMPARE(marks.all(one), expected.all(one));
          QVERIFY(same(marks.passed(one, {}), expected.passed(one, {})));
          for (int row = 0; row < 12; ++row)
            QVERIFY(same(marks.passed(one, LedgerId(row)), expected.passed(one, LedgerId(row))));
        }
      }
    }
  }

  /// A check that passes the same parts as an earlier one of the same state replaces it.
  void visitsLeaveOneCheckOfEachSlice() {
    SessionFixture session(json{{"layout", "contiguous_splice"}, {"check", {{"scrub_period", 3}}}});  // undo moves rows
    session.prompt(12);
    session.must("step", {{"n", 2}});
    for (int i = 0; i < 20; ++i) {
      session.must("undo");
      session.must("redo");
    }
    QCOMPARE(session->timeline().current().checks.size(), std::size_t{3});
  }

  /// Rows that a check has not read, or that a wrong shape hides, have not passed.
  void onlyWhatWasLookedAtHasPassed() {
    const auto line = [](const AlignmentLog& log, const char* id) {
      return *std::ranges::find(log.lines(), id, &InvariantState::id);
    };
    SessionFixture session(json{{"check", {{"scrub_period", 3}}}});
    session.prompt(40);
    const AlignmentLog& log = session->health().alignment;
    QCOMPARE(line(log, "row_tags").lastPass, Tick(1));
    QCOMPARE(line(log, "row_checksums").lastPass, Tick(1));
    QCOMPARE(line(log, "row_checksums").allPassed, Tick(-1));
    QCOMPARE(line(log, "finite_rows").lastPass, Tick(-1));
    session.must("step", {{"n", 4}});
    QCOMPARE(line(log, "row_checksums").lastPass, Tick(5));
    QCOMPARE(line(log, "row_checksums").allPassed, Tick(3));
    session.must("undo");
    QCOMPARE(line(log, "row_checksums").lastPass, Tick(4));
    session.must("invariants");
    QCOMPARE(line(log, "finite_rows").allPassed, Tick(4));
    std::vector<Violation> shape{{"mirror_length", "shorter", {}, {}, {}, {}}};
    AlignmentLog other;
    other.take(shape, CheckMarks::made(shape, true, 0, 3), session->state(), session->timeline(), {});
    QCOMPARE(line(other, "row_checksums").lastPass, Tick(-1));
    QVERIFY(line(other, "row_checksums").ok);
  }

  void inStepIsSaidOfWhatWasChecked() {
    SessionFixture session;
    QCOMPARE(alignmentOf(session).checked, Tick(-1));
    session.prompt(40);
    QCOMPARE(alignmentOf(session).checked, Tick(1));
    QCOMPARE(alignmentOf(session).full, Tick(-1));
    session.must("pin", {{"ledger", 3}});
    QCOMPARE(alignmentOf(session).unchecked, std::string());  // changes without a tick are checked as well
    session.must("invariants");
    QCOMPARE(alignmentOf(session).full, Tick(1));
    SessionFixture lax(json{{"check", {{"level", "off"}}}});
    lax.prompt(40);
    QCOMPARE(alignmentOf(lax).checked, Tick(-1));
    lax.must("invariants");
    QVERIFY(alignmentOf(lax).unchecked.empty());
    lax.must("step");
    QCOMPARE(alignmentOf(lax).unchecked, std::string("step (tick 2: add)"));
  }

  void aFaultIsUncheckedThenFoundThenStays() {
    SessionFixture session(json{{"faults", true}});
    session.prompt(40);
    session.must("fault", {{"kind", "tag_bit"}, {"layer", 1}, {"index", 20}, {"bit", 0}});
    QVERIFY(alignmentOf(session).findings.empty());
    QCOMPARE(alignmentOf(session).unchecked, std::string("fault (tick 1)"));
    session.must("invariants");
    QCOMPARE(alignmentOf(session).findings.size(), std::size_t{2});  // the tag, and the checksum over it
    QCOMPARE(alignmentOf(session).findings[0].violation.invariant, std::string("row_tags"));
    QCOMPARE(alignmentOf(session).findings[0].violation.layer, CacheLayer(1));
    QCOMPARE(alignmentOf(session).findings[0].since().found, Tick(1));
    QCOMPARE(blamed(session), std::string("fault (tick 1) wrote the row in between"));
    for (int i = 0; i < 3; ++i) session.must("step");
    session.must("inject", {{"actions", {{{"action", "delete"}, {"position", 2}}}}});
    session.must("apply");
    QCOMPARE(alignmentOf(session).findings.size(), std::size_t{2});
    QCOMPARE(alignmentOf(session).findings[0].since().found, Tick(1));
    QCOMPARE(blamed(session), std::string("fault (tick 1) wrote the row in between"));
    Result<std::unique_ptr<Session>> fork = session->fork();
    QCOMPARE((*fork)->snapshot()->alignment.findings.size(), std::size_t{2});
    QVERIFY((*fork)->snapshot()->alignment.unchecked.empty());
    session.must("rebuild");
    QVERIFY(alignmentOf(session).findings.empty() && alignmentOf(session).unchecked.empty());
  }

  /// A finding of a check on demand belongs to its state, like one of a tick's own check.
  void aFindingOnDemandIsAFact() {
    SessionFixture session(json{{"faults", true}, {"check", {{"level", "off"}}}});
    session.must("watch", {{"expression", "invariant"}});
    session.prompt(40);
    session.must("step", {{"n", 2}});
    session.must("fault", {{"kind", "tag_bit"}, {"layer", 1}, {"index", 20}, {"bit", 0}});
    session.must("step", {{"n", 2}});
    const json here = session.must("tick");
    const auto first = [&] { return session.must("firstTick", {{"condition", "invariant"}}); };
    const auto held = [&] { return toJson(session->snapshot()->watches->front())["value"]; };
    QVERIFY(first().is_null());
    QCOMPARE(held(), json(false));
    session.must("invariants");
    QCOMPARE(first(), here);
    QCOMPARE(held(), json(true));
    QCOMPARE(session.must("value", {{"expression", "invariant"}}), json(true));
    session.must("step", {{"n", 2}});
    QCOMPARE(first(), here);
    QCOMPARE(session.must("lastTick", {{"condition", "invariant"}}), here);
    session.must("goto", {{"tick", 2}});
    QVERIFY(first().is_null());
  }

  void damageThatNoEventDid() {
    SessionFixture session(json{{"check", {{"scrub_period", 4}}}});  // the fourth step's check looks at everything
    session.prompt(40);
    session.must("step", {{"n", 3}});
    flipTag(session, CacheLayer(0), 7);
    session.must("step");
    QCOMPARE(blamed(session), std::string("no command wrote the row in between; step (tick 5) came in between"));
    QCOMPARE(alignmentOf(session).findings[0].since().verified, Tick(4));
    QCOMPARE(alignmentOf(session).findings[0].since().found, Tick(5));
    session.must("goto", {{"tick", 2}});
    QCOMPARE(alignmentOf(session).findings.size(), std::size_t{2});
    session.must("reset");
    QVERIFY(alignmentOf(session).findings.empty() && alignmentOf(session).unchecked.empty());
  }

  /// No command wrote the row, so that only the checks of its slice and of everything see it: once each in a period.
  void aTagThatTurnsIsFoundInAScrubPeriod_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<int>("steps");
    for (const auto& [index, steps] : {std::pair(4, 1), {5, 2}, {7, 4}, {10, 5}, {3, 5}})
      QTest::addRow("index %d", index) << index << steps;
  }
  void aTagThatTurnsIsFoundInAScrubPeriod() {
    QFETCH(int, index);
    QFETCH(int, steps);
    SessionFixture session(json{{"check", {{"scrub_period", 8}}}});
    session.prompt(40);
    session.must("step", {{"n", 3}});
    flipTag(session, CacheLayer(0), index);
    for (int i = 1; i <= steps; ++i) {
      QVERIFY(alignmentOf(session).findings.empty());
      session.must("step");
    }
    QCOMPARE(alignmentOf(session).findings.front().violation.invariant, std::string("row_tags"));
    QCOMPARE(alignmentOf(session).findings.front().violation.ledger, LedgerId(index));
  }

  /// A check that follows no clean check of the state before looks at everything.
  void whereNothingHasPassedEverythingIsLookedAt() {
    const std::pair<const char*, std::vector<std::pair<const char*, json>>> ways[] = {
        {"behind a state that was not checked",
         {{"settings", {{"check", {{"level", "off"}}}}},
          {"step", {}},
          {"settings", {{"check", {{"level", "cheap"}}}}},
          {"step", {}}}},
    };
    for (const auto& [name, commands] : ways) {
      SessionFixture session;
      session.prompt(40);
      session.must("step", {{"n", 3}});
      flipTag(session, CacheLayer(0), 19);
      session.must("pin", {{"ledger", 30}});
      QVERIFY2(alignmentOf(session).findings.empty(), name);  // goes on from a state that has passed
      for (const auto& [verb, args] : commands) session.must(verb, args);
      QVERIFY2(!alignmentOf(session).findings.empty(), name);
    }
  }

  /// Rows that both states have stay where they are; where rows come back into the pools, everything is looked at.
  void aStepBackGoesOnFromWhatHasPassed() {
    for (const char* layout : {"indirection", "contiguous_splice"}) {
      SessionFixture session(json{{"layout", layout}});
      session.prompt(40);
      session.must("step", {{"n", 3}});
      flipTag(session, CacheLayer(0), 19);
      session.must("undo");
      QCOMPARE(alignmentOf(session).findings.empty(), std::string(layout) == "indirection");
    }
  }

  /// Logits of the state that a step back has left do not belong to another state.
  void aStepBackBringsItsLogits() {
    for (const char* policy : {"full", "h2o:ratio=0.5,window=4"}) {
      SessionFixture session(json{{"policy", policy}});
      session.prompt(24);
      session.must("step", {{"n", 3}});
      const CacheState left = session->state();
      session.must("undo");
      CacheState state = session->state();
      CheckInput input{state, session->store(), session->manifest(), session->parts().capacity};
      input.left = &left;
      const auto named = [&] {
        const std::vector<Violation> found = checkAll(input);
        return std::ranges::find(found, "next_logits", &Violation::invariant) != found.end();
      };
      QVERIFY2(!named(), policy);
      state.logits = left.logits;
      QVERIFY2(named(), policy);
    }
  }

  /// Calls that touch no row leave their slices to the checks behind passes, so that these read each row in a period.
  void aSliceWaitsForAChangeOfRows() {
    SessionFixture session(json{{"check", {{"scrub_period", 4}}}});
    session.prompt(40);
    session.must("step", {{"n", 4}});
    const auto allPassed = [&] {
      return std::ranges::find(session->health().alignment.lines(), "row_checksums", &InvariantState::id)->allPassed;
    };
    const Tick passed = allPassed();
    const std::int64_t checks = session->health().checks;
    for (int i = 0; i < 9; ++i) {
      session.must("pin", {{"ledger", 3}, {"on", i % 2 == 0}});
      session.must("undo");
      session.must("redo");
    }
    QCOMPARE(session->health().checks, checks);
    QCOMPARE(allPassed(), passed);
    flipTag(session, CacheLayer(0), 19);
    for (int i = 0; i < 4; ++i) session.must("step");
    QVERIFY(!alignmentOf(session).findings.empty());
  }

  /// The error of a call that damage prevents names the ticks between which it came.
  void errorsSayTheInterval() {
    SessionFixture session(json{{"check", {{"scrub_period", 1}}}});
    session.prompt(40);
    session.must("step", {{"n", 3}});
    session.must("invariants");
    session.must("step");
    flipTag(session, CacheLayer(0), 7);
    const QTemporaryDir folder;
    const auto saved = session.verb("saveCache", {{"path", folder.filePath("a.safetensors").toStdString()}});
    QCOMPARE(saved.error().code, std::string("damaged"));
    QVERIFY2(QByteArray::fromStdString(saved.error().why).endsWith("; it broke at tick 5, after a check had passed"),
             saved.error().why.c_str());
    SessionFixture ring(json{{"layout", "ring_pointer"},
                             {"ring", {{"window", 12}}},
                             {"staging", 8},
                             {"prefill_chunk", 8},
                             {"check", {{"scrub_period", 1}}},
                             {"guards", true}});
    ring.prompt(20);
    ring.must("step", {{"n", 2}});
    flipTag(ring, CacheLayer(1), ring->state().map(CacheLayer(1)).first + 4);
    const json refused = ring.must("step")[0];
    QCOMPARE(refused["error"]["code"], "guard");
    const std::string why = refused["error"]["why"];
    QVERIFY2(why.ends_with("; row_tags broke at tick 3, after a check had passed"), why.c_str());
    QCOMPARE(refused["violations"][0]["layer"], 1);
  }

  void writersAreTheEventsThatWrote_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::newRow("slots") << QByteArray("{}");
    QTest::newRow("in place") << QByteArray(R"({"layout": "contiguous_splice"})");
  }
  /// A replaced pair writes its row; later commits that compute or move rows behind it write those.
  void writersAreTheEventsThatWrote() {
    QFETCH(QByteArray, manifest);
    SessionFixture session(json::parse(manifest.toStdString()));
    session.prompt(40);
    const auto writer = [&](int position) {
      const CacheState& state = session->state();
      return state.group(CacheLayer(1)).writers[at(state.context[at(position)].value())];
    };
    session.must("step");
    QCOMPARE(writer(3), 1);
    QCOMPARE(writer(40), 2);
    session.must(
        "inject",
        {{"actions",
          {{{"action", "replace_pair"}, {"original_pos1", 10}, {"original_pos2", 11}, {"new_token_ids", {9}}}}}});
    session.must("apply");
    QCOMPARE(writer(3), 1);
    QCOMPARE(writer(10), 3);
    QCOMPARE(writer(20), manifest == "{}" ? 1 : 3);  // moved up by one slot
    session.must("rebuild");
    QCOMPARE(writer(3), 4);
    session.must("undo");
    session.must("undo");
    QCOMPARE(writer(20), 1);
    session.must("settings", {{"layout", "paged"}});
    QCOMPARE(writer(3), 3);
  }

  void recomputedRowsAreWritten() {
    SessionFixture session(json{{"after_edit", "recompute"}});
    session.prompt(40);
    session.must("inject", {{"actions", {{{"action", "replace"}, {"positions", {10}}, {"new_token_ids", {9}}}}}});
    session.must("apply");
    const CacheState& state = session->state();
    const Column<std::int32_t>& writers = state.group(CacheLayer(1)).writers;
    QCOMPARE(writers[at(state.context[5].value())], 1);
    QCOMPARE(writers[at(state.context[30].value())], 2);
  }
};

KV_TEST(AlignmentTest)
#include "alignment_test.moc"
