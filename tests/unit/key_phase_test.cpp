// SPDX-License-Identifier: Apache-2.0
// key_phase at_write against on_read: the same numbers up to rounding, rows rewritten by an edit,
// and an error that grows with every shift and is reported as it is.
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/scripted_session.h"

#include <cmath>

using namespace kvlab;
using namespace kvlab::test;

namespace {

using Floats = std::vector<float>;

json atWrite(json manifest) {
  manifest["key_phase"] = "at_write";
  return manifest;
}

Floats keyOf(Session& s, int layer, int index) {
  return call(s, "row", {{"layer", layer}, {"index", index}, {"which", "k"}})["data"].get<Floats>();
}

double relativeError(const Floats& a, const Floats& b) {
  double off = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off += std::pow(double(a[i]) - b[i], 2);
    all += std::pow(double(b[i]), 2);
  }
  return std::sqrt(off / all);
}

/// Largest relative deviation of any key of b from a's.
double keysApart(Session& a, Session& b) {
  double worst = 0;
  for (int layer = 0; layer < a.cacheLayers().layers; ++layer)
    for (int i = 0; i < static_cast<int>(a.state().map(CacheLayer(layer)).size()); ++i)
      worst = std::max(worst, relativeError(keyOf(b, layer, i), keyOf(a, layer, i)));
  return worst;
}

double logitsApart(Session& a, Session& b) {
  return relativeError(call(b, "logits").get<Floats>(), call(a, "logits").get<Floats>());
}

void editFourWays(Session& s) {
  call(s, "inject",
       {{"actions",
         {{{"action", "replace_pair"}, {"original_pos1", 4}, {"original_pos2", 5}, {"new_token_ids", {7}}},
          {{"action", "delete"}, {"position", 11}},
          {{"action", "insert"}, {"position", 20}, {"token_ids", {9, 10, 11}}},
          {{"action", "add"}, {"token_id", 3}}}}});
  call(s, "apply");
}

}  // namespace

class KeyPhaseTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sameNumbers_data();
  void sameNumbers();
  void edits_data();
  void edits();
  void everyShiftCosts();
  void historyTurnsKeysBack();
  void aFailureTurnsKeysBack();
  void files();
};

void KeyPhaseTest::sameNumbers_data() {
  QTest::addColumn<QString>("model");
  for (const char* name : {"llama_tied_f32", "llama_yarn_params_f16", "llama_linear_bf16", "llama_llama3_bf16",
                           "mistral_window_f32", "qwen2_yarn_f16", "qwen3_f32"}) {
    const QString folder = QStringLiteral(KVLAB_TESTS_DIR "/oracle/models/") + name;
    QTest::newRow(name) << folder;
  }
}

void KeyPhaseTest::sameNumbers() {
  QFETCH(QString, model);
  json manifest{{"model", model.toStdString()}, {"dtype", "f32"}, {"history_bytes", 1 << 24}};
  const auto read = opened(manifest), write = opened(atWrite(manifest));
  for (Session* s : {read.get(), write.get()}) {
    call(*s, "promptIds", {{"ids", someIds(20, 60, 3)}});
    call(*s, "step", {{"n", 3}});
  }
  QVERIFY(logitsApart(*read, *write) < 1e-5);
  for (Session* s : {read.get(), write.get()}) editFourWays(*s);
  QCOMPARE(broken(*write), QString());
  QVERIFY2(keysApart(*read, *write) < 1e-5, qPrintable(QString::number(keysApart(*read, *write))));
  QVERIFY(logitsApart(*read, *write) < 1e-4);
}

void KeyPhaseTest::edits_data() {
  QTest::addColumn<QString>("more");
  for (const char* position : {"context", "cache", "absolute"})
    for (const char* executor : {"batch", "descending"})
      for (const char* after : {"keep", "recompute", "selective"})
        for (const char* layout : {"indirection", "contiguous_splice"})
          QTest::addRow("%s %s %s %s", position, executor, after, layout)
              << QStringLiteral(R"({"position":"%1","executor":"%2","after_edit":"%3","layout":"%4"})")
                     .arg(position, executor, after, layout);
}

void KeyPhaseTest::edits() {
  QFETCH(QString, more);
  const json manifest = tinyManifest(json::parse(more.toStdString()));
  const auto read = opened(manifest), write = opened(atWrite(manifest));
  for (Session* s : {read.get(), write.get()}) {
    live(*s);
    call(*s, "evict", {{"layer", 1}, {"ledger", {6}}, {"now", true}});
    editFourWays(*s);
    call(*s, "step", {{"n", 2}, {"tokens", {5, 6}}});
  }
  QCOMPARE(broken(*write), QString());
  QCOMPARE(call(*write, "tokens"), call(*read, "tokens"));
  const double keys = keysApart(*read, *write), logits = logitsApart(*read, *write);
  QVERIFY2(keys < 1e-5 && logits < 1e-4, qPrintable(QString("keys %1, logits %2").arg(keys).arg(logits)));
  call(*write, "rebuild");
  QCOMPARE(call(*write, "drift")["k"], json(std::vector<double>(write->state().layers().size(), 0.0)));
}

