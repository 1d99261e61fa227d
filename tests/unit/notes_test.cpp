// SPDX-License-Identifier: Apache-2.0
// Notes and bookmarks: their places, the operations that do not change them, and captures, which bring them and
// breakpoints back.
#include "core/session/truth.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"
#include "support/scripted_session.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

std::unique_ptr<Session> lived(int ticks) {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {5, 6, 7, 8}}});
  if (ticks > 0) call(*s, "step", {{"n", ticks}});
  return s;
}

/// "1:4:words" for each note, with the obstacle in its way.
QStringList noteLines(Session& s) {
  QStringList out;
  for (const json& one : call(s, "notes")) {
    QString text = QString("%1:%2:%3").arg(one["id"].get<int>()).arg(one["tick"].get<int>());
    text = text.arg(QString::fromStdString(one["text"]));
    if (one["lost"]) text += " lost";
    else if (!one["here"]) text += " away";
    out << text;
  }
  return out;
}

Replay soundReplay(const std::string& path, std::optional<std::int64_t> to = {}) {
  ReplayOptions options;
  options.verify = true;
  if (to) options.to = Tick(*to);
  Result<Replay> replay = replayCapture(path, KVLAB_RESOURCES_DIR, options);
  if (!replay) qFatal("%s", replay.error().text().c_str());
  if (!replay->ok()) qFatal("%s", toJson(replay->steps.back()).dump().c_str());
  return replay.take();
}

}  // namespace

class NotesTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_folder;
  std::string path(const char* name) const { return m_folder.filePath(QString::fromUtf8(name)).toStdString(); }

  /// Two branches, a note on each and one before both; the present one is "branch-1".
  static std::unique_ptr<Session> forkedHistory() {
    auto s = lived(6);
    call(*s, "note", {{"text", "before"}, {"tick", 2}});
    call(*s, "note", {{"text", "old"}});
    call(*s, "undo", {{"n", 3}});
    call(*s, "step", {{"tokens", {9}}});
    call(*s, "note", {{"text", "new"}, {"layer", 1}, {"kvHead", 0}, {"ledger", 3}});
    return s;
  }

 private Q_SLOTS:
  void standsAtATick() {
    auto s = lived(3);
    const json note = call(*s, "note", {{"text", "here"}});
    QCOMPARE(note["tick"], json(4));
    QCOMPARE(note["branch"], json("main"));
    QVERIFY(note["layer"].is_null() && note["ledger"].is_null());
    QCOMPARE(call(*s, "note", {{"tick", 2}, {"layer", 1}, {"ledger", 3}})["ledger"], json(3));
    QCOMPARE(noteLines(*s), QStringList({"1:4:here", "2:2:"}));
    QCOMPARE(call(*s, "changeNote", {{"id", 2}, {"text", "there"}})["text"], json("there"));
    QCOMPARE(call(*s, "clearNotes", {{"id", 1}}).size(), std::size_t(1));
    QCOMPARE(call(*s, "note")["id"], json(3));  // numbers do not come back
    call(*s, "clearNotes");
    QVERIFY(call(*s, "notes").empty());
  }

  void readersSeeThem() {
    auto s = lived(2);
    QVERIFY(!s->snapshot()->notes);
    call(*s, "note", {{"text", "a"}, {"layer", 1}});
    const auto seen = s->snapshot()->notes;
    QCOMPARE(seen->size(), std::size_t(1));
    QVERIFY(seen->front().here && seen->front().layer == Layer(1));
    QCOMPARE(seen->front().entry, s->timeline().currentId());
    call(*s, "step");
    QVERIFY(s->snapshot()->notes == seen);  // shared until something changes
    call(*s, "undo", {{"n", 2}});
    QVERIFY(!s->snapshot()->notes->front().here && seen->front().here);
  }

  /// No state has them: hash, undo and the number of commits stay.
  void areNoPartOfAState() {
    auto s = lived(3);
    const std::string hash = stateHash(*s);
    const int entries = s->timeline().size();
    call(*s, "note", {{"text", "x"}});
    QCOMPARE(stateHash(*s), hash);
    QCOMPARE(s->timeline().size(), entries);
    call(*s, "undo");
    QCOMPARE(noteLines(*s), QStringList({"1:4:x away"}));
    call(*s, "redo");
    QCOMPARE(noteLines(*s), QStringList({"1:4:x"}));
    call(*s, "reset");
    QCOMPARE(noteLines(*s), QStringList({"1:4:x lost"}));
    QCOMPARE(codeOf(*s, "gotoNote", {{"id", 1}}), std::string("note_lost"));
  }

  void whateverTheSessionDoes() {
    auto s = opened(tinyManifest({{"faults", true}}));
    call(*s, "note", {{"text", "empty"}});
    call(*s, "promptIds", {{"ids", {5, 6, 7}}});
    call(*s, "stepStage");
    QVERIFY(!call(*s, "stage").is_null());
    call(*s, "note", {{"text", "open"}});
    call(*s, "changeNote", {{"id", 2}, {"text", "still open"}});
    QCOMPARE(codeOf(*s, "gotoNote", {{"id", 1}}), std::string("tick_open"));
    call(*s, "finishTick");
    s->markBroken("for the test");
    call(*s, "note", {{"text", "broken"}});
    QCOMPARE(noteLines(*s), QStringList({"1:0:empty", "2:1:still open", "3:2:broken"}));
  }

  void refusals_data() {
    QTest::addColumn<QString>("verb");
    QTest::addColumn<QString>("args");
    QTest::addColumn<QString>("code");
    const char* const bad[][3] = {{"note", R"({"tick":9})", "out_of_range"},
                                  {"note", R"({"layer":99})", "bad_argument"},
                                  {"note", R"({"kvHead":0})", "bad_argument"},
                                  {"note", R"({"layer":0,"kvHead":99})", "bad_argument"},
                                  {"note", R"({"ledger":99})", "out_of_range"},
                                  {"note", R"({"tick":-1})", "bad_argument"},
                                  {"changeNote", R"({"id":7,"text":"x"})", "no_note"},
                                  {"clearNotes", R"({"id":7})", "no_note"},
                                  {"gotoNote", R"({"id":7})", "no_note"}};
    for (const auto& row : bad) QTest::addRow("%s %s", row[0], row[1]) << row[0] << row[1] << row[2];
  }
  void refusals() {
    QFETCH(QString, verb);
    QFETCH(QString, args);
    QFETCH(QString, code);
    auto s = lived(2);
    call(*s, "note", {{"text", "stays"}});
    QCOMPARE(codeOf(*s, qPrintable(verb), json::parse(args.toStdString())), code.toStdString());
    QCOMPARE(noteLines(*s), QStringList({"1:3:stays"}));
  }

  void bounds() {
    auto s = lived(1);
    QCOMPARE(codeOf(*s, "note", {{"text", std::string(kMostNoteBytes + 1, 'x')}}), std::string("bad_argument"));
    QCOMPARE(codeOf(*s, "note", {{"text", "\xff"}}), std::string("bad_text"));
    call(*s, "note", {{"text", std::string(kMostNoteBytes, 'x')}});
    QCOMPARE(codeOf(*s, "changeNote", {{"id", 1}, {"text", std::string(kMostNoteBytes + 1, 'x')}}),
             std::string("bad_argument"));
    for (std::size_t i = 1; i < kMostNotes; ++i)
      s->notes().add({.text = {}, .tick = s->state().tick}, s->timeline(), s->timeline().currentId());
    QCOMPARE(codeOf(*s, "note"), std::string("too_many_notes"));
  }

  /// The way to a note leads to the state that it was written about, on whichever branch, and back.
  void leadsToEveryBranch() {
    auto s = forkedHistory();
    const std::string now = stateHash(*s);
    QCOMPARE(noteLines(*s), QStringList({"1:2:before", "2:7:old away", "3:5:new"}));
    auto straight = lived(6);
    QCOMPARE(call(*s, "gotoNote", {{"id", 2}}), json({{"tick", 7}, {"branch", "main"}}));
    QCOMPARE(stateHash(*s), stateHash(*straight));
    QCOMPARE(noteLines(*s), QStringList({"1:2:before", "2:7:old", "3:5:new away"}));
    QCOMPARE(call(*s, "gotoNote", {{"id", 3}})["branch"], json("branch-1"));
    QCOMPARE(stateHash(*s), now);
    QCOMPARE(call(*s, "gotoNote", {{"id", 1}}), json({{"tick", 2}, {"branch", "branch-1"}}));
    call(*s, "redo", {{"n", 3}});
    QCOMPARE(stateHash(*s), now);
    QCOMPARE(broken(*s), QString());
  }

  /// If a commit made no tick, the note is about the state at the time when the note was written.
  void tellsCommitsOfATickApart() {
    auto s = lived(3);
    call(*s, "note", {{"text", "before the pin"}});
    const std::string hash = stateHash(*s);
    call(*s, "pin", {{"ledger", 1}});
    QVERIFY(stateHash(*s) != hash);
    call(*s, "gotoNote", {{"id", 1}});
    QCOMPARE(stateHash(*s), hash);
    call(*s, "redo");
    call(*s, "saveCapture", {{"path", path("apart")}});
    const Replay replay = soundReplay(path("apart"));
    call(*replay.session, "gotoNote", {{"id", 1}});
    QCOMPARE(stateHash(*replay.session), hash);
  }

  void forksHaveThem() {
    auto s = forkedHistory();
    call(*s, "break", {{"condition", "kl > 1"}});
    Result<std::unique_ptr<Session>> fork = s->fork();
    QCOMPARE(noteLines(**fork), QStringList({"1:2:before", "2:7:old lost", "3:5:new"}));
    QCOMPARE(call(**fork, "breaks").size(), std::size_t(1));
    const std::string hash = stateHash(*s);
    call(**fork, "step");
    call(**fork, "gotoNote", {{"id", 3}});
    QCOMPARE(stateHash(**fork), hash);
    call(**fork, "note", {{"text", "of the fork"}});
    QCOMPARE(noteLines(*s).size(), qsizetype(3));
    QCOMPARE(call(*s, "at", {{"tick", 2}, {"verb", "notes"}}).size(), std::size_t(3));
  }

  void capturesKeepThem() {
    auto s = forkedHistory();
    call(*s, "break", {{"condition", "rows(layer==1) > 700"}, {"log", true}});
    call(*s, "break", {{"condition", "length >= 900"}, {"enabled", false}, {"ignore", 2}});
    call(*s, "clearBreaks", {{"id", 1}});
    call(*s, "saveCapture", {{"path", path("kept")}});
    const Replay replay = soundReplay(path("kept"));
    QCOMPARE(noteLines(*replay.session), QStringList({"1:2:before", "2:7:old lost", "3:5:new"}));
    QCOMPARE(call(*replay.session, "breaks"), call(*s, "breaks"));
    QCOMPARE(replay.session->snapshot()->notes->size(), std::size_t(3));
    call(*s, "gotoNote", {{"id", 1}});
    call(*replay.session, "gotoNote", {{"id", 1}});
    QCOMPARE(stateHash(*replay.session), stateHash(*s));
    call(*replay.session, "saveCapture", {{"path", path("again")}});
    QCOMPARE(noteLines(*soundReplay(path("again")).session),
             QStringList({"1:2:before", "2:7:old lost", "3:5:new lost"}));
    QCOMPARE(call(*replay.session, "note")["id"], json(4));
  }

  void capturesGrowWithThem() {
    auto s = lived(2);
    call(*s, "note", {{"text", "earlier"}});
    call(*s, "startCapture", {{"path", path("grows")}});
    call(*s, "step", {{"n", 2}});
    call(*s, "note", {{"text", "first"}, {"tick", 4}});
    call(*s, "note", {{"text", "gone"}});
    call(*s, "break", {{"condition", "tick == 7"}, {"once", true}});
    call(*s, "run", {{"maxTicks", 9}});
    call(*s, "note", {{"text", "at the stop"}});
    call(*s, "undo", {{"n", 3}});
    call(*s, "step", {{"tokens", {9}}});
    call(*s, "note", {{"text", "beside"}});
    call(*s, "changeNote", {{"id", 2}, {"text", "first, changed"}});
    call(*s, "clearNotes", {{"id", 3}});
    QCOMPARE(codeOf(*s, "gotoNote", {{"id", 4}}), std::string("capturing"));
    call(*s, "gotoNote", {{"id", 2}});
    call(*s, "break", {{"condition", "kl > 1"}});
    const Replay replay = soundReplay(path("grows"));
    QCOMPARE(noteLines(*s),
             QStringList({"1:3:earlier", "2:4:first, changed", "4:7:at the stop away", "5:5:beside away"}));
    QCOMPARE(noteLines(*replay.session), noteLines(*s));
    QCOMPARE(call(*replay.session, "breaks"), call(*s, "breaks"));
    QCOMPARE(stateHash(*replay.session), stateHash(*s));
    call(*s, "stopCapture");
    for (const int id : {4, 5, 1}) {
      call(*s, "gotoNote", {{"id", id}});
      call(*replay.session, "gotoNote", {{"id", id}});
      QCOMPARE(stateHash(*replay.session), stateHash(*s));
    }
  }

  /// A breakpoint that a capture brings back decides where runBack goes, as it did when that was recorded.
  void capturesRunBackToThem() {
    auto s = lived(2);
    call(*s, "startCapture", {{"path", path("back")}});
    call(*s, "break", {{"condition", "tick == 2"}});
    call(*s, "step", {{"n", 3}});
    call(*s, "runBack");
    QCOMPARE(s->state().tick, Tick(2));
    QCOMPARE(soundReplay(path("back")).session->state().tick, Tick(2));
  }

  void replaysToATickWithTheNotesUpToIt() {
    auto s = lived(2);
    call(*s, "startCapture", {{"path", path("to")}});
    for (const char* text : {"a", "b"}) {
      call(*s, "note", {{"text", text}});
      call(*s, "step", {{"n", 2}});
    }
    QCOMPARE(noteLines(*soundReplay(path("to"), 3).session), QStringList({"1:3:a"}));
    QCOMPARE(noteLines(*soundReplay(path("to"), 7).session), QStringList({"1:3:a", "2:5:b"}));
  }
};

KV_TEST(NotesTest)
#include "notes_test.moc"
