// SPDX-License-Identifier: Apache-2.0
// Rows that a file brings are labelled `loaded` until a rebuild, or a load that verifies them (semantics.md, section
// 9).
#include <set>

#include "core/session/observe.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

/// Labels of the rows of a layer, or of its first head: "inherited, loaded".
std::string labels(const SessionFixture& s, int layer) {
  std::set<std::string> all;
  json args{{"layer", layer}};
  if (s->cacheLayers().byHead()) args["kvHead"] = 0;
  for (const json& row : s.must("rows", args)) all.insert(row["exactness"].get<std::string>());
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : ", ") + one;
  return out;
}

}  // namespace

class LoadedRowsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() { QFile::remove(QString::fromStdString(path())); }

  /// Every kind of file and session: labels of present rows, of new rows, and of both after a rebuild.
  void areLabelled_data() {
    QTest::addColumn<QString>("form");
    QTest::addColumn<QString>("manifest");
    for (const char* form : {"hf_dynamic", "hf_tuple", "native"})
      for (const char* manifest : {"{}", R"({"kv":{"k":"int8","v":"fp8-e4m3"}})", R"({"layout":"contiguous_splice"})",
                                   R"({"position":"cache"})", R"({"position":"absolute"})"})
        QTest::addRow("%s %s", form, manifest) << form << manifest;
    QTest::newRow("by head") << "native"
                             << R"({"residency":"kv_head"})";
    QTest::newRow("turned") << "hf_dynamic"
                            << R"({"key_phase":"at_write"})";
  }
  void areLabelled() {
    QFETCH(QString, form);
    QFETCH(QString, manifest);
    const json settings = json::parse(manifest.toStdString());
    save(settings, form.toStdString());
    SessionFixture s(settings);
    s.prompt(9, 70);
    QCOMPARE(labels(s, 1), "exact");
    s.must("loadCache", {{"path", path()}});
    for (const int layer : {0, 1}) QCOMPARE(labels(s, layer), "loaded");
    s.must("step", {{"n", 2}});
    QCOMPARE(labels(s, 0), "exact, loaded");  // K and V of a new row in layer 0 follow from its token
    QCOMPARE(labels(s, 1), "inherited, loaded");
    QVERIFY(s.sound());
    s.must("rebuild");
    for (const int layer : {0, 1}) QCOMPARE(labels(s, layer), "exact");
    s.must("undo");
    QCOMPARE(labels(s, 1), "inherited, loaded");
    s.must("undo", {{"n", 3}});
    QCOMPARE(labels(s, 1), "exact");
    s.must("redo", {{"n", 2}});
    QCOMPARE(labels(s, 1), "inherited, loaded");
  }

  void areExactOnceVerified_data() { areLabelled_data(); }
  void areExactOnceVerified() {
    QFETCH(QString, form);
    QFETCH(QString, manifest);
    const json settings = json::parse(manifest.toStdString());
    save(settings, form.toStdString());
    SessionFixture s(settings);
    s.must("loadCache", {{"path", path()}, {"verify", true}});
    s.must("step", {{"n", 2}});
    for (const int layer : {0, 1}) QCOMPARE(labels(s, layer), "exact");
    QVERIFY(s.sound());
  }

  /// A file of an empty cache has no rows to compare.
  void mayBeNone() {
    for (const char* form : {"native", "hf_dynamic"}) {
      SessionFixture s;
      if (!s.verb("saveCache", {{"path", path()}, {"form", form}})) continue;
      s.must("loadCache", {{"path", path()}, {"verify", true}});
      s.prompt(4);
      QVERIFY(s.sound());
    }
  }

  /// A label of edits is stronger than that of a file; rows that an edit computes again did not come from it.
  void mayBeEdited_data() {
    QTest::addColumn<QString>("after");
    QTest::addColumn<QString>("wanted");
    QTest::newRow("keep") << "keep"
                          << "context-edited, inherited, loaded";
    QTest::newRow("recompute") << "recompute"
                               << "inherited, loaded";
  }
  void mayBeEdited() {
    QFETCH(QString, after);
    QFETCH(QString, wanted);
    save(json::object(), "hf_dynamic");
    SessionFixture s(json{{"after_edit", after.toStdString()}});
    s.must("loadCache", {{"path", path()}});
    s.must("inject",
           {{"actions", {{{"action", "replace"}, {"positions", {12}}, {"new_token_ids", {9}}}}}, {"now", true}});
    QCOMPARE(labels(s, 1), wanted.toStdString());
    QVERIFY(s.sound());
  }

  /// A file that a session with loaded rows has written brings no other rows than any file.
  void comeFromFilesOfLoadedRows() {
    save(json::object(), "hf_dynamic");
    SessionFixture s;
    s.must("loadCache", {{"path", path()}});
    s.must("saveCache", {{"path", path()}, {"form", "native"}});
    SessionFixture other;
    other.must("loadCache", {{"path", path()}});
    QCOMPARE(labels(other, 1), "loaded");
    other.must("loadCache", {{"path", path()}, {"verify", true}});
    QCOMPARE(labels(other, 1), "exact");
  }

  /// A capture holds commands: its rows are computed, except those that a command has loaded.
  void areNotThoseOfACapture() {
    save(json::object(), "native");
    SessionFixture s;
    s.prompt(20);
    const std::string capture = m_folder.filePath("capture").toStdString();
    s.must("saveCapture", {{"path", capture}});
    s.must("loadCache", {{"path", path()}});
    const std::string loaded = m_folder.filePath("loaded").toStdString();
    s.must("saveCapture", {{"path", loaded}});
    for (const auto& [file, wanted] : {std::pair(capture, "exact"), std::pair(loaded, "loaded")}) {
      Result<Replay> replay = replayCapture(file, KVLAB_RESOURCES_DIR, {});
      QVERIFY2(replay, replay ? "" : replay.error().text().c_str());
      QCOMPARE(name(exactnessMap(*replay->session).layers[1].front()), wanted);
    }
  }

  /// A row's story begins with its file and says when it became exact, and whose fault it is that it is not.
  void haveAStory() {
    save(json::object(), "hf_dynamic");
    SessionFixture s;
    s.must("loadCache", {{"path", path()}});
    s.must("step");
    s.must("rebuild");
    const json story = s.must("story", {{"ledger", 7}, {"layer", 1}});
    std::vector<std::string> events;
    for (const json& one : story)
      events.push_back(one["event"].get<std::string>() + " " + one["exactness"].get<std::string>());
    QCOMPARE(json(events).dump(), json({"loaded loaded", "rebuilt loaded", "became_exact exact"}).dump());
    s.must("undo");
    QCOMPARE(s.must("why", {{"ledger", 7}, {"layer", 1}})["cause"]["verb"], "loadCache");
  }

  /// The window and conditions have the same labels.
  void areShown() {
    save(json::object(), "hf_dynamic");
    SessionFixture s;
    s.must("loadCache", {{"path", path()}});
    QCOMPARE(s.must("value", {{"expression", "exactness"}}), "loaded");
    QCOMPARE(lastLayerExactness(*s).front(), Exactness::Loaded);
  }

 private:
  std::string path() const { return m_folder.filePath("cache").toStdString(); }
  void save(const json& settings, const std::string& form) const {
    SessionFixture s(settings);
    s.prompt(24);
    s.must("saveCache", {{"path", path()}, {"form", form}});
  }
  QTemporaryDir m_folder;
};

KV_TEST(LoadedRowsTest)
#include "loaded_rows_test.moc"