/// Deletes one early token a hundred times: every row behind is rewritten each time.
void KeyPhaseTest::everyShiftCosts() {
  const json manifest = tinyManifest({{"dtype", "f32"}, {"kv", {{"k", "f16"}, {"v", "f16"}}}});
  const auto read = opened(manifest), write = opened(atWrite(manifest));
  constexpr int kShifts = 100;
  for (Session* s : {read.get(), write.get()}) {
    call(*s, "promptIds", {{"ids", someIds(kShifts + 40, 200, 5)}});
    for (int i = 0; i < kShifts; ++i) {
      call(*s, "inject", {{"actions", {{{"action", "delete"}, {"position", 1}}}}});
      call(*s, "apply");
    }
  }
  const json rows = call(*write, "rows", {{"layer", 1}});
  double off = 0, bound = 0;  // largest
  for (std::size_t i = 1; i < rows.size(); ++i) {
    QCOMPARE(rows[i]["rotations"]["count"].get<int>(), kShifts);
    QCOMPARE(rows[i]["rotations"]["phases"].get<double>(), double(kShifts));
    const double apart = relativeError(keyOf(*write, 1, static_cast<int>(i)), keyOf(*read, 1, static_cast<int>(i)));
    const double atMost = rows[i]["rotations"]["error"].get<double>();
    QVERIFY2(apart <= atMost && apart > atMost / 10,
             qPrintable(QString("off by %1, at most %2").arg(apart).arg(atMost)));
    off = std::max(off, apart);
    bound = std::max(bound, atMost);
  }
  QVERIFY(off > 1e-3);
  qInfo("f16 keys after %d shifts: off by up to %.2e, bound %.2e", kShifts, off, bound);
  QVERIFY(call(*read, "rows", {{"layer", 1}})[5]["rotations"].is_null());
  call(*write, "rebuild");
  QCOMPARE(call(*write, "rows", {{"layer", 1}})[5]["rotations"]["count"].get<int>(), 0);
}

void KeyPhaseTest::historyTurnsKeysBack() {
  const auto s = opened(atWrite(tinyManifest()));
  live(*s);
  const std::string before = stateHash(*s);
  editFourWays(*s);
  const std::string after = stateHash(*s);
  call(*s, "undo");
  QCOMPARE(stateHash(*s), before);
  call(*s, "redo");
  QCOMPARE(stateHash(*s), after);
}

/// A pass that fails after the keys have turned brings the old keys back.
void KeyPhaseTest::aFailureTurnsKeysBack() {
  const auto s = opened(atWrite(tinyManifest({{"faults", true}})));
  live(*s);
  call(*s, "inject",
       {{"actions",
         {{{"action", "delete"}, {"position", 2}}, {{"action", "insert"}, {"position", 20}, {"token_ids", {4}}}}}});
  const std::string before = stateHash(*s);
  call(*s, "fault", {{"kind", "kernel"}, {"n", 1}});
  QCOMPARE(codeOf(*s, "apply"), std::string("fault"));
  QCOMPARE(stateHash(*s), before);
  QCOMPARE(broken(*s), QString());
}

void KeyPhaseTest::files() {
  QTemporaryDir folder;
  const std::string path = folder.filePath("cache.safetensors").toStdString();
  const auto write = opened(atWrite(tinyManifest())), read = opened(tinyManifest()),
             again = opened(atWrite(tinyManifest()));
  for (Session* s : {write.get(), read.get()}) live(*s);
  QCOMPARE(codeOf(*write, "saveCache", {{"path", path}, {"form", "native"}}), std::string("other_format"));
  call(*write, "saveCache", {{"path", path}, {"form", "hf_dynamic"}});
  call(*again, "loadCache", {{"path", path}});
  QVERIFY(keysApart(*write, *again) < 1e-5);
  call(*read, "loadCache", {{"path", path}});
  QVERIFY(keysApart(*write, *read) < 1e-5);
  QVERIFY(logitsApart(*write, *read) < 1e-4);
  call(*read, "saveCache", {{"path", path}, {"form", "native"}});
  QCOMPARE(codeOf(*again, "loadCache", {{"path", path}}), std::string("other_format"));
}

KV_TEST(KeyPhaseTest)
#include "key_phase_test.moc"
