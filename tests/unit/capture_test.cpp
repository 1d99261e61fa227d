// SPDX-License-Identifier: Apache-2.0
// Captures: the same commands give the same states, and damaged records are dropped or named.
#include <signal.h>
#include <sys/resource.h>

#include "support/scripted_session.h"

#include "core/session/truth.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

Result<Replay> replayed(const std::string& path, std::optional<std::int64_t> to = {}) {
  ReplayOptions options;
  options.verify = true;
  if (to) options.to = Tick(*to);
  return replayCapture(path, KVLAB_RESOURCES_DIR, options);
}

/// "" or the steps that differ.
std::string differences(const Replay& replay) {
  std::string out;
  for (const ReplayStep& step : replay.steps)
    if (!step.ok) out += toJson(step).dump() + "\n";
  return out;
}

/// A record whose checksum is right, whatever it holds.
std::string framedRecord(const std::string& text, std::uint64_t number) {
  std::string record(12, '\0');
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::uint64_t checksum = captureChecksum(text, number);
  std::memcpy(record.data(), &length, 4);
  std::memcpy(record.data() + 4, &checksum, 8);
  return record + text;
}

}  // namespace

class CaptureTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void framesAndParses();
  void anyCutDropsTheTail();
  void anyFlipIsNoticed();
  void hostileRecords_data();
  void hostileRecords();
  void hostileProgress();
  void hostileAsides_data();
  void hostileAsides();
  void asidesThatDoNotFit_data();
  void asidesThatDoNotFit();
  void readsEarlierVersions();
  void replaysEverything_data();
  void replaysEverything();
  void forgetsWhatWasNotPending();
  void replaysToATick();
  void savesPartOfACommand();
  void keepsHashesThatStillExist();
  void growsWithTheSession();
  void survivesAKill();
  void survivesAKillWithinACommand();
  void replaysSearches();
  void keepsWhatStandsBesideTheContent();
  void endsOnAFullDisk();
  void noticesAnotherResult();
  void refusesAnotherOrigin();
  void refusesVerbsThatWriteFiles();
  void needsTheCacheFileAgain();

 private:
  std::string path(const char* name) const { return m_folder.filePath(QString::fromUtf8(name)).toStdString(); }
  static std::string small(int commands);
  QTemporaryDir m_folder;
};

std::string CaptureTest::small(int commands) {
  std::string out = captureStart({*Manifest::fromJson(tinyManifest()), "f", "n"});
  for (int i = 1; i <= commands; ++i)
    out += captureRecord({"step", {{"n", i}}, Tick(i), 1, i % 2 ? "00ff" : ""}, static_cast<std::uint64_t>(i));
  return out;
}

void CaptureTest::framesAndParses() {
  const std::string file = small(5);
  const Result<Capture> capture = parseCapture(bytesOf(file), "f");
  QVERIFY2(capture, capture ? "" : capture.error().text().c_str());
  QCOMPARE(capture->header.manifest.toJson(), Manifest::fromJson(tinyManifest())->toJson());
  QCOMPARE(capture->header.fingerprint, std::string("f"));
  QCOMPARE(capture->commands.size(), std::size_t(5));
  QCOMPARE(capture->commands[2].args, json({{"n", 3}}));
  QCOMPARE(capture->commands[2].hash, std::string("00ff"));
  QCOMPARE(capture->commands[3].hash, std::string());
  QCOMPARE(capture->bytes, file.size());
  QCOMPARE(capture->note, std::string());
}

void CaptureTest::anyCutDropsTheTail() {
  const std::string file = small(6);
  std::vector<std::size_t> ends;
  for (int i = 0; i <= 6; ++i) ends.push_back(small(i).size());
  for (std::size_t n = 0; n < file.size(); ++n) {
    const Result<Capture> capture = parseCapture(bytesOf(file.substr(0, n)), "f");
    if (n < ends[0]) {
      QVERIFY(!capture && capture.error().code == "bad_capture");
      continue;
    }
    QVERIFY2(capture, std::to_string(n).c_str());
    const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), n) - ends.begin()) - 1;
    QCOMPARE(capture->commands.size(), whole);
    QCOMPARE(capture->bytes, ends[whole]);
    QCOMPARE(capture->note.empty(), n == ends[whole]);
  }
}

