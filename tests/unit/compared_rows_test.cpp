// SPDX-License-Identifier: Apache-2.0
// loadCache with verify: rows from a file of another program are compared with the rows that the model computes.
#include <fstream>

#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

/// Exchanges K and V of a layer in a file of a Hugging Face form: the header names the bytes of both.
void exchange(const std::string& path, const std::string& layer) {
  std::ifstream in(path, std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(in)), {});
  std::uint64_t size = 0;
  std::memcpy(&size, all.data(), sizeof size);
  const std::size_t behind = 8 + size;
  json header = json::parse(all.substr(8, size));
  std::swap(header["past_key_values." + layer + ".key"]["data_offsets"],
            header["past_key_values." + layer + ".value"]["data_offsets"]);
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  size = text.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out << text << all.substr(behind);
}

}  // namespace

class ComparedRowsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() {
    m_saved.emplace();
    m_saved->prompt(24);
    m_saved->must("saveCache", {{"path", path("hf")}, {"form", "hf_dynamic"}});
  }

  void areCompared_data() {
    QTest::addColumn<QString>("manifest");
    for (const char* one : {"{}", R"({"kv":{"k":"int8","v":"fp8-e4m3"}})", R"({"kv":{"k":"f16","v":"bf16"}})",
                            R"({"layout":"contiguous_splice"})", R"({"key_phase":"at_write"})"})
      QTest::newRow(one) << one;
  }
  void areCompared() {
    QFETCH(QString, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(9, 70);
    s.must("loadCache", {{"path", path("hf")}, {"verify", true}});
    s.must("step", {{"n", 2}});
    QVERIFY(s.sound());
    s.must("undo", {{"n", 3}});
    s.must("redo", {{"n", 3}});
  }

  /// K and V of a layer exchanged: refused, and nothing has changed; without verify nothing is claimed of them.
  void othersAreRefused_data() { areCompared_data(); }
  void othersAreRefused() {
    QFETCH(QString, manifest);
    exchange(path("hf"), "1");
    SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(9, 70);
    const std::string before = s.hash();
    const Result<json> refused = s.verb("loadCache", {{"path", path("hf")}, {"verify", true}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, "other_rows");
    QVERIFY2(refused.error().why.starts_with("layer 1, position 0: "), refused.error().why.c_str());
    QCOMPARE(s.hash(), before);
    QVERIFY(s.sound());
    s.must("step");
    s.must("undo");
    QCOMPARE(s.hash(), before);
    s.must("loadCache", {{"path", path("hf")}});
  }

  void editedFilesCannotBe() {
    m_saved->must("evict", {{"layer", 1}, {"ledger", {5}}, {"now", true}});
    m_saved->must("saveCache", {{"path", path("hf")}, {"form", "hf_dynamic"}});
    SessionFixture s;
    QCOMPARE(s.verb("loadCache", {{"path", path("hf")}, {"verify", true}}).error().code, "other_rows");
    s.must("loadCache", {{"path", path("hf")}});
  }

 private:
  std::string path(const char* name) const { return m_folder.filePath(name).toStdString(); }
  QTemporaryDir m_folder;
  std::optional<SessionFixture> m_saved;
};

KV_TEST(ComparedRowsTest)
#include "compared_rows_test.moc"
