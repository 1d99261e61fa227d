// SPDX-License-Identifier: Apache-2.0
// Cache files of sessions whose layers, or heads of a layer, hold different rows.
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/scripted_session.h"
#include "unit/cache_parts.h"

using namespace kvlab;
using namespace kvlab::test;

class RaggedFileTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void nativeByHead();
  void hfKeepsWhatLayersHold_data();
  void hfKeepsWhatLayersHold();
  void hostileRows();
  void hfRefusesByName();

 private:
  std::string path(const char* name) const { return m_folder.filePath(QString::fromUtf8(name)).toStdString(); }
  QTemporaryDir m_folder;
};

/// Heads of a layer that hold different rows come back as they were, with the statistics of their policies.
void RaggedFileTest::nativeByHead() {
  for (const char* policy : {"full", "h2o:budget=10", "snapkv:budget=10,window=3,head_budget=adaptive"}) {
    const json manifest = tinyManifest({{"residency", "kv_head"}, {"policy", policy}});
    auto a = opened(manifest), b = opened(manifest);
    live(*a);
    live(*b, 2);
    call(*a, "evict",
         {{"layer", 1}, {"kvHead", 1}, {"ledger", {a->state().map(CacheLayer(3)).ledger[6].value()}}, {"now", true}});
    call(*a, "saveCache", {{"path", path("heads")}});
    call(*b, "loadCache", {{"path", path("heads")}});
    QCOMPARE(stateHash(*b), stateHash(*a));
    QCOMPARE(broken(*b), QString());
    for (Session* one : {a.get(), b.get()}) call(*one, "step", {{"n", 4}});
    QCOMPARE(stateHash(*b), stateHash(*a));
  }
}

void RaggedFileTest::hfKeepsWhatLayersHold_data() {
  QTest::addColumn<QString>("more");
  QTest::newRow("evicted") << "{}";
  QTest::newRow("absolute") << R"({"position":"absolute"})";
  QTest::newRow("paged") << R"({"layout":"paged:block=4"})";
  QTest::newRow("window") << R"({"layers":[{"match":1,"layout":"ring_pointer","window":8}]})";
}

/// Layers of unequal length come back as they were, and both sessions go on alike.
void RaggedFileTest::hfKeepsWhatLayersHold() {
  QFETCH(QString, more);
  const json manifest = tinyManifest(json::parse(more.toStdString()));
  auto a = opened(manifest), b = opened(manifest);
  live(*a);
  live(*b, 2);
  call(*a, "evict", {{"layer", 2}, {"ledger", {6, 8}}, {"now", true}});
  const int late = a->state().context[at(a->state().length() - 3)].value();  // inside any window
  for (int layer = 0; layer < a->cacheLayers().layers; ++layer)
    call(*a, "evict", {{"layer", layer}, {"ledger", {late}}, {"now", true}});
  call(*a, "saveCache", {{"path", path("ragged")}, {"form", "hf_dynamic"}});
  call(*b, "loadCache", {{"path", path("ragged")}});
  QCOMPARE(broken(*b), QString());
  QCOMPARE(call(*b, "tokens"), call(*a, "tokens"));
  const auto positions = [](const Session& one, CacheLayer layer) {
    std::vector<std::ptrdiff_t> out;
    const Column<LedgerId>& context = one.state().context;
    const ResidencyView& map = one.state().map(layer);
    for (std::size_t i = at(map.first); i < map.size(); ++i)
      out.push_back(std::find(context.begin(), context.end(), map.ledger[i]) - context.begin());
    return out;
  };
  for (const CacheLayer layer : a->state().layers()) QCOMPARE(positions(*b, layer), positions(*a, layer));
  const json want = call(*a, "step", {{"n", 4}}), got = call(*b, "step", {{"n", 4}});
  for (std::size_t i = 0; i < 4; ++i) QCOMPARE(got[i]["token"], want[i]["token"]);
}

/// A list of rows that does not fit the tensors or the ids is refused by name.
void RaggedFileTest::hostileRows() {
  auto a = opened(tinyManifest()), b = opened(tinyManifest());
  live(*a);
  call(*a, "evict", {{"layer", 2}, {"ledger", {6}}, {"now", true}});
  call(*a, "saveCache", {{"path", path("good")}, {"form", "hf_tuple"}});
  const std::string before = stateHash(*b);
  const json good = Parts::of(path("good")).manifest()["rows"];
  const auto with = [&](std::size_t layer, json rows) {
    json out = good;
    out[layer] = std::move(rows);
    return out;
  };
  json unordered = good[2], twice = good[2], beyond = good[2], shorter = good[2];
  std::swap(unordered[0], unordered[1]);
  twice[1] = twice[0];
  beyond.back() = 1000;
  shorter.erase(shorter.size() - 1);
  for (const json& rows : {with(2, unordered), with(2, twice), with(2, beyond), with(2, shorter), with(2, "all"),
                           with(0, {-1}), json(7), json::array()}) {
    Parts parts = Parts::of(path("good"));
    json manifest = parts.manifest();
    manifest["rows"] = rows;
    parts.setManifest(manifest);
    parts.write(path("bad"));
    const Result<json> refused = execute(*b, "loadCache", {{"path", path("bad")}});
    QVERIFY2(!refused && refused.error().code == "bad_file", rows.dump().c_str());
    QCOMPARE(stateHash(*b), before);
  }
}

void RaggedFileTest::hfRefusesByName() {
  auto s = opened(tinyManifest({{"position", "cache"}})), heads = opened(tinyManifest({{"residency", "kv_head"}})),
       plain = opened(tinyManifest());
  QCOMPARE(codeOf(*s, "saveCache", {{"path", path("e")}, {"form", "hf_dynamic"}}), std::string("empty"));
  live(*s);
  call(*s, "evict", {{"layer", 2}, {"ledger", {6}}, {"now", true}});
  const Result<json> refused = execute(*s, "saveCache", {{"path", path("r")}, {"form", "hf_dynamic"}});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("ragged"));
  QVERIFY(refused.error().why.find("layer 2") != std::string::npos);
  QVERIFY(!QFile::exists(m_folder.filePath("r")));
  for (Session* one : {heads.get(), plain.get()}) live(*one);
  QCOMPARE(codeOf(*heads, "saveCache", {{"path", path("h")}, {"form", "hf_dynamic"}}), std::string("unsupported"));
  call(*heads, "saveCache", {{"path", path("h")}});
  QCOMPARE(codeOf(*plain, "loadCache", {{"path", path("h")}}), std::string("other_format"));
  call(*plain, "saveCache", {{"path", path("p")}});
  QCOMPARE(codeOf(*heads, "loadCache", {{"path", path("p")}}), std::string("other_format"));
  call(*plain, "saveCache", {{"path", path("p")}, {"form", "hf_dynamic"}});
  QCOMPARE(codeOf(*heads, "loadCache", {{"path", path("p")}}), std::string("other_format"));
  QCOMPARE(codeOf(*s, "saveCache", {{"path", path("r")}, {"form", "pickle"}}), std::string("bad_argument"));
  QCOMPARE(codeOf(*s, "saveCache", {{"path", path("no/such/folder/r")}}), std::string("bad_file"));
}

KV_TEST(RaggedFileTest)
#include "ragged_file_test.moc"