void CaptureTest::anyFlipIsNoticed() {
  const std::string file = small(4);
  const Result<Capture> whole = parseCapture(bytesOf(file), "f");
  for (std::size_t n = 0; n < file.size(); ++n) {
    std::string changed = file;
    changed[n] = static_cast<char>(changed[n] ^ (1 << (n % 8)));
    const Result<Capture> capture = parseCapture(bytesOf(changed), "f");
    if (!capture) {
      QVERIFY(n < small(0).size() && capture.error().code == "bad_capture");
      continue;
    }
    QVERIFY(capture->commands.size() < 4 && !capture->note.empty());
    for (std::size_t i = 0; i < capture->commands.size(); ++i)
      QCOMPARE(capture->commands[i].args, whole->commands[i].args);
  }
  // Records out of order do not pass either: each is sealed with its number.
  const std::string swapped = small(1) + captureRecord({"step", {}, Tick(3), 1, {}}, 3);
  QCOMPARE(parseCapture(bytesOf(swapped), "f")->commands.size(), std::size_t(1));
}

void CaptureTest::hostileRecords_data() {
  QTest::addColumn<QString>("pointer");
  QTest::addColumn<QString>("value");
  const char* const bad[][2] = {
      {"/verb", "3"},   {"/args", "[1]"},  {"/args", "\"x\""}, {"/tick", "-1"},
      {"/tick", "0.5"}, {"/tick", "null"}, {"/commits", "-3"}, {"/commits", "18446744073709551615"},
      {"/hash", "7"}};
  for (const auto& row : bad) QTest::addRow("%s %s", row[0], row[1]) << row[0] << row[1];
}

/// The progress of a command stands behind the command, and never goes back.
void CaptureTest::hostileProgress() {
  const auto whyOf = [&](const std::string& file) {
    const Result<Capture> capture = parseCapture(bytesOf(file), "f");
    return capture ? std::string() : capture.error().code + ": " + capture.error().why;
  };
  const std::string far = R"({"commits":3,"tick":4,"hash":"aa"})";
  const Result<Capture> good = parseCapture(bytesOf(small(1) + framedRecord(far, 2)), "f");
  QVERIFY2(good, good ? "" : good.error().text().c_str());
  QVERIFY(good->commands.size() == 1 && good->commands[0].commits == 3 && good->commands[0].tick == Tick(4));
  QCOMPARE(good->commands[0].hash, std::string("aa"));
  QVERIFY(whyOf(small(0) + framedRecord(far, 1)).find("no command stands before it") != std::string::npos);
  for (const char* bad : {R"({"commits":0,"tick":1})", R"({"commits":2})", R"({"commits":"x","tick":1})",
                          R"({"commits":2,"tick":1,"hash":1})"})
    QVERIFY2(whyOf(small(1) + framedRecord(bad, 2)).starts_with("bad_capture"), bad);
}

