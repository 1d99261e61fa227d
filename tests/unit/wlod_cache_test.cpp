// SPDX-License-Identifier: Apache-2.0
// Cache files of wLOD sessions: a session that loads one goes on as the one that saved it; other sessions and hostile
// files are refused and change nothing.
#include "core/api/layout_names.h"
#include "core/files/cache_file.h"
#include "core/kinds/wlod/state/wlod_state.h"
#include "core/session/import_rows.h"
#include "core/session/truth.h"
#include "core/verbs/cache_session.h"
#include "support/gist_file.h"
#include "support/runner.h"
#include "support/scripted_session.h"
#include "unit/cache_parts.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

json wlodManifest(const json& wlod = json::object(), const json& more = json::object()) {
  json settings{{"budget", 200},       {"protect", 16},      {"every", 8}, {"expand_at", 0.05},
                {"collapse_at", 0.05}, {"start_tokens", 64}, {"w", 32},    {"w2", 1024}};
  settings.update(wlod);
  json out = tinyManifest({{"capacity", 0}, {"wlod", settings}, {"sampling", {{"temperature", 0.8}, {"seed", 3}}}});
  out.update(more);
  return out;
}

/// A cold start, tokens, content edits, expansions and rounds: something in every part of the state.
void liveWlod(Session& s, unsigned seed = 1) {
  call(s, "promptIds", {{"ids", someIds(1200, 200, seed)}});
  call(s, "step", {{"n", 9}});
  const int last = s.state().length() - 1;
  call(s, "inject", {{"actions", {{{"action", "replace"}, {"positions", {last - 40}}, {"new_token_ids", {9}}}}}});
  call(s, "step", {{"n", 2}});
  for (const TreeNode entry : wlodIn(s.state()).context.entries())
    if (entry.level == 1) {
      (void)execute(s, "expand", {{"node", entry.id().value()}, {"now", true}});  // if the budget allows
      break;
    }
  call(s, "pin", {{"ledger", s.state().context[at(s.state().length() - 3)].value()}});
  call(s, "setBrightness", {{"ledger", s.state().context[2].value()}, {"value", 17}});
}

/// Decisions of the rounds from one on.
std::vector<std::string> decisionsFrom(Session& s, int first) {
  std::vector<std::string> out;
  for (const auto& round : wlodIn(s.state()).rounds)
    for (const FocusDecision& one : round->decisions)
      if (round->round >= first)
        out.push_back(std::to_string(round->round) + " " + one.node.text() + " " + one.code + " " + one.reason + " " +
                      std::to_string(one.score));
  return out;
}

}  // namespace

class WlodCacheTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void goesOn_data();
  void goesOn();
  void scoresAndLeftRows();
  void emptySession();
  void asOneCommit_data();
  void asOneCommit();
  void draftsAreRefused();
  void hfFormsAreRefused();
  void otherSessions_data();
  void otherSessions();
  void shortTimeLine();
  void otherGists();
  void hostileTensors_data();
  void hostileTensors();
  void hostileNumbers_data();
  void hostileNumbers();
  void damagedBytes();

 private:
  std::string path(const char* name) const { return m_folder.filePath(QString::fromUtf8(name)).toStdString(); }
  QTemporaryDir m_folder;
};

void WlodCacheTest::goesOn_data() {
  QTest::addColumn<QString>("wlod");
  QTest::addColumn<QString>("more");
  const char* const types[] = {R"({"k":"f16","v":"f32"})", R"({"k":"int8","v":"int8"})",
                               R"({"k":"bf16","v":"fp8-e4m3"})"};
  int i = 0;
  for (const LayoutName& layout : layouts())
    for (const char* attention : {"flat", "pyramid"}) {
      const json more{{"layout", layout.name},
                      {"kv", json::parse(types[i++ % 3])},
                      {"residency", i % 4 < 2 ? "kv_head" : "layer"},
                      {"layers", {{{"match", 1}, {"window", 100}}}}};
      QTest::addRow("%s, %s", std::string(layout.name).c_str(), attention)
          << QString::fromStdString(json{{"attention", attention}}.dump()) << QString::fromStdString(more.dump());
    }
  QTest::newRow("no damping") << R"({"sigma":0,"recompute":"incremental"})"
                              << "{}";
  QTest::newRow("near-causal") << R"({"near_causal":true,"attention":"pyramid"})"
                               << "{}";
  QTest::newRow("trained gists") << R"({"gist":"trained","attention":"pyramid"})"
                                 << R"({"model":"demo"})";
  QTest::newRow("little brightness") << "{}"
                                     << R"({"brightness":{"max":40}})";
}

