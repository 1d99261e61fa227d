// SPDX-License-Identifier: Apache-2.0
// The engine against transformers, and against itself: a row has the same bits however it was made.
#include "core/model/files/safetensors.h"
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/scripted_session.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

const QString kOracleModels = QStringLiteral(KVLAB_TESTS_DIR "/oracle/models");

json manifestFor(const std::string& model, const json& more = json::object()) {
  json m{{"model", model}, {"dtype", "f32"}, {"history_bytes", 1 << 24}};
  m.update(more);
  return m;
}

const float* floats(const Safetensors& file, const std::string& name) {
  const FileTensor* tensor = file.find(name);
  return tensor ? reinterpret_cast<const float*>(tensor->bytes.data()) : nullptr;
}

/// |a - b| / |b| over all values.
double relative(const std::vector<float>& a, const float* b) {
  double diff = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    diff += std::pow(double(a[i]) - b[i], 2);
    norm += std::pow(double(b[i]), 2);
  }
  return std::sqrt(diff / std::max(norm, 1e-30));
}

/// All rows of all layers, as stored, in context order.
std::vector<float> allRows(Session& s) {
  std::vector<float> out;
  for (int layer = 0; layer < s.cacheLayers().layers; ++layer)
    for (int i = 0; i < static_cast<int>(s.state().map(CacheLayer(layer)).size()); ++i)
      for (const char* which : {"k", "v"})
        for (float x :
             call(s, "row", {{"layer", layer}, {"index", i}, {"which", which}})["data"].get<std::vector<float>>())
          out.push_back(x);
  return out;
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

class EngineTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void transformersParity_data();
  void transformersParity();
  void bitEquality_data();
  void bitEquality();
  void rebuildMendsAnEdit();
  void step4Capture_data();
  void step4Capture();
  void undoRestoresEveryHash_data();
  void undoRestoresEveryHash();
};