/// A command whose checksum is right and whose content is not.
void CaptureTest::hostileRecords() {
  QFETCH(QString, pointer);
  QFETCH(QString, value);
  json command{{"verb", "step"}, {"args", json::object()}, {"tick", 1}, {"commits", 1}};
  command[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
  const Result<Capture> capture = parseCapture(bytesOf(small(0) + framedRecord(command.dump(), 1)), "f");
  QVERIFY(!capture);
  QCOMPARE(capture.error().code, std::string("bad_capture"));
  QCOMPARE(capture.error().field, pointer.mid(1).toStdString());
  QVERIFY(capture.error().why.find("record 1 at byte ") == 0);
}

void CaptureTest::hostileAsides_data() {
  QTest::addColumn<QString>("pointer");
  QTest::addColumn<QString>("value");
  const char* const bad[][2] = {{"/notes", "3"},
                                {"/notes/0", "3"},
                                {"/notes/0/id", "0"},
                                {"/notes/0/id", "2147483647"},
                                {"/notes/0/id", "-1"},
                                {"/notes/0/text", "null"},
                                {"/notes/0/tick", "0.5"},
                                {"/notes/0/tick", "18446744073709551615"},
                                {"/notes/0/layer", "-1"},
                                {"/notes/0/kvHead", "\"x\""},
                                {"/notes/0/ledger", "99999999999"},
                                {"/notes/0/branch", "7"},
                                {"/removed", "{}"},
                                {"/removed/0", "\"x\""},
                                {"/breakpoints", "1"},
                                {"/breakpoints/0", "[]"},
                                {"/breakpoints/0/id", "0"},
                                {"/breakpoints/0/condition", "3"},
                                {"/breakpoints/0/ignore", "-1"},
                                {"/breakpoints/0/once", "1"},
                                {"/breakpoints/0/log", "null"},
                                {"/breakpoints/0/enabled", "\"yes\""},
                                {"/breakpoints/0/hits", "0.1"},
                                {"/breakpoints/0/last", "-4"}};
  for (const auto& row : bad) QTest::addRow("%s %s", row[0], row[1]) << row[0] << row[1];
  const QString much = QString(static_cast<int>(kMostNoteBytes) + 1, 'x');
  QTest::newRow("text too long") << "/notes/0/text" << '"' + much + '"';
  QTest::newRow("condition too long") << "/breakpoints/0/condition" << '"' + much + '"';
}

/// A record of notes and breakpoints whose checksum is right and whose content is not.
void CaptureTest::hostileAsides() {
  QFETCH(QString, pointer);
  QFETCH(QString, value);
  const auto file = [&](const json& aside) { return small(1) + framedRecord(aside.dump(), 2); };
  json aside{{"notes", {{{"id", 1}, {"text", "x"}, {"tick", 1}, {"layer", 0}}}},
             {"removed", {4}},
             {"breakpoints", json::array({toJson(BreakpointView{.id = 1, .condition = "kl > 1"})})}};
  const Result<Capture> good = parseCapture(bytesOf(file(aside)), "f");
  QVERIFY2(good && good->note.empty() && good->asides.size() == 1, good ? "" : good.error().text().c_str());
  QCOMPARE(toJson(good->asides[0]), aside);
  QCOMPARE(good->asides[0].after, std::size_t(1));
  aside[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
  const Result<Capture> capture = parseCapture(bytesOf(file(aside)), "f");
  QVERIFY(!capture);
  QCOMPARE(capture.error().code, std::string("bad_capture"));
  QVERIFY2(capture.error().why.find("record 2 at byte ") == 0, capture.error().why.c_str());
  const QString named = pointer.section('/', -1);
  if (named != "0") QCOMPARE(capture.error().field, named.toStdString());
}

void CaptureTest::asidesThatDoNotFit_data() {
  QTest::addColumn<QByteArray>("aside");
  QTest::newRow("tick") << QByteArray(R"({"notes":[{"id":1,"text":"","tick":9}]})");
  QTest::newRow("layer") << QByteArray(R"({"notes":[{"id":1,"text":"","tick":1,"layer":77}]})");
  QTest::newRow("head") << QByteArray(R"({"notes":[{"id":1,"text":"","tick":1,"layer":0,"kvHead":77}]})");
  QTest::newRow("condition") << QByteArray(
      R"({"breakpoints":[{"id":1,"condition":"kl > x","ignore":0,"once":false,"log":false,"enabled":true,"hits":0}]})");
}

/// Errors that only the session can find: it does not have the place, or cannot ask the condition.
void CaptureTest::asidesThatDoNotFit() {
  QFETCH(QByteArray, aside);
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {5, 6}}});
  call(*s, "saveCapture", {{"path", path("fit")}});
  writeFile(path("fit"), readAll(path("fit")) + framedRecord(aside.toStdString(), 2));
  const Result<Replay> replay = replayed(path("fit"));
  QVERIFY(!replay);
  QCOMPARE(replay.error().code, std::string("bad_capture"));
  QVERIFY2(replay.error().why.find("record 2 at byte ") == 0, replay.error().why.c_str());
}

