// SPDX-License-Identifier: Apache-2.0
// Cache files: saved states come back, hostile files change nothing.
#include "support/scripted_session.h"

#include <cmath>
#include <limits>

#include "core/files/cache_file.h"
#include "core/files/key_rotation.h"
#include "core/model/decoder/rotary.h"
#include "core/session/import_rows.h"
#include "core/session/truth.h"
#include "core/verbs/cache_session.h"
#include "support/runner.h"
#include "unit/cache_parts.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

/// Largest distance of a key pair or a value, in units of rounding of the pair's length.
struct Distance {
  double key = 0, value = 0;
};

std::vector<float> rowOf(Session& s, int layer, int index, const char* which) {
  return call(s, "row", {{"layer", layer}, {"index", index}, {"which", which}})["data"].get<std::vector<float>>();
}

Distance distance(Session& a, Session& b, double unit) {
  Distance out;
  const int all = a.model().config().headDim, half = all / 2;
  const std::vector<std::int32_t> order = engineOrder(a.model().config());  // pairs turn there
  const auto placeOf = [&](std::size_t x) {
    return order.empty() ? x : x / at(all) * at(all) + at(order[x % at(all)]);
  };
  for (int layer = 0; layer < a.cacheLayers().layers; ++layer)
    for (int i = 0; i < a.state().length(); ++i) {
      const auto ka = rowOf(a, layer, i, "k"), kb = rowOf(b, layer, i, "k"), va = rowOf(a, layer, i, "v"),
                 vb = rowOf(b, layer, i, "v");
      for (std::size_t x = 0; x < va.size(); ++x) out.value = std::max(out.value, double(std::abs(va[x] - vb[x])));
      for (std::size_t low = 0; low < ka.size(); ++low) {
        const int place = static_cast<int>(low) % all;
        const std::size_t x = placeOf(low);
        if (place == 2 * half && ka[x] != kb[x]) out.key = INFINITY;  // without a partner: not turned, not rounded
        if (place >= half) continue;
        const std::size_t y = placeOf(low + at(half));
        out.key = std::max(
            out.key, std::hypot(double(ka[x] - kb[x]), double(ka[y] - kb[y])) / (unit * std::hypot(ka[x], ka[y])));
      }
    }
  return out;
}

}  // namespace

class CacheFileTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void rotationHasItsInverse_data();
  void rotationHasItsInverse();
  void nativeRestoresEverything_data();
  void nativeRestoresEverything();
  void nativeKeepsPendingActions();
  void nativeIsBoundToItsSession();
  void nativeKnowsWindows();
  void nativeAsOneCommit_data();
  void nativeAsOneCommit();
  void hfFormsComeBack_data();
  void hfFormsComeBack();
  void hfReplacesContent();
  void hfPositions();
  void devicesHaveNoSize();
  void hfSaysThatRowsWereEdited();
  void hostileHf_data();
  void hostileHf();
  void hostileNative_data();
  void hostileNative();
  void refusesWhatAttentionCannotTake();
  void damagedBytes_data();
  void damagedBytes();
  void changedFileIsNotReplayed();

 private:
  std::string path(const char* name) const { return m_folder.filePath(QString::fromUtf8(name)).toStdString(); }
  QTemporaryDir m_folder;
};

void CacheFileTest::rotationHasItsInverse_data() {
  QTest::addColumn<int>("kind");
  QTest::newRow("none") << int(Rope::Kind::Default);
  QTest::newRow("linear") << int(Rope::Kind::Linear);
  QTest::newRow("llama3") << int(Rope::Kind::Llama3);
  QTest::newRow("yarn") << int(Rope::Kind::Yarn);
}

