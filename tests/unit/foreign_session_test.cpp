// SPDX-License-Identifier: Apache-2.0
// Caches of other programs in a session: compared with it, and loaded as their explanation reads them. The files are
// those that saveCache writes in the forms of other programs; outgoing_files_test reads them by itself.
#include <QTemporaryDir>
#include <fstream>

#include "core/foreign/foreign_cache.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

static const json kExact = {{"kv", {{"k", "f32"}, {"v", "f32"}}}};  // else rows have the type of the weights, bf16

class ForeignSessionTest : public QObject {
  Q_OBJECT
 private:
  std::string path(const char* name) const { return m_folder.filePath(name).toStdString(); }

  /// A session over 48 tokens, and its rows as llama.cpp would hold them in f16.
  std::string written(const SessionFixture& s) const {
    const std::string file = path("rows.ggsq");
    s.must("saveCache", {{"path", file}, {"form", "llama_cpp"}, {"type", "f16"}});
    return file;
  }
  static std::vector<std::string> kinds(const json& explanation) {
    std::vector<std::string> out;
    for (const json& cause : explanation["causes"]) out.push_back(cause["kind"]);
    return out;
  }
  /// The largest difference of a row, and the largest that the type accounts for.
  static std::pair<double, double> worst(const json& difference) {
    std::pair<double, double> out;
    for (const json& layer : difference["layers"])
      for (const json& row : layer["changed"]) {
        out.first = std::max({out.first, row["k"].get<double>(), row["v"].get<double>()});
        out.second = std::max({out.second, row["typed"][0].get<double>(), row["typed"][1].get<double>()});
      }
    return out;
  }

  QTemporaryDir m_folder;

 private Q_SLOTS:
  void recognised() {
    SessionFixture s(kExact);
    s.prompt(48);
    QVERIFY(isForeignCache(written(s)));
    s.must("saveCache", {{"path", path("own.safetensors")}, {"form", "hf_dynamic"}});
    QVERIFY(!isForeignCache(path("own.safetensors")));
    QVERIFY(!isForeignCache(path("nowhere")));
    QVERIFY(!isForeignCache(m_folder.path().toStdString()));
  }

  /// Layout is undone, so that what differs is the rounding of the file's type.
  void comparedAsExplained() {
    SessionFixture s(kExact);
    s.prompt(48);
    const json found = s.must("differenceFrom", {{"path", written(s)}});
    const json& explanation = found["explanation"];
    QVERIFY2(explanation["outcome"] != "unexplained", explanation["verdict"].get<std::string>().c_str());
    QVERIFY2(kinds(explanation) == std::vector<std::string>{"pairing"}, explanation["causes"].dump().c_str());
    const json& reach = explanation["causes"][0]["reach"];
    QCOMPARE(reach["tokens"], json::parse("[[0, 47]]"));
    QVERIFY(reach["rows"].size() == 48 && reach["rows"].back() == s->state().context[47].value());
    QCOMPARE(found["onlyThen"].size() + found["onlyNow"].size(), 0u);
    const auto [differs, typed] = worst(found);
    QVERIFY2(differs > 0 && differs < 2e-3, std::to_string(differs).c_str());
    QVERIFY2(typed > 0 && differs < 3 * typed, std::to_string(typed).c_str());
  }

  void wrongRowsStayWrong() {
    SessionFixture s(kExact), edited(kExact);
    s.prompt(48);
    edited.prompt(48);
    edited.must("inject", {{"actions", {{{"action", "replace"}, {"positions", {20}}, {"new_token_ids", {9}}}}}});
    edited.must("apply");
    const std::string file = written(edited);
    s.must("inject", {{"actions", {{{"action", "replace"}, {"positions", {20}}, {"new_token_ids", {9}}}}}});
    s.must("apply");
    s.must("rebuild");
    const json found = s.must("differenceFrom", {{"path", file}});
    QVERIFY2(found["explanation"]["outcome"] != "equal", found["explanation"]["verdict"].get<std::string>().c_str());
    QVERIFY(worst(found).first > 0.01);
  }

  void loadedAsExplained() {
    SessionFixture from(kExact), s(kExact);
    from.prompt(48);
    const std::string file = written(from), before = stateHash(*s);
    const Result<json> checked = s.verb("loadCache", {{"path", file}, {"verify", true}});
    QVERIFY(!checked && checked.error().field == "verify");
    QCOMPARE(stateHash(*s), before);
    const json loaded = s.must("loadCache", {{"path", file}});
    QCOMPARE(loaded["form"].get<std::string>(), std::string("llama.cpp"));
    QVERIFY(s.tokens() == from.tokens());
    s.must("step", {{"n", 3}});
    QCOMPARE(s->state().length(), 51);
    const std::string after = stateHash(*s);
    for (int i = 0; i < 4; ++i) s.must("undo");
    QCOMPARE(stateHash(*s), before);
    for (int i = 0; i < 4; ++i) s.must("redo");
    QCOMPARE(stateHash(*s), after);
    std::ofstream(file, std::ios::app) << "more";
    const Result<json> other = s.verb("loadCache", {{"path", file}, {"content", loaded["content"]}});
    QVERIFY(!other && other.error().code == "file_changed");
    const Result<json> damaged = s.verb("loadCache", {{"path", file}});
    QVERIFY(!damaged && damaged.error().code == "bad_file");
    QCOMPARE(stateHash(*s), after);
  }
};

KV_TEST(ForeignSessionTest)
#include "foreign_session_test.moc"
