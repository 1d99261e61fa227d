// SPDX-License-Identifier: Apache-2.0
// History in all layouts: every entry of the timeline comes back with its hash, sound, and without a command executed
// again; a step back costs as much as the step forward wrote, however long the history is; a loaded file may be gone.
#include "support/session_fixture.h"

#include <QTemporaryDir>

#include "core/api/layout_names.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

std::string historySpec(const LayoutName& info) {
  return info.name == "paged" ? "paged:block=4" : std::string(info.name);
}

/// A session that counts the commands that history executes again, and knows the hash of every entry.
class Walker {
 public:
  explicit Walker(const json& manifest, unsigned seed = 1) : s(manifest), m_random(seed) {
    s->history().setExecute(
        [execute = s->history().execute(), this](Session& session, const std::string& verb, const json& args) {
          ++executed;
          return execute(session, verb, args);
        });
    visit();
  }

  /// Calls a verb that may be refused. False where the entry had another hash before, or an invariant fails.
  bool call(const std::string& verb, const json& args = json::object()) {
    m_said += "\n  " + QByteArray::fromStdString(verb + " " + args.dump());
    const Result<json> result = s.verb(verb, args);
    if (!result) m_said += " refused: " + QByteArray::fromStdString(result.error().text());
    return visit();
  }
  bool visit() {
    const int entry = s->timeline().currentId();
    const auto [known, fresh] = m_hashes.emplace(entry, s.hash());
    if (!fresh && known->second != s.hash()) return fail("entry " + std::to_string(entry) + " has another hash");
    return s.sound() || fail("not sound");
  }
  /// One random call.
  bool step() {
    const int kind = pick(100), length = s->state().length();
    if (length == 0 || (kind < 8 && length < 100)) return call("promptIds", {{"ids", some(1 + pick(24))}});
    if (kind < 24) return call("step", {{"n", 1 + pick(3)}});
    if (kind < 44) return edit();
    if (kind < 50) return evict();
    if (kind < 54) return call("setBrightness", {{"ledger", idAt(pick(length))}, {"value", pick(200)}});
    if (kind < 57) return call("pin", {{"ledger", idAt(pick(length))}, {"on", pick(2) == 0}});
    if (kind < 59) return call("rebuild");
    if (kind < 61) return call("compact", {{"rows", 1 + pick(20)}});
    if (kind < 63) return call("settings", {{"policy", pick(2) ? "h2o:capacity=24" : "full"}});
    if (kind < 80) return call("undo");
    if (kind < 92) return call("redo");
    return call("goto", {{"tick", pick(static_cast<int>(s->state().tick.value()) + 4)}});
  }
  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }
  bool fail(const std::string& what) {
    m_said += "\n" + QByteArray::fromStdString(what);
    return false;
  }
  QByteArray said() const { return m_said.right(2000); }

  SessionFixture s;
  int executed = 0;

 private:
  std::vector<int> some(int count) { return SessionFixture::ids(count, static_cast<unsigned>(pick(1000))); }
  int idAt(int position) const { return s->state().context[static_cast<std::size_t>(position)].value(); }

  bool edit() {
    const int length = s->state().length(), at = pick(length);
    json action{{"type", "delete"}, {"position", at}};
    if (const int kind = pick(3); kind == 0)
      action = {{"type", "insert"}, {"position", at}, {"token_ids", some(1 + pick(4))}};
    else if (kind == 1 && at + 1 < length)
      action = {{"type", "replace_pair"}, {"original_pos1", at}, {"original_pos2", at + 1}, {"new_token_ids", some(1)}};
    return call("inject", {{"actions", {action}}}) && call("apply");
  }
  bool evict() {
    const int layer = pick(s->cacheLayers().layers);
    const ResidencyView& map = s->state().map(s->cacheLayers().of(Layer(layer))[0]);
    if (map.resident() < 4) return true;
    const LedgerId id = map.ledger[static_cast<std::size_t>(map.first) + map.resident() / 2];
    json args{{"layer", layer}, {"ledger", {id.value()}}};
    if (s->cacheLayers().byHead()) args["kvHead"] = 0;
    return call("evict", args) && call("apply");
  }

  std::mt19937 m_random;
  std::map<int, std::string> m_hashes;
  QByteArray m_said;
};

json historyManifest(const std::string& layout, const json& more) {
  json manifest{{"layout", layout}, {"staging", 32}, {"prefill_chunk", 8}, {"capacity", 200}};
  manifest.update(more);
  return manifest;
}

/// A row of test data for each layout.
void layoutRows() {
  QTest::addColumn<QString>("layout");
  for (const LayoutName& info : layouts()) QTest::newRow(info.name.data()) << QString::fromStdString(historySpec(info));
}

}  // namespace

class HistoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everyEntryComesBack_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("more");
    const std::pair<const char*, const char*> kinds[] = {
        {"plain", "{}"},
        {"window", R"({"ring":{"window":16}})"},
        {"mask", R"({"layers":[{"match":"0-1","window":12}]})"},
        {"blocks", R"({"ring":{"window":16,"block_tokens":3}})"},
        {"quantised", R"({"kv":{"k":"int8","v":"fp8-e4m3"},"ring":{"window":33}})"},
        {"by head", R"({"residency":"kv_head","policy":"h2o:capacity=20"})"},
        {"policy", R"({"policy":"h2o:ratio=0.25"})"},
        {"culling", R"({"brightness":{"compressor":"nearest","target":40}})"},
        {"at write", R"({"key_phase":"at_write"})"},
        {"recompute", R"({"after_edit":"recompute","executor":"descending","position":"cache"})"},
        {"mixed", R"({"layers":[{"match":"0","layout":"paged:block=4"}],"policy":"sliding_window:capacity=30"})"}};
    test::SanitizerSample sample(4);  // 11 kinds: every layout and every kind
    for (const LayoutName& info : layouts())
      for (const auto& [name, more] : kinds)
        if (sample.takes())
          QTest::addRow("%s, %s", info.name.data(), name) << QString::fromStdString(historySpec(info)) << more;
  }
  void everyEntryComesBack() {
    QFETCH(QString, layout);
    QFETCH(QString, more);
    for (unsigned seed = 1; seed <= 2; ++seed) {
      Walker walker(historyManifest(layout.toStdString(), json::parse(more.toStdString())), seed);
      for (int i = 0; i < 50; ++i) QVERIFY2(walker.step(), "seed " + QByteArray::number(seed) + walker.said());
      QCOMPARE(walker.executed, 0);
    }
  }

  void wlodComesBack_data() { layoutRows(); }
  void wlodComesBack() {
    QFETCH(QString, layout);
    Walker walker(historyManifest(layout.toStdString(),
                                  {{"capacity", 0}, {"wlod", {{"budget", 128}, {"every", 8}, {"protect", 16}}}}));
    QVERIFY2(walker.call("promptIds", {{"ids", SessionFixture::ids(200)}}), walker.said());
    for (int i = 0; i < 40; ++i) {
      const int kind = walker.pick(6);
      if (kind == 0) QVERIFY2(walker.call("speculate", {{"tokens", {5, 6, 7}}}), walker.said());
      else if (kind == 1) QVERIFY2(walker.call(walker.pick(2) ? "accept" : "rollback"), walker.said());
      else QVERIFY2(walker.call(kind == 2 ? "redo" : kind == 3 ? "step" : "undo"), walker.said());
    }
    QCOMPARE(walker.executed, 0);
  }

  /// Bytes that a step back reads and writes, after more and more ticks.
  void aStepBackCostsOneStep_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("more");
    test::SanitizerSample sample(3);
    for (const LayoutName& info : layouts())
      for (const char* more : {"{}", R"({"ring":{"window":64},"policy":"sliding_window:capacity=64"})"})
        if (sample.takes())
          QTest::addRow("%s %s", info.name.data(), more) << QString::fromStdString(historySpec(info)) << more;
  }
  void aStepBackCostsOneStep() {
    QFETCH(QString, layout);
    QFETCH(QString, more);
    json manifest = historyManifest(layout.toStdString(), json::parse(more.toStdString()));
    manifest.update({{"capacity", 2000}, {"check", {{"level", "off"}}}});
    SessionFixture s(manifest);
    int executed = 0;
    s->history().setExecute([&](Session&, const std::string&, const json&) -> Result<json> {
      ++executed;
      return json();
    });
    s.prompt(80);
    std::vector<std::int64_t> bytes;
    for (const int ticks : {100, 300, 1200}) {
      s.must("step", {{"n", ticks}});
      const std::string hash = s.hash();
      s.must("undo");
      bytes.push_back(s->health().bytesMoved);
      s.must("redo");
      QCOMPARE(s->health().bytesMoved, bytes.back());
      QCOMPARE(s.hash(), hash);
    }
    QCOMPARE(executed, 0);
    QCOMPARE(bytes[1], bytes[0]);
    QCOMPARE(bytes[2], bytes[0]);
    QVERIFY(s.sound());
  }

  void aLoadedFileMayBeGone_data() { layoutRows(); }
  void aLoadedFileMayBeGone() {
    QFETCH(QString, layout);
    const QTemporaryDir folder;
    const std::string path = folder.filePath("cache").toStdString();
    for (const int window : {0, 16}) {
      const json manifest = historyManifest(layout.toStdString(), {{"ring", {{"window", window}}}});
      SessionFixture other(manifest);
      other.prompt(60, 9);
      other.must("saveCache", {{"path", path}});
      Walker walker(manifest);
      QVERIFY(walker.call("promptIds", {{"ids", SessionFixture::ids(40)}}) && walker.call("step", {{"n", 2}}));
      QVERIFY(walker.call("loadCache", {{"path", path}}));
      QCOMPARE(walker.s.tokens(), other.tokens());
      QVERIFY(walker.call("step", {{"n", 3}}));
      QVERIFY(QFile::rename(QString::fromStdString(path), folder.filePath("moved")));
      for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < 6; ++i) QVERIFY2(walker.call("undo"), walker.said());
        for (int i = 0; i < 6; ++i) QVERIFY2(walker.call("redo"), walker.said());
      }
      QVERIFY2(walker.call("goto", {{"tick", 1}}) && walker.call("step") && walker.call("goto", {{"tick", 0}}),
               walker.said());
      QCOMPARE(walker.executed, 0);
      QVERIFY(QFile::remove(folder.filePath("moved")));
    }
  }

  /// If history has no room for the rows of a load, going back over the load needs the file, and the error names the
  /// file.
  void aFileThatIsNeededIsNamed() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("cache").toStdString();
    SessionFixture other, s(historyManifest("ring_fused", {{"history_bytes", 0}}));
    other.prompt(60, 9);
    other.must("saveCache", {{"path", path}});
    s.prompt(20);
    s.must("loadCache", {{"path", path}});
    s.must("step", {{"n", 2}});
    QVERIFY(QFile::rename(QString::fromStdString(path), folder.filePath("moved")));
    const std::string hash = s.hash();
    const Result<json> undone = s.verb("undo");
    QVERIFY(!undone);
    QVERIFY(undone.error().text().find(path) != std::string::npos);
    QCOMPARE(s.hash(), hash);
    QVERIFY(s.sound());
    s.must("step");
    QVERIFY(QFile::rename(folder.filePath("moved"), QString::fromStdString(path)));
    s.must("undo");
    QCOMPARE(s.hash(), hash);
  }

  void storageIsTakenBack_data() { layoutRows(); }
  void storageIsTakenBack() {
    QFETCH(QString, layout);
    Walker walker(historyManifest(layout.toStdString(), {{"policy", "h2o:capacity=40"}}));
    const auto grown = [&] {
      return walker.call("promptIds", {{"ids", SessionFixture::ids(60)}}) && walker.call("step", {{"n", 2}});
    };
    QVERIFY(grown());
    for (const LayoutName& info : layouts()) {
      QVERIFY2(walker.call("settings", {{"layout", historySpec(info)}}) && walker.call("step"), walker.said());
      QVERIFY2(walker.call("undo") && walker.call("undo") && walker.call("undo"), walker.said());
      QVERIFY2(walker.call("redo") && walker.call("redo") && walker.call("redo"), walker.said());
    }
    QVERIFY2(walker.call("settings", {{"layers", json::array({{{"match", 0}, {"kv", {{"k", "int8"}}}}})}}) &&
                 walker.call("settings", {{"capacity", 90}}),
             walker.said());
    QVERIFY2(walker.call("settings", {{"kv", {{"v", "f16"}}}}) && grown(), walker.said());
    while (walker.s->timeline().canUndo()) QVERIFY2(walker.call("undo"), walker.said());
    while (walker.s->timeline().canRedo()) QVERIFY2(walker.call("redo"), walker.said());
    QCOMPARE(walker.executed, 0);
  }

  /// The oldest states are given up first; states that are executed again are kept again.
  void historyKeepsToItsBytes_data() { layoutRows(); }
  void historyKeepsToItsBytes() {
    QFETCH(QString, layout);
    constexpr std::int64_t kBytes = 1 << 14;
    Walker walker(historyManifest(layout.toStdString(), {{"history_bytes", kBytes}, {"ring", {{"window", 32}}}}));
    QVERIFY(walker.call("promptIds", {{"ids", SessionFixture::ids(40)}}));
    for (int i = 0; i < 60; ++i) {
      QVERIFY(walker.call("step"));
      std::int64_t bytes = 0;
      for (int id = 0; id < walker.s->timeline().size(); ++id)
        if (const auto& kept = walker.s->timeline().entry(id).kept) bytes += kept->bytes;
      QVERIFY2(bytes <= kBytes, QByteArray::number(bytes));
    }
    QVERIFY(!walker.s->timeline().entry(1).kept);
    for (int i = 0; i < 60; ++i) QVERIFY2(walker.call("undo"), walker.said());
    QVERIFY2(walker.executed > 0 && walker.executed < 61 * 20, QByteArray::number(walker.executed));
  }
};

KV_TEST(HistoryTest)
#include "history_test.moc"