void CacheFileTest::rotationHasItsInverse() {
  QFETCH(int, kind);
  ModelConfig config;
  config.headDim = 16;
  config.maxPositions = 64;
  Rope& rope = config.ropes.front();
  rope.kind = static_cast<Rope::Kind>(kind);
  rope.factor = 4;
  rope.originalMaxPosition = 32;
  rope.attentionFactor = 1.3;
  const KeyRotation rotation(config, Layer(0), 0);
  Rotary table(config);
  std::vector<double> x(32), y;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i) * 1.7 + 0.3);
  for (std::int32_t phase : {0, 1, 37, 63}) {
    y = x;
    rotation.rotate(phase, 2, y.data());
    const float* row = table.data() + table.index(Phase(phase)) * 16;
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t w = i % 8, low = i - i % 16 + w;
      const double want =
          i % 16 < 8 ? x[low] * row[w] - x[low + 8] * row[8 + w] : x[low + 8] * row[w] + x[low] * row[8 + w];
      QVERIFY2(std::abs(y[i] - want) < 3e-7, "not what the attention kernel's table says");
    }
    rotation.unrotate(phase, 2, y.data());
    for (std::size_t i = 0; i < 32; ++i) QVERIFY(std::abs(y[i] - x[i]) < 1e-14);
  }
}

void CacheFileTest::nativeRestoresEverything_data() {
  QTest::addColumn<QString>("more");
  QTest::addColumn<bool>("ragged");
  QTest::newRow("f32") << "{}" << false;
  QTest::newRow("ragged") << "{}" << true;
  QTest::newRow("bf16") << R"({"dtype":"bf16"})" << true;
  QTest::newRow("k f16, v f32") << R"({"kv":{"k":"f16","v":"f32"}})" << false;
  QTest::newRow("absolute") << R"({"position":"absolute"})" << true;
  QTest::newRow("cache") << R"({"position":"cache"})" << true;
  QTest::newRow("sampled") << R"({"sampling":{"temperature":1.2,"top_k":50,"seed":9}})" << false;
  QTest::newRow("contiguous") << R"({"layout":"contiguous_splice"})" << true;
  QTest::newRow("recompute") << R"({"after_edit":"recompute"})" << true;
  QTest::newRow("int8") << R"({"kv":{"k":"int8","v":"int8"}})" << true;
  QTest::newRow("fp8") << R"({"kv":{"k":"f16","v":"fp8-e4m3"}})" << false;
  QTest::newRow("mixed")
      << R"({"kv":{"k":"f16","v":"int8"},"layers":[{"match":0,"kv":{"k":"f32","v":"f32"}},{"match":2,"layout":"contiguous_splice"}]})"
      << true;
  QTest::newRow("ring") << R"({"layout":"ring_fused","ring":{"window":9}})" << false;
  QTest::newRow("window")
      << R"({"layers":[{"match":1,"layout":"ring_pointer","window":8,"kv":{"k":"f16","v":"int8"}}]})" << false;
  QTest::newRow("culling") << R"({"brightness":{"target":20,"compressor":"nearest","min_cosine":-1}})" << false;
}