void CaptureTest::readsEarlierVersions() {
  std::string file = small(3);
  QVERIFY(file.starts_with("kvlab-capture 3\n"));
  file[14] = '1';
  QCOMPARE(parseCapture(bytesOf(file), "f")->commands.size(), std::size_t(3));
  // Version 1 had commands alone.
  const Result<Capture> mixed = parseCapture(bytesOf(file + framedRecord(R"({"removed":[1]})", 4)), "f");
  QVERIFY(!mixed && mixed.error().field == "verb");
  file[14] = '2';  // version 2 did not say how far a command has come
  const Result<Capture> far = parseCapture(bytesOf(file + framedRecord(R"({"commits":3,"tick":4})", 4)), "f");
  QVERIFY(!far && far.error().field == "verb");
  file[14] = '4';
  const Result<Capture> later = parseCapture(bytesOf(file), "f");
  QVERIFY(!later && later.error().code == "bad_capture");
  QVERIFY2(later.error().why.find("version 4") != std::string::npos, later.error().why.c_str());
}

void CaptureTest::replaysEverything_data() {
  QTest::addColumn<QString>("more");
  QTest::newRow("plain") << "{}";
  QTest::newRow("absolute, descending") << R"({"position":"absolute","executor":"descending"})";
  QTest::newRow("cache, recompute") << R"({"position":"cache","after_edit":"recompute"})";
  QTest::newRow("contiguous") << R"({"layout":"contiguous_splice"})";
  QTest::newRow("sampled, bf16") << R"({"dtype":"bf16","sampling":{"temperature":1,"seed":4}})";
}

void CaptureTest::replaysEverything() {
  QFETCH(QString, more);
  auto s = opened(tinyManifest(json::parse(more.toStdString())));
  live(*s);
  call(*s, "evict", {{"layer", 1}, {"ledger", {6, 8}}, {"now", true}});
  call(*s, "inject",
       {{"actions",
         {{{"action", "delete"}, {"position", 2}}, {{"action", "insert"}, {"position", 9}, {"token_ids", {4}}}}}});
  call(*s, "stepAction");
  call(*s, "stepAction");
  call(*s, "run", {{"maxTicks", 3}});
  call(*s, "rebuild");
  call(*s, "step", {{"tokens", {3, 4}}});
  const json saved = call(*s, "saveCapture", {{"path", path("c")}});
  const Result<Replay> replay = replayed(path("c"));
  QVERIFY2(replay, replay ? "" : replay.error().text().c_str());
  QCOMPARE(differences(*replay), std::string());
  QCOMPARE(replay->steps.size(), saved["commands"].get<std::size_t>());
  QCOMPARE(stateHash(*replay->session), stateHash(*s));
  QVERIFY(!replay->steps.back().expected.empty());
  QCOMPARE(broken(*replay->session), QString());
  // A replayed session can be captured again.
  call(*replay->session, "saveCapture", {{"path", path("again")}});
  QCOMPARE(stateHash(*replayed(path("again"))->session), stateHash(*s));
}

/// Pending actions that the person cleared are not there for the next command.
void CaptureTest::forgetsWhatWasNotPending() {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {5, 6, 7, 8, 9}}});
  call(*s, "inject", {{"actions", {{{"action", "delete"}, {"position", 1}}, {{"action", "delete"}, {"position", 3}}}}});
  call(*s, "stepAction");
  call(*s, "clearPending");
  call(*s, "step", {{"tokens", {4}}});
  call(*s, "saveCapture", {{"path", path("f")}});
  const Result<Replay> replay = replayed(path("f"));
  QCOMPARE(differences(*replay), std::string());
  QCOMPARE(stateHash(*replay->session), stateHash(*s));
}

void CaptureTest::replaysToATick() {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {5, 6, 7}}});
  std::vector<std::string> hashes = {"", stateHash(*s)};
  for (int i = 0; i < 4; ++i) {
    call(*s, "step");
    hashes.push_back(stateHash(*s));
  }
  call(*s, "undo");
  call(*s, "step", {{"n", 5}});
  call(*s, "saveCapture", {{"path", path("t")}});
  for (std::int64_t tick : {1, 3, 4}) {
    const Result<Replay> replay = replayed(path("t"), tick);
    QVERIFY(replay);
    QCOMPARE(replay->session->state().tick, Tick(tick));
    QCOMPARE(stateHash(*replay->session), hashes[static_cast<std::size_t>(tick)]);
  }
  const Result<Replay> inside = replayed(path("t"), 7);  // within the step of five
  QCOMPARE(inside->session->state().tick, Tick(7));
  call(*s, "goto", {{"tick", 7}});
  QCOMPARE(stateHash(*inside->session), stateHash(*s));
  QCOMPARE(replayed(path("t"), 10).error().code, std::string("out_of_range"));
}