/// Save, load, go on is go on: the same state, tokens, rows and rounds of refocusing.
void WlodCacheTest::goesOn() {
  QFETCH(QString, wlod);
  QFETCH(QString, more);
  const json manifest = wlodManifest(json::parse(wlod.toStdString()), json::parse(more.toStdString()));
  auto a = opened(manifest), b = opened(manifest);
  liveWlod(*a);
  call(*b, "promptIds", {{"ids", someIds(300, 200, 9)}});
  const json saved = call(*a, "saveCache", {{"path", path("w")}});
  QCOMPARE(saved["rows"], json(a->state().length()));
  call(*b, "loadCache", {{"path", path("w")}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  QCOMPARE(b->state().tick, a->state().tick);
  QCOMPARE(broken(*b), QString());
  QCOMPARE(call(*b, "logits"), call(*a, "logits"));
  QCOMPARE(call(*b, "tree")["entries"], call(*a, "tree")["entries"]);
  const int round = wlodIn(a->state()).context.round();
  for (int i = 0; i < 3; ++i) {
    call(*a, "step", {{"n", 9}});
    call(*b, "step", {{"n", 9}});
    call(*a, "refocus");
    call(*b, "refocus");
    QCOMPARE(stateHash(*b), stateHash(*a));
  }
  QVERIFY(wlodIn(a->state()).context.round() > round);
  QVERIFY(wlod.contains("flat") || !decisionsFrom(*a, round + 1).empty());
  QCOMPARE(decisionsFrom(*b, round + 1), decisionsFrom(*a, round + 1));
  QCOMPARE(broken(*b), QString());
  QCOMPARE(call(*b, "drift")["kl"], json(0.0));
}

void WlodCacheTest::scoresAndLeftRows() {
  const json manifest = wlodManifest(
      {{"lens", "script"}, {"recompute", "selective"}, {"selective_ratio", 0.2}, {"cooldown", 0}, {"protect", 0}});
  auto a = opened(manifest), b = opened(manifest);
  call(*a, "promptIds", {{"ids", someIds(150, 200, 1)}});
  call(*a, "collapse", {{"node", 1}, {"now", true}});
  std::vector<double> scores(at(a->state().length()), -0.5);
  scores[0] = 0.9;
  call(*a, "setLensScores", {{"scores", scores}});
  QVERIFY(!wlodIn(a->state()).stale.empty());
  call(*a, "saveCache", {{"path", path("s")}});
  call(*b, "loadCache", {{"path", path("s")}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  QVERIFY(wlodIn(b->state()).stale == wlodIn(a->state()).stale);
  QCOMPARE(call(*b, "rows", {{"layer", 3}})[60]["exactness"], call(*a, "rows", {{"layer", 3}})[60]["exactness"]);
  for (Session* s : {a.get(), b.get()}) call(*s, "refocus");
  QCOMPARE(wlodIn(b->state()).rounds.back()->decisions.front().code, std::string("accepted"));
  QCOMPARE(stateHash(*b), stateHash(*a));
}

void WlodCacheTest::emptySession() {
  auto a = opened(wlodManifest()), b = opened(wlodManifest());
  call(*b, "promptIds", {{"ids", {5, 6}}});
  call(*a, "saveCache", {{"path", path("e")}});
  call(*b, "loadCache", {{"path", path("e")}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  call(*b, "promptIds", {{"ids", {5, 6}}});
  QCOMPARE(broken(*b), QString());
}

void WlodCacheTest::asOneCommit_data() {
  QTest::addColumn<QString>("more");
  QTest::newRow("kept") << "{}";
  QTest::newRow("in place") << R"({"layout":"contiguous_splice"})";
  QTest::newRow("no room for both") << R"({"history_bytes":0})";
}

void WlodCacheTest::asOneCommit() {
  QFETCH(QString, more);
  const json manifest = wlodManifest({{"attention", "pyramid"}}, json::parse(more.toStdString()));
  auto a = opened(manifest), b = opened(manifest);
  liveWlod(*a, 1);
  liveWlod(*b, 2);
  const std::string other = stateHash(*b);
  call(*a, "saveCache", {{"path", path("c")}});
  call(*b, "loadCache", {{"path", path("c")}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  call(*b, "undo");
  QCOMPARE(stateHash(*b), other);
  QCOMPARE(broken(*b), QString());
  call(*b, "redo");
  QCOMPARE(stateHash(*b), stateHash(*a));
  QCOMPARE(broken(*b), QString());
}

void WlodCacheTest::draftsAreRefused() {
  auto a = opened(wlodManifest()), b = opened(wlodManifest());
  for (Session* s : {a.get(), b.get()}) call(*s, "promptIds", {{"ids", someIds(100, 200, 1)}});
  call(*a, "saveCache", {{"path", path("d")}});
  call(*b, "speculate", {{"tokens", {5, 6}}});
  const std::string before = stateHash(*b);
  QCOMPARE(codeOf(*b, "saveCache", {{"path", path("no")}}), std::string("speculating"));
  QCOMPARE(codeOf(*b, "loadCache", {{"path", path("d")}}), std::string("speculating"));
  QCOMPARE(stateHash(*b), before);
  call(*b, "rollback");
  QCOMPARE(stateHash(*b), stateHash(*a));
  call(*b, "loadCache", {{"path", path("d")}});
  QCOMPARE(broken(*b), QString());
}

void WlodCacheTest::hfFormsAreRefused() {
  auto a = opened(wlodManifest()), plain = opened(tinyManifest());
  call(*a, "promptIds", {{"ids", {4, 5, 6}}});
  call(*plain, "promptIds", {{"ids", {4, 5, 6}}});
  for (const char* form : {"hf_tuple", "hf_dynamic", "llama_cpp", "vllm_cpu", "vllm_cuda"}) {
    const Result<json> saved = execute(*a, "saveCache", {{"path", path("no")}, {"form", form}});
    QVERIFY(!saved);
    QCOMPARE(saved.error().code, std::string("unsupported"));
    QVERIFY(saved.error().remedy.find("native") != std::string::npos);
    QVERIFY(!QFile::exists(m_folder.filePath("no")));
    if (!QByteArray(form).startsWith("hf")) continue;  // nothing loads it
    call(*plain, "saveCache", {{"path", path("hf")}, {"form", form}});
    const std::string before = stateHash(*a);
    const Result<json> loaded = execute(*a, "loadCache", {{"path", path("hf")}});
    QVERIFY(!loaded);
    QCOMPARE(loaded.error().code, std::string("other_format"));
    QVERIFY(loaded.error().remedy.find("without wlod") != std::string::npos);
    QCOMPARE(stateHash(*a), before);
  }
}

void WlodCacheTest::otherSessions_data() {
  QTest::addColumn<QString>("manifest");
  QTest::addColumn<QString>("code");
  QTest::addColumn<QString>("field");
  const auto row = [](const char* name, const json& manifest, const char* code, const char* field) {
    QTest::newRow(name) << QString::fromStdString(manifest.dump()) << code << field;
  };
  row("plain", tinyManifest(), "other_format", "wlod");
  row("budget", wlodManifest({{"budget", 160}}), "other_format", "wlod.budget");
  row("attention", wlodManifest({{"attention", "pyramid"}}), "other_format", "wlod.attention");
  row("w", wlodManifest({{"w", 64}}), "other_format", "wlod.w");
  row("w2", wlodManifest({{"w2", 2048}}), "other_format", "wlod.w2");
  row("near-causal", wlodManifest({{"attention", "pyramid"}, {"near_causal", true}}), "other_format", "wlod.attention");
  row("sigma", wlodManifest({{"sigma", 0.5}}), "other_format", "wlod.sigma");
  row("row types", wlodManifest(json::object(), {{"dtype", "f16"}}), "other_format", "rows");
  row("weights", wlodManifest(json::object(), {{"model", "synthetic:tiny:seed=5"}}), "other_model", "fingerprint");
  row("hidden", wlodManifest(json::object(), {{"model", "demo"}}), "other_model", "");
}

/// Settings that steer later edits may differ; settings that rows and entries depend on may not.
void WlodCacheTest::otherSessions() {
  QFETCH(QString, manifest);
  QFETCH(QString, code);
  QFETCH(QString, field);
  auto a = opened(wlodManifest()), b = opened(json::parse(manifest.toStdString()));
  liveWlod(*a);
  call(*a, "saveCache", {{"path", path("o")}});
  call(*b, "promptIds", {{"ids", {5, 6}}});
  call(*b, "saveCache", {{"path", path("back")}});
  const std::string before = stateHash(*b), own = stateHash(*a);
  const Result<json> refused = execute(*b, "loadCache", {{"path", path("o")}});
  QVERIFY(!refused);
  QCOMPARE(QString::fromStdString(refused.error().code), code);
  QVERIFY2(!refused.error().remedy.empty(), refused.error().text().c_str());
  if (!field.isEmpty()) QCOMPARE(QString::fromStdString(refused.error().field), field);
  QCOMPARE(stateHash(*b), before);
  QCOMPARE(codeOf(*a, "loadCache", {{"path", path("back")}}), code.toStdString());
  QCOMPARE(stateHash(*a), own);
  auto steered = opened(wlodManifest({{"every", 4}, {"lens", "off"}, {"cooldown", 0}, {"protect", 32}}));
  call(*steered, "loadCache", {{"path", path("o")}});
  QCOMPARE(stateHash(*steered), own);
}

void WlodCacheTest::shortTimeLine() {
  auto a = opened(wlodManifest({{"moments", 9000}})), b = opened(wlodManifest());
  call(*a, "promptIds", {{"ids", someIds(a->model().config().maxPositions + 40, 200, 1)}});
  call(*a, "saveCache", {{"path", path("l")}});
  const std::string before = stateHash(*b);
  const Result<json> refused = execute(*b, "loadCache", {{"path", path("l")}});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("no_phase_room"));
  QVERIFY(refused.error().remedy.find("wlod.moments") != std::string::npos);
  QCOMPARE(stateHash(*b), before);
}

/// A network is known by its content, not by its name.
void WlodCacheTest::otherGists() {
  const int hidden = opened(tinyManifest())->model().config().hidden;
  for (const auto& [name, seed] : {std::pair("one", 1u), {"copy", 1u}, {"two", 2u}}) {
    GistFile file(hidden, 2, 2, 8, 0.1f, seed);
    file.metadata["model"] = "";
    QVERIFY(file.write(path(name)));
  }
  const auto with = [&](const char* name) { return opened(wlodManifest({{"gist", path(name)}})); };
  auto a = with("one");
  liveWlod(*a);
  call(*a, "saveCache", {{"path", path("g")}});
  auto copy = with("copy"), other = with("two"), mean = opened(wlodManifest());
  call(*copy, "loadCache", {{"path", path("g")}});
  QCOMPARE(stateHash(*copy), stateHash(*a));
  for (Session* s : {other.get(), mean.get()}) {
    const Result<json> refused = execute(*s, "loadCache", {{"path", path("g")}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("other_format"));
    QCOMPARE(refused.error().field, std::string("wlod.gist"));
  }
}

void WlodCacheTest::hostileTensors_data() {
  QTest::addColumn<QString>("tensor");
  QTest::addColumn<int>("i");
  QTest::addColumn<int>("size");
  QTest::addColumn<qlonglong>("value");
  const auto row = [](const char* name, const char* tensor, int i, int size, qlonglong value) {
    QTest::newRow(name) << tensor << i << size << value;
  };
  row("token", "tree.tokens", 3, 4, 1 << 29);
  row("negative token", "tree.tokens", 3, 4, -1);
  row("token twice", "tree.tokens", 3, 4, 0);
  row("token is a gist", "tree.tokens", 3, 4, -100);  // a name of LOD1 is put here
  row("name", "tree.1.names", 0, 4, 1 << 29);
  row("name is a token", "tree.1.names", 0, 4, 3);
  row("entry without name", "tree.1.names", 12, 4, -1);
  row("gist", "tree.1.gists", 7, 4, 0x7fc00000);
  row("upper gist", "tree.2.gists", 7, 4, 0x7f800000);
  row("misaligned", "entries.nodes", 1, 8, 5 * 4 + 1);
  row("gap", "entries.nodes", 1, 8, 2048 * 4 + 1);
  row("level", "entries.nodes", 0, 8, 3);
  row("negative node", "entries.nodes", 0, 8, -4);
  row("huge node", "entries.nodes", 0, 8, qlonglong(1) << 50);
  row("changed late", "entries.changed", 0, 4, 1 << 20);
  row("changed early", "entries.changed", 0, 4, -2);
  row("mass", "entries.mass", 2, 8, qlonglong(0x7ff8000000000000));
  row("negative mass", "entries.mass", 2, 8, qlonglong(0xbff0000000000000));
  row("context", "context.ledger", 2, 4, 0);
  row("phase", "context.phases", 2, 4, 5);
  row("arrival", "groups.0.ledger", 2, 4, 3);
  row("arrival phase", "groups.0.phases", 2, 4, 3);
  row("kind", "ledger.flags", 4 * 3, 1, 2);
  row("row", "rows.1", 100, 1, 77);
}

void WlodCacheTest::hostileTensors() {
  QFETCH(QString, tensor);
  QFETCH(int, i);
  QFETCH(int, size);
  QFETCH(qlonglong, value);
  auto s = opened(wlodManifest({{"attention", "pyramid"}}));
  liveWlod(*s);
  call(*s, "saveCache", {{"path", path("n")}});
  Parts parts = Parts::of(path("n"));
  if (value == -100) value = wlodIn(s->state()).tree.row({2, 0}).value();
  if (QString(QTest::currentDataTag()) == "entry without name")
    for (const TreeNode entry : wlodIn(s->state()).context.entries())
      if (entry.level == 1) i = entry.start / 32;
  const std::size_t at =
      parts.offset(tensor.toStdString()) + static_cast<std::size_t>(i) * static_cast<std::size_t>(size);
  std::memcpy(parts.data.data() + at, &value, static_cast<std::size_t>(size));
  parts.write(path("bad"));
  const std::string before = stateHash(*s);
  const Result<json> refused = execute(*s, "loadCache", {{"path", path("bad")}});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("bad_file"));
  QVERIFY2(refused.error().why.find("tensor \"") == 0, refused.error().text().c_str());
  QCOMPARE(stateHash(*s), before);
}

void WlodCacheTest::hostileNumbers_data() {
  QTest::addColumn<QString>("pointer");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("code");
  const char* const bad[][4] = {
      {"round", "/wlod/round", "-1", "bad_file"},
      {"round text", "/wlod/round", "\"1\"", "bad_file"},
      {"round past", "/wlod/round", "0", "bad_file"},
      {"huge round", "/wlod/round", "4294967296", "bad_file"},
      {"since", "/wlod/since_round", "-3", "bad_file"},
      {"no since", "/wlod/since_round", "null", "bad_file"},
      {"list", "/wlod", "[]", "bad_file"},
      {"text", "/wlod", "\"settings\"", "bad_file"},
      {"none", "/wlod", "null", "other_format"},
      {"empty", "/wlod", "{}", "other_format"},
      {"settings", "/wlod/settings", "[1]", "other_format"},
      {"first", "/first/1", "3", "bad_file"},
      {"version", "/version", "5", "bad_file"},
      {"no memory", "/version", "1", "bad_file"},
  };
  for (const auto& row : bad) QTest::newRow(row[0]) << row[1] << row[2] << row[3];
}

void WlodCacheTest::hostileNumbers() {
  QFETCH(QString, pointer);
  QFETCH(QString, value);
  QFETCH(QString, code);
  auto s = opened(wlodManifest());
  liveWlod(*s);
  call(*s, "refocus");
  call(*s, "saveCache", {{"path", path("h")}});
  Parts parts = Parts::of(path("h"));
  json manifest = parts.manifest();
  manifest[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
  parts.setManifest(manifest);
  parts.write(path("bad"));
  const std::string before = stateHash(*s);
  const Result<json> refused = execute(*s, "loadCache", {{"path", path("bad")}});
  if (pointer == "/version" && value == "1" && refused) return;  // a file of version 1 may lack the field
  QVERIFY(!refused);
  QCOMPARE(QString::fromStdString(refused.error().code), code);
  QVERIFY(refused.error().text().find(path("bad")) != std::string::npos && !refused.error().remedy.empty());
  QCOMPARE(stateHash(*s), before);
}

/// Cut anywhere it is refused; with a bit changed it is refused, or it is a cache that obeys every invariant. Rows of
/// another token are not told from this one's but by recomputing them.
void WlodCacheTest::damagedBytes() {
  auto s = opened(wlodManifest({{"attention", "pyramid"}, {"cooldown", 0}, {"protect", 0}, {"lens", "off"}}));
  call(*s, "promptIds", {{"ids", someIds(70, 200, 1)}});
  call(*s, "collapse", {{"node", 1}, {"now", true}});
  call(*s, "saveCache", {{"path", path("d")}});
  const std::string whole = readAll(path("d"));
  const CacheTarget target = cacheTarget(*s);
  QVERIFY(parseCache(bytesOf(whole), "f", target));
  for (std::size_t n = 0; n < whole.size(); n += n < 4000 ? 7 : 971) {
    const Result<CacheImport> cut = parseCache(bytesOf(whole.substr(0, n)), "f", target);
    QVERIFY2(!cut && cut.error().code == "bad_file", std::to_string(n).c_str());
  }
  int accepted = 0;
  for (std::size_t n = 0; n < whole.size(); n += n < 9000 ? 3 : 23) {
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ (1 << (n % 7)));
    const Result<CacheImport> rows = parseCache(bytesOf(changed), "f", target);
    if (!rows) continue;
    if (++accepted % 8) continue;
    QVERIFY(importRows(*s, *rows, false));
    for (const InvariantState& one : s->check(true))
      QVERIFY2(one.ok || one.id == "exact_rows" || one.id == "wlod_rows",
               (std::string(one.id) + ": " + one.detail).c_str());
    call(*s, "undo");
  }
  qInfo("%d changed files were caches too", accepted);
}

KV_TEST(WlodCacheTest)
#include "wlod_cache_test.moc"
