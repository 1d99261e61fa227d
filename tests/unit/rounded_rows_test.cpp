// SPDX-License-Identifier: Apache-2.0
// Rows that came from a file, or were stored in other types before, are compared with their recomputation as closely as
// these types allow: no false alarm, and a fault of a per cent is named (core/state/rounding.h).
#include "core/model/decoder/transformer.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

const std::vector<std::string> kTypes = {"f32", "f16", "bf16", "int8", "fp8-e4m3"};

/// The change that a fault makes to K and V of one row, [heads * dim]; false where it does not change this half.
using Fault = std::function<bool(bool value, std::vector<float>& row, int heads, int dim)>;

struct Named {
  const char* name;
  Fault fault;
  double size;  // size of the change, in parts of the largest value, at least
};

const std::vector<Named> kFaults = {{"a scale is off",
                                     [](bool value, std::vector<float>& row, int, int) {
                                       for (float& one : row) one *= 1.012f;
                                       return value;
                                     },
                                     0.01},
                                    {"a scale is off by more",
                                     [](bool value, std::vector<float>& row, int, int) {
                                       for (float& one : row) one *= 1.03f;
                                       return value;
                                     },
                                     0.028},
                                    {"a head is another one",
                                     [](bool, std::vector<float>& row, int, int dim) {
                                       std::rotate(row.begin(), row.begin() + dim, row.end());
                                       return true;
                                     },
                                     1},
                                    {"neighbours are exchanged",
                                     [](bool value, std::vector<float>& row, int, int) {
                                       for (std::size_t i = 0; i + 1 < row.size(); i += 2)
                                         std::swap(row[i], row[i + 1]);
                                       return value;
                                     },
                                     1},
                                    {"a phase is off by one",
                                     [](bool value, std::vector<float>& row, int heads, int dim) {
                                       for (int head = 0; head < heads && !value; ++head) {
                                         float &a = row[static_cast<std::size_t>(head * dim)],
                                               &b = row[static_cast<std::size_t>(head * dim + dim / 2)];
                                         const float x = a * std::cos(1.0f) - b * std::sin(1.0f);
                                         b = b * std::cos(1.0f) + a * std::sin(1.0f), a = x;
                                       }
                                       return !value;
                                     },
                                     0.5}};

/// Writes faulty rows over all of a layer, with tags and checksums that are right.
void plant(const SessionFixture& s, int layer, const Fault& fault) {
  RowPool& pool = s->parts().store.pool(CacheLayer(layer));
  const ResidencyView& map = s->state().map(CacheLayer(layer));
  const auto width = static_cast<std::size_t>(pool.width());
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::int32_t slot = map.slotOf[i].value();
    std::vector<float> k(width), v(width);
    pool.gather({&slot, 1}, k.data(), v.data());
    std::vector<float> otherK = k, otherV = v;
    if (!fault(false, otherK, pool.format().kvHeads, pool.format().headDim)) otherK = k;
    if (!fault(true, otherV, pool.format().kvHeads, pool.format().headDim)) otherV = v;
    const auto tag = static_cast<std::uint64_t>(map.ledger[i].value());
    pool.write({&slot, 1}, otherK.data(), otherV.data(), &tag);
  }
}

/// The first of `checks` full checks that names exact_rows; -1 = none does.
int namedIn(const SessionFixture& s, int checks) {
  for (int i = 0; i < checks; ++i)
    for (const InvariantState& one : s->check(true))
      if (!one.ok && one.id == "exact_rows") return i;
  return -1;
}

void both(const SessionFixture& s, const std::string& k, const std::string& v) {
  s.must("settings", {{"kv", {{"k", k}, {"v", v}}}});
}

/// The rounding error of a type, in parts of the largest value, with some room.
double roundedBy(const std::string& type) {
  if (type == "fp8-e4m3") return 0.2;
  return type == "bf16" || type == "int8" ? 0.009 : 0.002;
}

}  // namespace

class RoundedRowsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// From each type to each other one and back, in all layers, in K alone or in one layer alone.
  void areNoDamage_data() {
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("to");
    QTest::addColumn<QString>("manifest");
    for (const std::string& from : kTypes)
      for (const std::string& to : kTypes)
        for (const char* manifest : {"{}", R"({"key_phase":"at_write","position":"cache"})"})
          QTest::addRow("%s, %s, %s", from.c_str(), to.c_str(), manifest)
              << QString::fromStdString(from) << QString::fromStdString(to) << manifest;
  }
  void areNoDamage() {
    QFETCH(QString, from);
    QFETCH(QString, to);
    QFETCH(QString, manifest);
    json settings = json::parse(manifest.toStdString());
    settings["kv"] = {{"k", from.toStdString()}, {"v", from.toStdString()}};
    settings["check"] = {{"level", "full"}};
    SessionFixture s(settings);
    s.prompt(40);
    s.must("settings", {{"kv", {{"k", to.toStdString()}}}});
    QVERIFY(quiet(s, 3));
    s.must("settings", {{"layers", json::array({{{"match", 1}, {"kv", {{"v", to.toStdString()}}}}})}});
    QVERIFY(quiet(s, 3));
    both(s, to.toStdString(), to.toStdString());
    QVERIFY(quiet(s, 12));
    s.must("inject",
           {{"actions", {{{"action", "replace"}, {"positions", {20, 21}}, {"new_token_ids", {9}}}}}, {"now", true}});
    QVERIFY(quiet(s, 4));
    both(s, from.toStdString(), from.toStdString());
    QVERIFY(quiet(s, 12));
    s.must("undo", {{"n", 20}});
    QVERIFY(s.sound());
    s.must("redo", {{"n", 20}});
    QVERIFY(quiet(s, 2));
  }

  void haveTheirFaultsNamed_data() {
    QTest::addColumn<QString>("from");
    QTest::addColumn<QString>("to");
    QTest::addColumn<int>("fault");
    for (const std::string& from : kTypes)
      for (const std::string& to : kTypes)
        for (std::size_t fault = 0; fault < kFaults.size(); ++fault)
          if (kFaults[fault].size > roundedBy(from) + roundedBy(to))
            QTest::addRow("%s, %s, %s", from.c_str(), to.c_str(), kFaults[fault].name)
                << QString::fromStdString(from) << QString::fromStdString(to) << static_cast<int>(fault);
  }
  void haveTheirFaultsNamed() {
    QFETCH(QString, from);
    QFETCH(QString, to);
    QFETCH(int, fault);
    SessionFixture s(json{{"kv", {{"k", from.toStdString()}, {"v", from.toStdString()}}}});
    s.prompt(40);
    both(s, to.toStdString(), to.toStdString());
    QVERIFY(s.sound());
    plant(s, 0, kFaults[static_cast<std::size_t>(fault)].fault);
    QVERIFY(namedIn(s, 1) == 0);
  }

  /// In a layer behind the first one a full check sees one row.
  void haveTheirFaultsNamedInDeepLayers() {
    for (const char* to : {"f16", "bf16", "int8"}) {
      SessionFixture s;
      s.prompt(40);
      both(s, to, to);
      QVERIFY(s.sound());
      plant(s, 1, kFaults[2].fault);
      QCOMPARE(namedIn(s, 1), 0);
    }
  }

  /// Files of a Hugging Face form from sessions of each type in sessions of each type.
  void ofFilesAreNoDamage_data() {
    QTest::addColumn<QString>("saved");
    QTest::addColumn<QString>("loaded");
    QTest::addColumn<bool>("turned");
    for (const std::string& saved : kTypes)
      for (const std::string& loaded : kTypes)
        for (const bool turned : {false, true})
          QTest::addRow("%s, %s%s", saved.c_str(), loaded.c_str(), turned ? ", turned" : "")
              << QString::fromStdString(saved) << QString::fromStdString(loaded) << turned;
  }
  void ofFilesAreNoDamage() {
    QFETCH(QString, saved);
    QFETCH(QString, loaded);
    QFETCH(bool, turned);
    save(saved.toStdString(), turned);
    SessionFixture s(
        {{"kv", {{"k", loaded.toStdString()}, {"v", loaded.toStdString()}}}, {"check", {{"level", "full"}}}});
    s.must("loadCache", {{"path", path()}});
    QVERIFY(quiet(s, 24));
    s.must("saveCache", {{"path", path()}});  // native
    s.must("loadCache", {{"path", path()}});
    QVERIFY(quiet(s, 8));
  }

  void ofFilesHaveTheirFaultsNamed_data() {
    QTest::addColumn<QString>("saved");
    QTest::addColumn<QString>("loaded");
    QTest::addColumn<int>("fault");
    for (const std::string& saved : kTypes)
      for (const std::string& loaded : kTypes)
        for (std::size_t fault = 0; fault < kFaults.size(); ++fault)
          if (kFaults[fault].size > 2 * roundedBy(saved) + roundedBy(loaded))
            QTest::addRow("%s, %s, %s", saved.c_str(), loaded.c_str(), kFaults[fault].name)
                << QString::fromStdString(saved) << QString::fromStdString(loaded) << static_cast<int>(fault);
  }
  void ofFilesHaveTheirFaultsNamed() {
    QFETCH(QString, saved);
    QFETCH(QString, loaded);
    QFETCH(int, fault);
    SessionFixture from(json{{"kv", {{"k", saved.toStdString()}, {"v", saved.toStdString()}}}});
    from.prompt(40);
    plant(from, 0, kFaults[static_cast<std::size_t>(fault)].fault);
    from.must("saveCache", {{"path", path()}, {"form", "hf_dynamic"}});
    SessionFixture s(json{{"kv", {{"k", loaded.toStdString()}, {"v", loaded.toStdString()}}}});
    s.must("loadCache", {{"path", path()}});
    QVERIFY(namedIn(s, 1) == 0);
  }

  /// Keys that were turned many times in a coarse type do not count as damage, wherever the file goes.
  void ofTurnedKeysAreNoDamage() {
    for (const char* type : {"fp8-e4m3", "int8"}) {
      SessionFixture from(json{{"kv", {{"k", type}, {"v", "f32"}}}, {"key_phase", "at_write"}});
      from.prompt(60);
      for (int i = 0; i < 6; ++i)
        from.must("inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}, {"now", true}});
      QVERIFY(from.sound());
      from.must("settings", {{"kv", {{"k", "f32"}}}});
      QVERIFY(from.sound());
      from.must("saveCache", {{"path", path()}, {"form", "hf_dynamic"}});
      SessionFixture s(json{{"check", {{"level", "full"}}}});
      s.must("loadCache", {{"path", path()}});
      QVERIFY(quiet(s, 16));
    }
  }

 private:
  std::string path() const { return m_folder.filePath("cache").toStdString(); }
  void save(const std::string& type, bool turned) const {
    json settings{{"kv", {{"k", type}, {"v", type}}}};
    if (turned) settings["key_phase"] = "at_write";
    SessionFixture s(settings);
    s.prompt(40);
    s.must("step", {{"n", 3}});
    s.must("saveCache", {{"path", path()}, {"form", "hf_dynamic"}});
  }
  /// So many ticks without a finding.
  static bool quiet(const SessionFixture& s, int ticks) {
    for (const json& report : s.must("step", {{"n", ticks}}))
      for (const json& one : report["violations"]) {
        qWarning("%s", one.dump().c_str());
        return false;
      }
    return s.sound();
  }
  QTemporaryDir m_folder;
};

KV_TEST(RoundedRowsTest)
#include "rounded_rows_test.moc"