void CaptureTest::savesPartOfACommand() {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {5, 6, 7}}});
  call(*s, "step", {{"n", 5}});
  call(*s, "undo");
  call(*s, "undo");
  call(*s, "promptIds", {{"ids", {9}}});
  call(*s, "saveCapture", {{"path", path("p")}});
  const Result<Replay> replay = replayed(path("p"));
  QCOMPARE(differences(*replay), std::string());
  QCOMPARE(stateHash(*replay->session), stateHash(*s));
  // History executes a part of a command again too.
  auto t = opened(tinyManifest({{"layout", "contiguous_splice"}}));
  call(*t, "promptIds", {{"ids", {5, 6, 7}}});
  call(*t, "step", {{"n", 5}});
  call(*t, "undo");
  call(*t, "undo");
  call(*t, "promptIds", {{"ids", {9}}});
  const std::string hash = stateHash(*t);
  QCOMPARE(hash, stateHash(*s));
  call(*t, "step");
  call(*t, "undo");
  QCOMPARE(stateHash(*t), hash);
}

void CaptureTest::keepsHashesThatStillExist() {
  auto s = opened(tinyManifest());
  live(*s);
  call(*s, "rebuild");  // older states name rows that are new now
  call(*s, "step");
  call(*s, "saveCapture", {{"path", path("k")}});
  const Result<Capture> capture = openCapture(path("k"));
  QVERIFY(capture->commands[0].hash.empty());
  QCOMPARE(capture->commands.back().hash.size(), std::size_t(32));
  QCOMPARE(differences(*replayed(path("k"))), std::string());
}

void CaptureTest::growsWithTheSession() {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {5, 6, 7}}});
  call(*s, "startCapture", {{"path", path("g")}});
  std::size_t commands = 1;
  const auto grown = [&](const char* verb, const json& args, std::size_t by) {
    call(*s, verb, args);
    commands += by;
    const Result<Capture> capture = openCapture(path("g"));
    return capture && capture->commands.size() == commands && capture->note.empty();
  };
  QVERIFY(grown("step", {{"n", 3}}, 1));
  QVERIFY(grown("inject", {{"actions", {{{"action", "delete"}, {"position", 1}}}}}, 0));
  QVERIFY(grown("apply", json::object(), 1));
  QVERIFY(grown("stateHash", json::object(), 0));
  QVERIFY(grown("undo", json::object(), 1));
  QVERIFY(grown("goto", {{"tick", 2}}, 1));
  QVERIFY(grown("step", json::object(), 1));
  QVERIFY(grown("pin", {{"ledger", 1}}, 1));
  QCOMPARE(codeOf(*s, "promptIds", {{"ids", {9999}}}), std::string("bad_token"));
  QVERIFY(grown("step", json::object(), 1));
  const Result<Replay> replay = replayed(path("g"));
  QCOMPARE(differences(*replay), std::string());
  QCOMPARE(stateHash(*replay->session), stateHash(*s));
  call(*s, "stopCapture");
  call(*s, "step");
  QCOMPARE(openCapture(path("g"))->commands.size(), commands);
}

/// The file as a process that was killed at that byte leaves it.
void CaptureTest::survivesAKill() {
  auto s = opened(tinyManifest());
  call(*s, "startCapture", {{"path", path("s")}});
  std::vector<std::string> hashes;
  std::vector<std::size_t> sizes;
  for (const auto& [verb, args] :
       {std::pair<const char*, json>{"promptIds", {{"ids", {5, 6, 7}}}}, {"step", {{"n", 2}}}, {"step", {}}}) {
    call(*s, verb, args.is_null() ? json::object() : args);
    hashes.push_back(stateHash(*s));
    sizes.push_back(readAll(path("s")).size());
  }
  const std::string whole = readAll(path("s"));
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (const std::size_t end : {sizes[i], sizes[i] - 1}) {  // behind the last commit stands its hash alone
      writeFile(path("killed"), whole.substr(0, end));
      const Result<Replay> replay = replayed(path("killed"));
      QCOMPARE(stateHash(*replay->session), hashes[i]);
      QCOMPARE(replay->note.empty(), end == sizes[i]);
    }
}

