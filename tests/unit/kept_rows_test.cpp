// SPDX-License-Identifier: Apache-2.0
// A preset that names a press of kvpress keeps the rows that this press keeps, without another word:
// tests/oracle/kept_rows, made by kvpress itself. Rows whose scores tie there may differ; the test counts these.
#include <QFile>
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <set>

#include "core/policy/policy.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr const char* kKeptModels[] = {"llama_tied_f32", "llama_untied_f32", "qwen2_tied_f32",
                                       "qwen3_f32",      "llama_yarn_bf16",  "demo"};

/// "0-3,9" as rows.
std::set<int> rowSet(const std::string& text) {
  std::set<int> out;
  for (const QString& part : QString::fromStdString(text).split(',', Qt::SkipEmptyParts)) {
    const QStringList ends = part.split('-');
    for (int row = ends.first().toInt(); row <= ends.last().toInt(); ++row) out.insert(row);
  }
  return out;
}

std::set<int> residents(const SessionFixture& s, CacheLayer layer) {
  std::set<int> out;
  for (LedgerId id : s->state().map(layer).ledger) out.insert(id.value());
  return out;
}

json casesOf(const std::string& model) {
  QFile file(KVLAB_TESTS_DIR "/oracle/kept_rows/kept_rows.json");
  if (!file.open(QIODevice::ReadOnly)) qFatal("no kept_rows.json");
  json out = json::array();
  for (json& one : json::parse(file.readAll().toStdString()))
    if (one["model"] == model) out.push_back(std::move(one));
  return out;
}

json manifestOf(const json& one, const json& more) {
  const std::string model = one["model"];
  json out{{"model", model == "demo" ? model : KVLAB_TESTS_DIR "/oracle/models/" + model},
           {"dtype", "f32"},
           {"policy", one["policy"]}};
  out.update(more);
  return out;
}

/// Rows that one side has alone.
std::set<int> apart(const std::set<int>& a, const std::set<int>& b) {
  std::set<int> out;
  std::ranges::set_symmetric_difference(a, b, std::inserter(out, out.end()));
  return out;
}

class Comparison {
 public:
  int lists = 0, tied = 0;
  QByteArray wrong;

  void compare(const json& one, const SessionFixture& s) {
    const CacheLayers layers = s->cacheLayers();
    for (std::size_t layer = 0; layer < one["kept"].size(); ++layer)
      for (std::size_t head = 0; head < one["kept"][layer].size(); ++head, ++lists) {
        const CacheLayer own = layers.of(Layer(static_cast<int>(layer)))[layers.byHead() ? head : 0];
        const std::set<int> wanted = rowSet(one["kept"][layer][head]), is = residents(s, own),
                            differ = apart(wanted, is);
        if (differ.empty()) continue;
        const std::string name = std::to_string(layer) + "." + std::to_string(head);
        const std::set<int> ties = rowSet(one["ties"].value(name, std::string()));
        if (std::ranges::includes(ties, differ)) ++tied;
        else
          wrong += QByteArray::fromStdString("\n" + one["policy"].dump() + " " + std::to_string(one["ids"].size()) +
                                             " ids, head " + name + ": differ in " + json(differ).dump());
      }
  }
};

}  // namespace

class KeptRowsTest : public QObject {
  Q_OBJECT

  static void compare(const std::string& model, const json& more, const std::function<bool(const json&)>& looksAt,
                      const std::function<void(const SessionFixture&, const std::vector<int>&)>& fill) {
    Comparison all;
    for (const json& one : casesOf(model)) {
      if (!looksAt(one)) continue;
      SessionFixture s(manifestOf(one, more));
      fill(s, one["ids"].get<std::vector<int>>());
      all.compare(one, s);
    }
    QVERIFY2(all.wrong.isEmpty(), all.wrong.constData());
    QVERIFY(all.lists > 0);
    qInfo("%s: %d lists as in kvpress, %d of them up to ties", model.c_str(), all.lists, all.tied);
    QVERIFY(all.tied * 16 <= all.lists);  // most of them equal maxima of neighbours
  }
  static void whole(const SessionFixture& s, const std::vector<int>& ids) { s.must("promptIds", {{"ids", ids}}); }
  static bool any(const json&) { return true; }

  static void models() {
    QTest::addColumn<QString>("model");
    for (const char* model : kKeptModels) QTest::newRow(model) << QString(model);
  }

 private Q_SLOTS:
  void asOpened_data() { models(); }
  void asOpened() {
    QFETCH(QString, model);
    compare(model.toStdString(), json::object(), any, whole);
  }