void EngineTest::transformersParity_data() {
  QTest::addColumn<QString>("directory");
  QTest::addColumn<bool>("pairs");
  for (const QString& name : QDir(kOracleModels).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
    for (const bool pairs : {false, true})
      QTest::newRow(qPrintable(name + (pairs ? ", portable-bf16" : ""))) << kOracleModels + "/" + name << pairs;
}

void EngineTest::transformersParity() {
  QFETCH(QString, directory);
  QFETCH(bool, pairs);
  Result<Safetensors> golden = Safetensors::open(directory.toStdString() + "/golden.safetensors");
  QVERIFY(golden);
  auto s =
      opened(manifestFor(directory.toStdString(), {{"capacity", 128}, {"numerics", pairs ? "portable-bf16" : ""}}));
  const FileTensor* ids = golden->find("input_ids");
  QVERIFY(ids);
  std::vector<std::int64_t> tokens(ids->bytes.size() / sizeof(std::int64_t));
  std::memcpy(tokens.data(), ids->bytes.data(), ids->bytes.size());
  const auto n = static_cast<int>(tokens.size());
  // All but the last in one pass, the last by a decode step: both paths meet the golden. If every length has
  // frequencies of its own, the rows before a step belong to another length.
  const bool whole = s->model().config().ropes.front().kind == Rope::Kind::Dynamic;
  call(*s, "promptIds", {{"ids", std::vector<std::int64_t>(tokens.begin(), tokens.end() - (whole ? 0 : 1))}});
  if (!whole) call(*s, "step", {{"tokens", {tokens.back()}}});

  double worst = 0;
  const std::vector<float> logits = call(*s, "logits").get<std::vector<float>>();
  const float* goldenLogits = floats(*golden, "logits");
  worst = relative(logits, goldenLogits + static_cast<std::size_t>(n - 1) * logits.size());
  const int width = s->model().config().headDim, heads = s->model().config().kvHeads;
  for (int layer = 0; layer < s->cacheLayers().layers; ++layer)
    for (const char* which : {"k", "v"}) {
      const float* rows = floats(*golden, std::string(which) + "." + std::to_string(layer));  // [kvHeads, T, headDim]
      QVERIFY(rows);
      for (int i = 0; i < n; ++i) {
        const std::vector<float> row =
            call(*s, "row", {{"layer", layer}, {"index", i}, {"which", which}, {"rotated", true}})["data"]
                .get<std::vector<float>>();
        std::vector<float> wanted;
        for (int h = 0; h < heads; ++h)
          wanted.insert(wanted.end(), rows + (h * n + i) * width, rows + (h * n + i + 1) * width);
        worst = std::max(worst, relative(row, wanted.data()));
      }
    }
  const bool rounded = pairs && s->model().dtype() == kernels::DType::bf16;
  const bool experts = s->model().config().experts > 0;  // a rounded score may choose another one
  const double limit = rounded ? experts ? 0.5 : 2e-2 : 1e-5;
  qInfo("%s: largest relative error %.2e (limit %g)", qPrintable(QDir(directory).dirName()), worst, limit);
  QVERIFY(worst < limit);
  QCOMPARE(worst > 1e-4, rounded);
}

void EngineTest::bitEquality_data() {
  QTest::addColumn<QString>("type");
  QTest::addColumn<QString>("position");
  QTest::addColumn<QString>("numerics");
  QTest::addColumn<QString>("weights");
  for (const char* type : {"f32", "bf16", "f16"})
    for (const char* position : {"context", "absolute", "cache"})
      QTest::newRow(qPrintable(QString("%1 %2").arg(type, position))) << type << position << ""
                                                                      << "";
  QTest::newRow("portable-bf16") << "bf16"
                                 << "context"
                                 << "portable-bf16"
                                 << "";
  QTest::newRow("int8 weights") << "f16"
                                << "context"
                                << ""
                                << "int8";
}

void EngineTest::bitEquality() {
  QFETCH(QString, type);
  QFETCH(QString, position);
  QFETCH(QString, numerics);
  QFETCH(QString, weights);
  const std::vector<int> ids = someIds(150, 256, 7);
  const auto manifest = [&](int threads, int chunk) {
    return manifestFor("synthetic:tiny:dtype=bf16",
                       {{"dtype", type.toStdString()},
                        {"numerics", numerics.toStdString()},
                        {"weights", weights.toStdString()},
                        {"position", position.toStdString()},
                        {"threads", threads},
                        {"prefill_chunk", chunk}});
  };
  auto oneShot = opened(manifest(1, 256));
  call(*oneShot, "promptIds", {{"ids", ids}});
  const std::vector<float> rows = allRows(*oneShot);
  const std::vector<float> logits = call(*oneShot, "logits").get<std::vector<float>>();

  auto chunked = opened(manifest(2, 7));
  call(*chunked, "promptIds", {{"ids", ids}});
  QVERIFY(sameBits(allRows(*chunked), rows));

  auto decoded = opened(manifest(2, 256));
  call(*decoded, "promptIds", {{"ids", {ids[0]}}});
  call(*decoded, "step", {{"tokens", std::vector<int>(ids.begin() + 1, ids.end())}});
  QVERIFY(sameBits(allRows(*decoded), rows));
  QVERIFY(sameBits(call(*decoded, "logits").get<std::vector<float>>(), logits));

  call(*decoded, "rebuild");
  QVERIFY(sameBits(allRows(*decoded), rows));
  QVERIFY(sameBits(call(*decoded, "logits").get<std::vector<float>>(), logits));
  const json drift = call(*chunked, "drift");
  QCOMPARE(drift["kl"].get<double>(), 0.0);
  QVERIFY(drift["worst"].is_null());
}

void EngineTest::rebuildMendsAnEdit() {
  auto s = opened(manifestFor("synthetic:tiny"));
  call(*s, "promptIds", {{"ids", someIds(90, 256, 3)}});
  call(*s, "inject",
       {{"actions",
         {{{"action", "replace_pair"}, {"original_pos1", 20}, {"original_pos2", 21}, {"new_token_ids", {5, 6, 7}}}}}});
  call(*s, "apply");
  const json drift = call(*s, "drift");
  QCOMPARE(drift["k"][0].get<double>(), 0.0);  // layer 0 depends on the token alone
  QVERIFY(drift["k"][1].get<double>() > 0);
  const json rows = call(*s, "rows", {{"layer", 3}});
  QCOMPARE(rows[10]["exactness"].get<std::string>(), std::string("exact"));
  QCOMPARE(rows[20]["exactness"].get<std::string>(), std::string("exact"));
  QCOMPARE(rows[40]["exactness"].get<std::string>(), std::string("context-edited"));
  call(*s, "rebuild");
  QVERIFY(call(*s, "drift")["worst"].is_null());

  auto fresh = opened(manifestFor("synthetic:tiny"));
  call(*fresh, "promptIds", {{"ids", call(*s, "tokens")}});
  QVERIFY(sameBits(allRows(*fresh), allRows(*s)));
  for (const json& row : call(*s, "rows", {{"layer", 3}}))
    QCOMPARE(row["exactness"].get<std::string>(), std::string("exact"));
}

void EngineTest::step4Capture_data() {
  QTest::addColumn<QString>("executor");
  QTest::addColumn<QString>("layout");
  for (const char* executor : {"batch", "descending"})
    for (const char* layout : {"indirection", "contiguous_splice"})
      QTest::newRow(qPrintable(QString("%1 %2").arg(executor, layout))) << executor << layout;
}

/// Document 000's captured list: 862 rows, two pairs to one token each, one add.
void EngineTest::step4Capture() {
  QFETCH(QString, executor);
  QFETCH(QString, layout);
  auto s =
      opened(manifestFor("synthetic:tiny", {{"executor", executor.toStdString()}, {"layout", layout.toStdString()}}));
  const std::vector<int> ids = someIds(862, 256, 11);
  call(*s, "promptIds", {{"ids", ids}});
  call(*s, "inject",
       {{"actions",
         {{{"action", "replace_pair"}, {"original_pos1", 48}, {"original_pos2", 49}, {"new_token_ids", {131}}},
          {{"action", "replace_pair"}, {"original_pos1", 61}, {"original_pos2", 62}, {"new_token_ids", {66}}},
          {{"action", "add"}, {"token_id", 13}}}}});
  const json report = call(*s, "apply");
  QVERIFY(report["violations"].empty());
  std::vector<int> wanted = ids;
  wanted[61] = 66;
  wanted.erase(wanted.begin() + 62);
  wanted[48] = 131;
  wanted.erase(wanted.begin() + 49);
  wanted.push_back(13);
  QCOMPARE(call(*s, "length").get<int>(), 861);
  QCOMPARE(call(*s, "tokens").get<std::vector<int>>(), wanted);
  const std::vector<int> map = call(*s, "pos2ledger").get<std::vector<int>>();
  QCOMPARE(map[48], 862);
  QCOMPARE(map[60], 863);
  QCOMPARE(map[860], 864);
  QCOMPARE(call(*s, "ledger", {{"id", 862}})["parents"].get<std::vector<int>>(), (std::vector<int>{48, 49}));
  QCOMPARE(call(*s, "ledger", {{"id", 48}})["state"].get<std::string>(), std::string("replaced"));
  const json rows = call(*s, "rows", {{"layer", 2}});
  for (std::size_t i = 0; i < rows.size(); ++i) QCOMPARE(rows[i]["phase"].get<double>(), double(i));
  const json drift = call(*s, "drift");
  QCOMPARE(drift["k"][0].get<double>(), 0.0);
  QVERIFY(drift["v"][3].get<double>() > 0);
  for (const json& invariant : call(*s, "invariants")) QVERIFY2(invariant["ok"].get<bool>(), invariant.dump().c_str());
}

void EngineTest::undoRestoresEveryHash_data() {
  QTest::addColumn<QString>("layout");
  QTest::addColumn<int>("history");
  QTest::newRow("kept rows") << "indirection" << (1 << 24);
  QTest::newRow("re-executed") << "indirection" << 0;
  QTest::newRow("in place") << "contiguous_splice" << (1 << 24);
}

void EngineTest::undoRestoresEveryHash() {
  QFETCH(QString, layout);
  QFETCH(int, history);
  auto s = opened(manifestFor("synthetic:tiny", {{"layout", layout.toStdString()}, {"history_bytes", history}}));
  std::vector<std::string> hashes{stateHash(*s)};
  const auto then = [&](const char* verb, const json& args = json::object()) {
    call(*s, verb, args);
    hashes.push_back(stateHash(*s));
  };
  then("promptIds", {{"ids", someIds(40, 256, 5)}});
  then("step");
  call(*s, "inject",
       {{"actions",
         {{{"action", "delete"}, {"position", 4}}, {{"action", "insert"}, {"position", 9}, {"token_ids", {1, 2}}}}}});
  then("step");
  then("setBrightness", {{"ledger", 12}, {"value", 3}});
  then("rebuild");
  then("step");
  for (std::size_t i = hashes.size() - 1; i-- > 0;) {
    call(*s, "undo");
    QCOMPARE(stateHash(*s), hashes[i]);
  }
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    call(*s, "redo");
    QCOMPARE(stateHash(*s), hashes[i]);
  }
}

KV_TEST(EngineTest)
#include "engine_test.moc"