/// No tick of a long command is lost: the file has each as soon as it is done.
void CaptureTest::survivesAKillWithinACommand() {
  auto s = opened(tinyManifest());
  call(*s, "startCapture", {{"path", path("w")}});
  call(*s, "promptIds", {{"ids", {5, 6, 7}}});
  std::vector<std::pair<std::string, std::string>> killed;  // the file and the state hash between two ticks
  s->setBetweenTicks([&] { killed.emplace_back(readAll(path("w")), stateHash(*s)); });
  call(*s, "run", {{"maxTicks", 6}});
  QVERIFY(killed.size() >= 3);
  for (const auto& [file, hash] : killed) {
    writeFile(path("killed"), file);
    const Result<Replay> replay = replayed(path("killed"));
    QVERIFY2(replay && replay->ok(), replay ? differences(*replay).c_str() : replay.error().text().c_str());
    QCOMPARE(stateHash(*replay->session), hash);
  }
}

/// The result of a search may depend on state that no capture has: reports of calls that failed, breakpoints, notes of
/// another branch. So a capture has the way and not the search.
void CaptureTest::replaysSearches() {
  auto s = opened(tinyManifest({{"capacity", 40}}));
  call(*s, "promptIds", {{"ids", someIds(20, 200, 3)}});
  call(*s, "startCapture", {{"path", path("q")}});
  call(*s, "step", {{"n", 2}});
  QVERIFY(!codeOf(*s, "promptIds", {{"ids", someIds(60, 200, 4)}}).empty());
  call(*s, "step");
  call(*s, "break", {{"condition", "tick == 2"}});
  call(*s, "note", {{"text", "here"}, {"tick", 2}});
  call(*s, "pin", {{"ledger", 1}});  // another commit of the same tick
  for (const auto& [verb, args] : std::vector<std::pair<const char*, json>>{{"runBack", {{"condition", "error"}}},
                                                                            {"redo", json::object()},
                                                                            {"runBack", json::object()},
                                                                            {"goto", {{"tick", 4}}},
                                                                            {"gotoNote", {{"id", 1}}},
                                                                            {"undo", {{"by", "edit"}}},
                                                                            {"redo", {{"by", "edit"}}}}) {
    (void)codeOf(*s, verb, args);
    const Result<Replay> replay = replayed(path("q"));
    QVERIFY2(replay && replay->ok(), verb);
    QCOMPARE(stateHash(*replay->session), stateHash(*s));
    for (const ReplayStep& step : replay->steps) QVERIFY2(step.verb != verb || step.verb.ends_with("do"), verb);
  }
}

/// A planted bug corrupts passes, and pending actions wait for the next one.
void CaptureTest::keepsWhatStandsBesideTheContent() {
  auto s = opened(tinyManifest({{"faults", true}}));
  call(*s, "promptIds", {{"ids", someIds(20, 200, 3)}});
  call(*s, "startCapture", {{"path", path("b")}});
  const auto alike = [&] {
    const Result<Replay> replay = replayed(path("b"));
    return replay && replay->ok() && stateHash(*replay->session) == stateHash(*s) &&
        replay->session->pending().size() == s->pending().size();
  };
  call(*s, "inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}});
  QVERIFY(alike() && s->pending().size() == 1);
  call(*s, "clearPending");
  QVERIFY(alike());
  QVERIFY(codeOf(*s, "bug", {{"blind", 4}}) == "" || codeOf(*s, "bug", {{"name", "window_plus_one"}}) == "");
  call(*s, "step", {{"n", 2}});
  QVERIFY(alike());
  call(*s, "inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}});
  call(*s, "saveCapture", {{"path", path("b2")}});
  QCOMPARE(openCapture(path("b2"))->asides.back().pending->size(), std::size_t(1));
}

/// A disk that is full ends a capture with one error, and leaves a file that can be replayed.
void CaptureTest::endsOnAFullDisk() {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {5, 6, 7}}});
  call(*s, "startCapture", {{"path", path("d")}});
  const std::string hash = stateHash(*s);
  const auto size = static_cast<rlim_t>(readAll(path("d")).size());
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{size + 20, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 5; ++i) call(*s, "step");
  ::setrlimit(RLIMIT_FSIZE, &before);
  QVERIFY(s->history().capture()->ended());
  QCOMPARE(readAll(path("d")).size(), static_cast<std::size_t>(size));
  QCOMPARE(stateHash(*replayed(path("d"))->session), hash);
  const Result<json> stopped = execute(*s, "stopCapture", json::object());  // the file is not complete
  QVERIFY(!stopped);
  QCOMPARE(stopped.error().code, std::string("bad_file"));
  QVERIFY(stopped.error().what.find(path("d")) != std::string::npos);
  QVERIFY(execute(*s, "stopCapture", json::object())->is_null());
  call(*s, "startCapture", {{"path", path("d")}});  // there is room again
  call(*s, "step");
  QCOMPARE(stateHash(*replayed(path("d"))->session), stateHash(*s));
}