void CacheFileTest::nativeRestoresEverything() {
  QFETCH(QString, more);
  QFETCH(bool, ragged);
  const json manifest = tinyManifest(json::parse(more.toStdString()));
  auto a = opened(manifest), b = opened(manifest);
  live(*a);
  if (ragged) {
    call(*a, "evict", {{"layer", 1}, {"ledger", {6, 8}}, {"now", true}});
    for (int layer = 0; layer < a->cacheLayers().layers; ++layer)
      call(*a, "evict", {{"layer", layer}, {"ledger", {1}}, {"now", true}});
  }
  const int windowed = a->state().map(CacheLayer(1)).first;
  QCOMPARE(windowed > 0, more.contains("window"));
  const std::string file = path("native.safetensors");
  const json saved = call(*a, "saveCache", {{"path", file}, {"form", "native"}});
  QCOMPARE(saved["rows"], json(a->state().length()));
  call(*b, "loadCache", {{"path", file}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  QCOMPARE(b->state().tick, a->state().tick);
  QCOMPARE(broken(*b), QString());
  for (int layer = 0; layer < a->cacheLayers().layers; ++layer) {
    json rowsA = call(*a, "rows", {{"layer", layer}}), rowsB = call(*b, "rows", {{"layer", layer}});
    for (json* rows : {&rowsA, &rowsB})
      for (json& row : *rows) row.erase("slot"), row.erase("exactness");  // rows of a file are loaded
    QVERIFY2(rowsA == rowsB, rowsB.dump().c_str());
  }
  for (int i = 0; i < 4; ++i) {
    call(*a, "step");
    call(*b, "step");
    QCOMPARE(stateHash(*b), stateHash(*a));
  }
  QCOMPARE(call(*b, "logits"), call(*a, "logits"));
}

void CacheFileTest::nativeKeepsPendingActions() {
  auto a = opened(tinyManifest()), b = opened(tinyManifest());
  live(*a);
  call(*a, "inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}});
  call(*a, "saveCache", {{"path", path("p")}});
  call(*b, "loadCache", {{"path", path("p")}});
  QCOMPARE(b->pending().size(), std::size_t(1));
  QCOMPARE(stateHash(*b), stateHash(*a));
  call(*a, "apply");
  call(*b, "apply");
  QCOMPARE(stateHash(*b), stateHash(*a));
}

void CacheFileTest::nativeIsBoundToItsSession() {
  auto a = opened(tinyManifest());
  live(*a);
  call(*a, "saveCache", {{"path", path("n")}});
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model":"synthetic:tiny:seed=5"})", "other_model"},
      {R"({"dtype":"f16"})", "other_format"},
      {R"({"position":"absolute"})", "other_format"},
      {R"({"layers":[{"match":1,"kv":{"k":"f16","v":"f16"}}]})", "other_format"},
      {R"({"capacity":8})", "capacity"},
      {R"({"model":"synthetic:tiny:layers=2"})", "other_model"}};
  for (const auto& [more, code] : cases) {
    auto b = opened(tinyManifest(json::parse(more)));
    call(*b, "promptIds", {{"ids", {5, 6}}});
    const std::string before = stateHash(*b);
    QCOMPARE(codeOf(*b, "loadCache", {{"path", path("n")}}), std::string(code));
    QCOMPARE(stateHash(*b), before);
  }
}

/// Rows that had left a window are not there for a session that wants them; a smaller window is served.
void CacheFileTest::nativeKnowsWindows() {
  auto a = opened(tinyManifest({{"layout", "ring_fused"}, {"ring", {{"window", 9}}}}));
  live(*a);
  QVERIFY(a->state().length() > 12);
  call(*a, "saveCache", {{"path", path("w")}});
  for (const char* more : {"{}", R"({"layout":"ring_roll","ring":{"window":10}})"}) {
    auto b = opened(tinyManifest(json::parse(more)));
    call(*b, "promptIds", {{"ids", {5, 6}}});
    const std::string before = stateHash(*b);
    QCOMPARE(codeOf(*b, "loadCache", {{"path", path("w")}}), std::string("other_format"));
    QCOMPARE(stateHash(*b), before);
  }
  auto narrow = opened(tinyManifest({{"layout", "ring_roll"}, {"ring", {{"window", 4}}}}));
  call(*narrow, "loadCache", {{"path", path("w")}});
  QCOMPARE(narrow->state().map(CacheLayer(0)).resident(), std::size_t(4));
  QCOMPARE(broken(*narrow), QString());
  call(*narrow, "step", {{"n", 3}});
  QCOMPARE(broken(*narrow), QString());
}

void CacheFileTest::nativeAsOneCommit_data() {
  QTest::addColumn<QString>("more");
  QTest::newRow("kept") << "{}";
  QTest::newRow("in place") << R"({"layout":"contiguous_splice"})";
  QTest::newRow("no room for both") << R"({"history_bytes":0,"capacity":40,"staging":8})";
}

void CacheFileTest::nativeAsOneCommit() {
  QFETCH(QString, more);
  const json manifest = tinyManifest(json::parse(more.toStdString()));
  auto a = opened(manifest), b = opened(manifest);
  live(*a, 1);
  live(*b, 2);
  call(*b, "step", {{"n", 3}});
  const std::string other = stateHash(*b);
  call(*a, "saveCache", {{"path", path("c")}});
  call(*b, "loadCache", {{"path", path("c")}});
  QCOMPARE(stateHash(*b), stateHash(*a));
  QCOMPARE(broken(*b), QString());
  call(*b, "undo");
  QCOMPARE(stateHash(*b), other);
  QCOMPARE(broken(*b), QString());
  call(*b, "redo");
  QCOMPARE(stateHash(*b), stateHash(*a));
  call(*a, "step");
  call(*b, "step");
  QCOMPARE(stateHash(*b), stateHash(*a));
  QCOMPARE(broken(*b), QString());
}

void CacheFileTest::hfFormsComeBack_data() {
  QTest::addColumn<QString>("form");
  QTest::addColumn<QString>("more");
  QTest::addColumn<double>("unit");
  for (const char* form : {"hf_tuple", "hf_dynamic"}) {
    QTest::addRow("%s f32", form) << form << "{}" << 0x1p-24;
    QTest::addRow("%s f16", form) << form << R"({"dtype":"f16"})" << 0x1p-11;
    QTest::addRow("%s bf16", form) << form << R"({"dtype":"bf16"})" << 0x1p-8;
    QTest::addRow("%s mixed", form) << form << R"({"kv":{"k":"f16","v":"f32"}})" << 0x1p-11;
    QTest::addRow("%s absolute", form) << form << R"({"position":"absolute"})" << 0x1p-24;
  }
  for (const QString& name :
       QDir(QStringLiteral(KVLAB_TESTS_DIR "/oracle/models")).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
    const std::string model = KVLAB_TESTS_DIR "/oracle/models/" + name.toStdString();
    QTest::addRow("%s", qPrintable(name))
        << "hf_dynamic" << QString::fromStdString(json{{"model", model}}.dump()) << 0x1p-24;
  }
}

void CacheFileTest::hfFormsComeBack() {
  QFETCH(QString, form);
  QFETCH(QString, more);
  QFETCH(double, unit);
  const json manifest = tinyManifest(json::parse(more.toStdString()));
  auto a = opened(manifest), b = opened(manifest);
  const int vocab = a->model().config().vocab;
  call(*a, "promptIds", {{"ids", someIds(24, vocab, 3)}});
  call(*a, "inject", {{"actions", {{{"action", "delete"}, {"position", 5}}, {{"action", "add"}, {"token_id", 8}}}}});
  call(*a, "apply");
  call(*a, "saveCache", {{"path", path("hf")}, {"form", form.toStdString()}});
  call(*b, "loadCache", {{"path", path("hf")}});
  QCOMPARE(call(*b, "tokens"), call(*a, "tokens"));
  QCOMPARE(b->state().map(CacheLayer(0)).phases.size(), a->state().map(CacheLayer(0)).phases.size());
  for (std::size_t i = 0; i < a->state().context.size(); ++i) QCOMPARE(b->state().phases[i], a->state().phases[i]);
  const Distance d = distance(*a, *b, unit);
  qInfo("largest key distance %.2f u, value distance %g", d.key, d.value);
  QVERIFY(d.key <= 3);
  QCOMPARE(d.value, 0.0);
  QCOMPARE(d.key > 0, !more.contains("\"kv\""));  // f16 keys in an f32 file lose nothing
  QCOMPARE(broken(*b), QString());
  call(*b, "step", {{"n", 2}});
  QCOMPARE(broken(*b), QString());
}

void CacheFileTest::hfReplacesContent() {
  auto a = opened(tinyManifest()), b = opened(tinyManifest({{"brightness", {{"start", {{"file", 99}}}}}}));
  live(*a, 1);
  live(*b, 2);
  const std::string before = stateHash(*b);
  const auto ledgerBefore = static_cast<std::int32_t>(b->state().ledger.size());
  call(*a, "saveCache", {{"path", path("hf")}, {"form", "hf_tuple"}});
  call(*b, "loadCache", {{"path", path("hf")}});
  QCOMPARE(b->state().context[0].value(), ledgerBefore);
  QCOMPARE(call(*b, "ledger", {{"id", ledgerBefore}})["source"], json("file"));
  QCOMPARE(call(*b, "ledger", {{"id", ledgerBefore}})["brightness"], json(99.0));
  QCOMPARE(call(*b, "ledger", {{"id", 0}})["state"], json("deleted"));
  call(*b, "undo");
  QCOMPARE(stateHash(*b), before);
}

void CacheFileTest::hfPositions() {
  auto a = opened(tinyManifest({{"position", "absolute"}})), b = opened(tinyManifest()),
       c = opened(tinyManifest({{"position", "cache"}}));
  call(*a, "promptIds", {{"ids", someIds(12, 200, 4)}});
  call(*a, "inject", {{"actions", {{{"action", "delete"}, {"position", 5}}}}});
  call(*a, "apply");
  call(*a, "saveCache", {{"path", path("gap")}, {"form", "hf_dynamic"}});
  QCOMPARE(Parts::of(path("gap")).manifest()["position_ids"], json({0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11}));
  for (Session* s : {b.get(), c.get()}) {
    const Result<json> refused = execute(*s, "loadCache", {{"path", path("gap")}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("bad_positions"));
    QVERIFY(refused.error().remedy.find("absolute") != std::string::npos);
  }
}

void CacheFileTest::devicesHaveNoSize() {
  auto a = opened(tinyManifest());
  call(*a, "promptIds", {{"ids", someIds(12, 200, 4)}});
  for (const char* form : {"native", "hf_dynamic"}) {
    const json there = call(*a, "saveCache", {{"path", path("sized")}, {"form", form}});
    const json gone = call(*a, "saveCache", {{"path", "/dev/null"}, {"form", form}});
    QCOMPARE(there["bytes"], json(QFileInfo(QString::fromStdString(path("sized"))).size()));
    QCOMPARE(gone["bytes"], there["bytes"]);
  }
}

void CacheFileTest::hfSaysThatRowsWereEdited() {
  auto a = opened(tinyManifest()), b = opened(tinyManifest());
  call(*a, "promptIds", {{"ids", someIds(12, 200, 4)}});
  call(*a, "saveCache", {{"path", path("clean")}, {"form", "hf_dynamic"}});
  live(*a);
  call(*a, "saveCache", {{"path", path("edited")}, {"form", "hf_dynamic"}});
  call(*b, "loadCache", {{"path", path("clean")}});
  QCOMPARE(call(*b, "rows", {{"layer", 3}})[7]["exactness"], json("loaded"));
  call(*b, "loadCache", {{"path", path("edited")}});
  QCOMPARE(call(*b, "rows", {{"layer", 3}})[7]["exactness"], json("context-edited"));
  QCOMPARE(call(*b, "rows", {{"layer", 3}})[0]["exactness"], json("context-edited"));  // the file does not say which
}

void CacheFileTest::hostileHf_data() {
  QTest::addColumn<QString>("pointer");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("code");
  const char* const bad[][4] = {
      {"format", "/format", "\"kvlab\"", "bad_file"},
      {"version", "/version", "2", "bad_file"},
      {"version text", "/version", "\"1\"", "bad_file"},
      {"form", "/form", "\"pickle\"", "bad_file"},
      {"form type", "/form", "7", "bad_file"},
      {"dtype", "/dtype", "\"float64\"", "bad_file"},
      {"other dtype", "/dtype", "\"float16\"", "bad_file"},
      {"no model", "/model", "null", "bad_file"},
      {"type", "/model/model_type", "\"mistral\"", "other_model"},
      {"layers", "/model/num_hidden_layers", "3", "other_model"},
      {"heads", "/model/num_key_value_heads", "4", "other_model"},
      {"dim", "/model/head_dim", "8", "other_model"},
      {"theta", "/model/rope_theta", "500000.0", "other_model"},
      {"theta text", "/model/rope_theta", "\"x\"", "other_model"},
      {"no ids", "/input_ids", "[]", "bad_file"},
      {"ids type", "/input_ids", "\"1, 2\"", "bad_file"},
      {"big id", "/input_ids/3", "256", "bad_file"},
      {"negative id", "/input_ids/3", "-1", "bad_file"},
      {"real id", "/input_ids/3", "1.5", "bad_file"},
      {"huge id", "/input_ids/3", "18446744073709551615", "bad_file"},
      {"positions fall", "/position_ids/3", "2", "bad_file"},
      {"positions long", "/position_ids/12", "12", "bad_file"},
      {"positions huge", "/position_ids/11", "2147483648", "bad_file"},
      {"gap", "/position_ids/11", "12", "bad_positions"},
      {"edited", "/edited", "3", "bad_file"},
      {"rounded", "/rounded", "{}", "bad_file"},
      {"rounded in no layer", "/rounded", "[]", "bad_file"},
      {"rounded less", "/rounded/1", "[0, 0, 0]", "bad_file"},
      {"rounded below 0", "/rounded/1/2", "-1", "bad_file"},
      {"rounded beyond all", "/rounded/1/2", "1e30", "bad_file"},
      {"rounded text", "/rounded/1/2", "\"0\"", "bad_file"},
  };
  for (const auto& row : bad) QTest::newRow(row[0]) << row[1] << row[2] << row[3];
}

void CacheFileTest::hostileHf() {
  QFETCH(QString, pointer);
  QFETCH(QString, value);
  QFETCH(QString, code);
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", someIds(12, 200, 4)}});
  call(*s, "saveCache", {{"path", path("h")}, {"form", "hf_dynamic"}});
  Parts parts = Parts::of(path("h"));
  json manifest = parts.manifest();
  manifest[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
  parts.setManifest(manifest);
  parts.write(path("bad"));
  const std::string before = stateHash(*s);
  const Result<json> refused = execute(*s, "loadCache", {{"path", path("bad")}});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, code.toStdString());
  QVERIFY(refused.error().text().find(path("bad")) != std::string::npos);
  QCOMPARE(stateHash(*s), before);
  QVERIFY(s->timeline().size() == 2);
}

void CacheFileTest::hostileNative_data() {
  QTest::addColumn<QString>("tensor");
  QTest::addColumn<int>("i");
  QTest::addColumn<int>("size");
  QTest::addColumn<qlonglong>("value");
  const auto row = [](const char* name, const char* tensor, int i, int size, qlonglong value) {
    QTest::newRow(name) << tensor << i << size << value;
  };
  row("token", "ledger.token", 3, 4, 256);
  row("kind", "ledger.flags", 4 * 3, 1, 1);
  row("state", "ledger.flags", 4 * 3 + 1, 1, 9);
  row("dead in context", "ledger.flags", 4 * 3 + 1, 1, 2);
  row("live outside", "ledger.flags", 4 * 4 + 1, 1, 0);
  row("source", "ledger.flags", 4 * 3 + 2, 1, 6);
  row("pin", "ledger.flags", 4 * 3 + 3, 1, 2);
  row("brightness", "ledger.brightness", 2, 4, 0x7f800000);
  row("born late", "ledger.ticks", 2, 8, 1000);
  row("birth phase", "ledger.birth_phases", 2, 4, -1);
  row("parent", "ledger.parents", 0, 4, 99);
  row("other parent", "ledger.parents", 0, 4, 2);
  row("parent ends", "ledger.parent_ends", 3, 4, 40);
  row("parent ends fall", "ledger.parent_ends", 29, 4, 0);
  row("child", "ledger.children", 0, 4, -7);
  row("context", "context.ledger", 2, 4, 1 << 30);
  row("context twice", "context.ledger", 2, 4, 1);
  row("context swapped", "context.ledger", 2, 4, 4);
  row("phase", "context.phases", 2, 4, 5);
  row("context brightness", "context.brightness", 2, 4, 0x7fc00000);
  row("map", "groups.0.ledger", 2, 4, -1);
  row("logits", "next.logits", 2, 4, 0x7fc00000);
  row("attention", "attention.3.mass", 2, 4, 0x7fc00000);
  row("attention to nobody", "attention.3.ledger", 2, 4, 1 << 20);
  row("map order", "groups.0.ledger", 2, 4, 1);
  row("map phase", "groups.0.phases", 2, 4, 3);
  row("row value", "rows.1", 100, 1, 77);
  row("row tag", "rows.1", 256 - 16, 1, 77);
}

void CacheFileTest::hostileNative() {
  QFETCH(QString, tensor);
  QFETCH(int, i);
  QFETCH(int, size);
  QFETCH(qlonglong, value);
  auto s = opened(tinyManifest());
  live(*s);
  call(*s, "saveCache", {{"path", path("n")}});
  Parts parts = Parts::of(path("n"));
  const std::size_t at =
      parts.offset(tensor.toStdString()) + static_cast<std::size_t>(i) * static_cast<std::size_t>(size);
  std::memcpy(parts.data.data() + at, &value, static_cast<std::size_t>(size));
  parts.write(path("bad"));
  const std::string before = stateHash(*s);
  const Result<json> refused = execute(*s, "loadCache", {{"path", path("bad")}});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("bad_file"));
  QVERIFY2(refused.error().why.find("tensor \"") == 0, refused.error().text().c_str());
  QCOMPARE(stateHash(*s), before);
}

/// One enormous value is finite, and makes every logit not-a-number.
void CacheFileTest::refusesWhatAttentionCannotTake() {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", someIds(12, 200, 4)}});
  call(*s, "saveCache", {{"path", path("h")}, {"form", "hf_dynamic"}});
  const std::string before = stateHash(*s);
  for (const char* tensor : {"past_key_values.1.key", "past_key_values.2.value"})
    for (const float value : {3e38f, -2e18f, std::numeric_limits<float>::quiet_NaN()}) {
      Parts parts = Parts::of(path("h"));
      parts.poke(tensor, 17, value);
      parts.write(path("bad"));
      const Result<json> refused = execute(*s, "loadCache", {{"path", path("bad")}});
      QVERIFY(!refused);
      QCOMPARE(refused.error().code, std::string("bad_file"));
      QVERIFY2(refused.error().why.find(tensor) != std::string::npos, refused.error().text().c_str());
      QCOMPARE(stateHash(*s), before);
      parts.poke(tensor, 17, 1e17f);
      parts.write(path("large"));
      QVERIFY(execute(*s, "loadCache", {{"path", path("large")}}));
      call(*s, "undo");
    }
}

void CacheFileTest::damagedBytes_data() {
  QTest::addColumn<QString>("form");
  QTest::newRow("native") << "native";
  QTest::newRow("hf_dynamic") << "hf_dynamic";
}

/// Cut anywhere it is refused; with a byte changed it is refused, or it is a cache that obeys every invariant but two:
/// its rows and logits need not be those of its tokens.
void CacheFileTest::damagedBytes() {
  QFETCH(QString, form);
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", {4, 5, 6}}});
  call(*s, "saveCache", {{"path", path("d")}, {"form", form.toStdString()}});
  const std::string whole = readAll(path("d"));
  const CacheTarget target = cacheTarget(*s);
  QVERIFY(parseCache(bytesOf(whole), "f", target));
  for (std::size_t n = 0; n < whole.size(); n += n < 4000 ? 1 : 97) {
    const Result<CacheImport> cut = parseCache(bytesOf(whole.substr(0, n)), "f", target);
    QVERIFY2(!cut && cut.error().code == "bad_file", std::to_string(n).c_str());
  }
  int accepted = 0;
  for (std::size_t n = 0; n < std::min<std::size_t>(whole.size(), 6000); n += 3) {
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ (1 << (n % 7)));
    const Result<CacheImport> rows = parseCache(bytesOf(changed), "f", target);
    if (!rows) continue;
    ++accepted;
    QVERIFY(importRows(*s, *rows, false));
    for (const InvariantState& one : s->check(true))
      QVERIFY2(one.ok || one.id == "exact_rows" || one.id == "next_logits",
               (std::string(one.id) + ": " + one.detail).c_str());
    call(*s, "undo");
  }
  qInfo("%d changed files were caches too", accepted);
}

void CacheFileTest::changedFileIsNotReplayed() {
  auto a = opened(tinyManifest());
  auto s = opened(tinyManifest({{"history_bytes", 0}}));  // undo executes again
  live(*a);
  call(*a, "saveCache", {{"path", path("x")}, {"form", "hf_dynamic"}});
  call(*s, "loadCache", {{"path", path("x")}});
  call(*s, "step", {{"n", 2}});
  call(*s, "undo");
  QCOMPARE(s->state().tick, Tick(2));
  const std::string before = stateHash(*s);
  call(*a, "step");
  call(*a, "saveCache", {{"path", path("x")}, {"form", "hf_dynamic"}});
  QCOMPARE(codeOf(*s, "undo"), std::string("file_changed"));
  QCOMPARE(stateHash(*s), before);
  QCOMPARE(broken(*s), QString());
  call(*s, "step");
  QVERIFY(QFile::remove(m_folder.filePath("x")));
  QCOMPARE(codeOf(*s, "undo"), std::string("bad_file"));
  QCOMPARE(broken(*s), QString());
}

KV_TEST(CacheFileTest)
#include "cache_file_test.moc"
