// SPDX-License-Identifier: Apache-2.0
// A session that loads a native cache file goes on as the session that saved it, whatever statistics its policies use.
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/scripted_session.h"
#include "unit/cache_parts.h"

using namespace kvlab;
using namespace kvlab::test;

class CacheMemoryTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void nativeKeepsWhatPoliciesGoBy_data();
  void nativeKeepsWhatPoliciesGoBy();
  void policiesOfTheSessionStay();
  void nativeOfVersionOne();

 private:
  std::string path(const char* name) const { return m_folder.filePath(QString::fromUtf8(name)).toStdString(); }
  QTemporaryDir m_folder;
};

void CacheMemoryTest::nativeKeepsWhatPoliciesGoBy_data() {
  QTest::addColumn<QString>("more");
  QTest::addColumn<bool>("ends");
  for (const char* policy :
       {"h2o:budget=6,window=4", "snapkv:capacity=12", "tova:budget=10", "keydiff:capacity=9", "knorm:ratio=0.5",
        "expected_attention:capacity=10", "random:budget=6,window=3", "streaming_llm:sinks=2,window=10"})
    for (const bool ends : {true, false})
      QTest::addRow("%s%s", policy, ends ? "" : " in a prompt")
          << QString::fromStdString(json{{"policy", policy}}.dump()) << ends;
  QTest::newRow("gates") << R"({"model":"demo","residency":"layer","policy":"smartkv:sinks=2,budget=12,window=6"})"
                         << true;
  QTest::newRow("window") << R"({"layout":"ring_fused","ring":{"window":14},"policy":"snapkv:capacity=8"})" << true;
  QTest::newRow("brightness") << R"({"policy":"brightness:budget=8,window=2","brightness":{"max":40}})" << true;
}

/// Rows have left since the last pass: its logits and attention come from the file, and so do the statistics of
/// policies.
void CacheMemoryTest::nativeKeepsWhatPoliciesGoBy() {
  QFETCH(QString, more);
  QFETCH(bool, ends);
  const json manifest = tinyManifest(json::parse(more.toStdString()));
  auto a = opened(manifest), b = opened(manifest);
  call(*a, "promptIds", {{"ids", someIds(26, 200, 3)}});
  call(*a, "step", {{"n", 3}});
  if (!ends) call(*a, "prefill", {{"ids", someIds(9, 200, 4)}, {"last", false}});
  call(*b, "promptIds", {{"ids", someIds(15, 200, 9)}});
  call(*a, "saveCache", {{"path", path("p")}});
  call(*b, "loadCache", {{"path", path("p")}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  for (Session* s : {a.get(), b.get()}) {
    if (!ends) call(*s, "endPrefill");
    call(*s, "step", {{"n", 4}});
    call(*s, "promptIds", {{"ids", someIds(7, 200, 5)}});
  }
  QCOMPARE(stateHash(*b), stateHash(*a));
  QCOMPARE(call(*b, "logits"), call(*a, "logits"));
  QCOMPARE(broken(*b), QString());
}

/// The policy memory in a file is ignored by another policy.
void CacheMemoryTest::policiesOfTheSessionStay() {
  auto a = opened(tinyManifest({{"policy", "h2o:budget=6,window=4"}}));
  call(*a, "promptIds", {{"ids", someIds(26, 200, 3)}});
  call(*a, "saveCache", {{"path", path("p")}});
  for (const char* policy : {"full", "knorm:budget=5,window=3,heads=sum"}) {
    auto b = opened(tinyManifest({{"policy", policy}}));
    call(*b, "loadCache", {{"path", path("p")}});
    const bool full = std::string(policy) == "full";
    QCOMPARE(b->state().policy == nullptr, full);
    if (!full) QVERIFY(!b->state().policy->layers[0].received.map);
    call(*b, "step", {{"n", 2}});
    QCOMPARE(b->state().map(CacheLayer(0)).resident(), std::size_t(full ? 12 : 8));
    QCOMPARE(broken(*b), QString());
  }
}

/// Files without memory are read; the next tick makes logits and attention.
void CacheMemoryTest::nativeOfVersionOne() {
  auto a = opened(tinyManifest());
  live(*a);
  call(*a, "saveCache", {{"path", path("n")}});
  const Parts whole = Parts::of(path("n"));
  Parts old{json::object(), {}};
  for (const auto& [name, tensor] : whole.header.items()) {
    old.header[name] = tensor;
    if (name == "__metadata__") continue;
    const std::size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
    if (name.starts_with("next.") || name.starts_with("attention.")) {
      old.header.erase(name);
      continue;
    }
    old.header[name]["data_offsets"] = {old.data.size(), old.data.size() + end - begin};
    old.data += whole.data.substr(begin, end - begin);
  }
  json manifest = whole.manifest();
  QCOMPARE(manifest["version"], json(4));
  manifest["version"] = 1;
  manifest.erase("keep");
  manifest.erase("memory");
  old.setManifest(manifest);
  old.write(path("old"));
  auto b = opened(tinyManifest());
  call(*b, "loadCache", {{"path", path("old")}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  call(*a, "step", {{"n", 2}});
  call(*b, "step", {{"n", 2}});
  QCOMPARE(stateHash(*b), stateHash(*a));
}

KV_TEST(CacheMemoryTest)
#include "cache_memory_test.moc"