void CaptureTest::noticesAnotherResult() {
  auto s = opened(tinyManifest());
  live(*s);
  call(*s, "saveCapture", {{"path", path("o")}});
  const Result<Capture> capture = openCapture(path("o"));
  std::string forged = captureStart(capture->header);
  std::uint64_t number = 1;
  for (CaptureCommand command : capture->commands) {
    if (number == 1) command.args["ids"][3] = command.args["ids"][3].get<int>() ^ 1;
    forged += captureRecord(command, number++);
  }
  writeFile(path("forged"), forged);
  const Result<Replay> replay = replayed(path("forged"));
  QVERIFY(replay && !replay->ok());
  QVERIFY(!replay->steps[0].ok && replay->steps[0].expected != replay->steps[0].got);
}

void CaptureTest::refusesAnotherOrigin() {
  auto s = opened(tinyManifest());
  live(*s);
  call(*s, "saveCapture", {{"path", path("r")}});
  const Result<Capture> capture = openCapture(path("r"));
  CaptureHeader other = capture->header;
  other.numerics = "elsewhere";
  writeFile(path("r1"), captureStart(other));
  QCOMPARE(replayed(path("r1")).error().code, std::string("other_numerics"));
  other = capture->header;
  other.manifest.model = "synthetic:tiny:seed=77";
  writeFile(path("r2"), captureStart(other));
  QCOMPARE(replayed(path("r2")).error().code, std::string("other_model"));
  other.manifest.model = "synthetic:nothing";
  writeFile(path("r3"), captureStart(other));
  QCOMPARE(replayed(path("r3")).error().code, std::string("bad_model"));
  QCOMPARE(replayed(path("none")).error().code, std::string("bad_file"));
}

void CaptureTest::refusesVerbsThatWriteFiles() {
  for (const char* verb : {"saveCache", "saveCapture", "startCapture", "stateHash", "nothing"}) {
    auto s = opened(tinyManifest());
    call(*s, "saveCapture", {{"path", path("v")}});
    const Result<Capture> capture = openCapture(path("v"));
    writeFile(path("v"),
              captureStart(capture->header) + captureRecord({verb, {{"path", path("written")}}, Tick(0), 1, {}}, 1));
    QCOMPARE(replayed(path("v")).error().code, std::string("bad_capture"));
    QVERIFY(!QFile::exists(m_folder.filePath("written")));
  }
}

void CaptureTest::needsTheCacheFileAgain() {
  auto a = opened(tinyManifest()), s = opened(tinyManifest());
  live(*a);
  call(*a, "saveCache", {{"path", path("cache")}, {"form", "hf_dynamic"}});
  call(*s, "loadCache", {{"path", path("cache")}});
  call(*s, "step", {{"n", 2}});
  call(*s, "saveCapture", {{"path", path("n")}});
  const Result<Replay> replay = replayed(path("n"));
  QCOMPARE(differences(*replay), std::string());
  QCOMPARE(stateHash(*replay->session), stateHash(*s));
  call(*a, "step");
  call(*a, "saveCache", {{"path", path("cache")}, {"form", "hf_dynamic"}});
  const Result<Replay> changed = replayed(path("n"));
  QVERIFY(changed && !changed->ok());
  QCOMPARE(changed->steps.size(), std::size_t(1));
  QCOMPARE(changed->steps[0].error->code, std::string("file_changed"));
}

KV_TEST(CaptureTest)
#include "capture_test.moc"