  /// Also where every head has rows of its own though the preset does not ask for it.
  void byHead_data() { models(); }
  void byHead() {
    QFETCH(QString, model);
    compare(model.toStdString(), {{"residency", "kv_head"}}, any, whole);
  }

  void inChunks() { compare("demo", {{"prefill_chunk", 7}}, any, whole); }

  void inParts() {
    compare("qwen3_f32", json::object(), any, [](const SessionFixture& s, const std::vector<int>& ids) {
      for (std::size_t from = 0; from < ids.size(); from += 9)
        s.must("prefill",
               {{"ids",
                 std::vector<int>(ids.begin() + static_cast<std::ptrdiff_t>(from),
                                  ids.begin() + static_cast<std::ptrdiff_t>(std::min(from + 9, ids.size())))},
                {"last", false}});
      s.must("endPrefill");
    });
  }

  void keysAtTheirPhases() { compare("llama_tied_f32", {{"key_phase", "at_write"}}, any, whole); }

  void otherLayouts_data() {
    QTest::addColumn<QString>("layout");
    for (const char* layout : {"paged:block=4", "contiguous_splice"}) QTest::newRow(layout) << QString(layout);
  }
  void otherLayouts() {
    QFETCH(QString, layout);
    compare("llama_untied_f32", {{"layout", layout.toStdString()}}, any, whole);
  }

  /// The number of rows instead of the share.
  void capacities() {
    Comparison all;
    for (json one : casesOf("demo")) {
      json& policy = one["policy"];
      if (policy["name"] == "pyramidkv") continue;  // its ratio is one of each layer's
      policy["capacity"] = static_cast<int>(policy["ratio"].get<double>() * static_cast<double>(one["ids"].size()));
      policy.erase("ratio");
      if (policy.value("window", 0) > policy["capacity"]) continue;  // refused
      SessionFixture s(manifestOf(one, json::object()));
      whole(s, one["ids"]);
      all.compare(one, s);
    }
    QVERIFY2(all.wrong.isEmpty(), all.wrong.constData());
  }

  /// Each layer has a policy of its own and keeps the same rows as a session of this policy, other sinks included.
  void layersOfTheirOwn() {
    const json a = casesOf("demo")[0]["ids"];
    const std::vector<json> policies{{{"name", "expected_attention"}, {"ratio", 0.5}},
                                     {{"name", "expected_attention"}, {"ratio", 0.5}, {"sinks", 1}},
                                     {{"name", "snapkv"}, {"ratio", 0.5}, {"window", 8}},
                                     {{"name", "tova"}, {"ratio", 0.5}}};
    json layers = json::array();
    for (std::size_t i = 0; i < policies.size(); ++i)
      layers.push_back({{"match", std::to_string(i)}, {"policy", policies[i]}});
    SessionFixture mixed(json{{"model", "demo"}, {"layers", layers}});
    whole(mixed, a);
    for (std::size_t i = 0; i < policies.size(); ++i) {
      SessionFixture alone(json{{"model", "demo"}, {"policy", policies[i]}, {"residency", "kv_head"}});
      whole(alone, a);
      for (const CacheLayer layer : mixed->cacheLayers().of(Layer(static_cast<int>(i))))
        QCOMPARE(residents(mixed, layer), residents(alone, layer));
    }
  }

  /// Prompts that the window holds lose nothing; those of a window that the budget does not hold keep its end.
  void shorterThanTheWindow() {
    for (const char* policy : {"snapkv", "pyramidkv", "adakv", "snapkv:preset=kvpress", "adakv:preset=kvpress"}) {
      SessionFixture s(json{{"model", "demo"}, {"policy", policy}});
      s.must("promptIds", {{"ids", SessionFixture::ids(20)}});
      for (const CacheLayer layer : s->state().layers()) QCOMPARE(residents(s, layer).size(), 20u);
      SessionFixture half(json{{"model", "demo"},
                               {"policy", policy + std::string(std::strchr(policy, ':') ? "," : ":") + "ratio=0.5"}});
      half.must("promptIds", {{"ids", SessionFixture::ids(20)}});
      for (const CacheLayer layer : half->state().layers())
        QCOMPARE(residents(half, layer), (std::set<int>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
      half.must("step", {{"n", 3}});
      QCOMPARE(half.damage(), QByteArray());
    }
  }
};

KV_TEST(KeptRowsTest)
#include "kept_rows_test.moc"
