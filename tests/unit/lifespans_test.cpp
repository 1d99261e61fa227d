// SPDX-License-Identifier: Apache-2.0
// Lifespans against the attention of decoding, query by query; with any chunks, position modes and evictions; files
// that are read back, damaged ones that are refused by name.
#include "support/session_fixture.h"

#include <QTemporaryDir>
#include <cmath>

#include "core/analysis/lifespans.h"
#include "core/model/files/safetensors.h"
#include "core/session/truth.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

constexpr int kListRows = 70;

std::vector<int> idsFor(const Session& s) {
  std::vector<int> ids = SessionFixture::ids(kListRows);
  for (int& id : ids) id %= s.model().config().vocab;
  return ids;
}

/// [layers][queries][heads][rows so far], from decoding one token after another.
using Seen = std::vector<std::vector<std::vector<std::vector<float>>>>;

Seen decoded(const SessionFixture& s) {
  Seen seen(s->state().layers().size());
  const std::vector<int> ids = idsFor(*s.session);
  for (int q = 0; q < kListRows; ++q) {
    s.must(q == 0 ? "promptIds" : "step", {{q == 0 ? "ids" : "tokens", {ids[static_cast<std::size_t>(q)]}}});
    for (int l = 0; l < s->cacheLayers().layers; ++l)
      seen[static_cast<std::size_t>(l)].push_back(
          s.must("attention", {{"layer", l}}).get<std::vector<std::vector<float>>>());
  }
  return seen;
}

void compare(const Seen& seen, const Lifespans& got, const ModelConfig& c) {
  const LifespanRules& rules = got.rules;
  int used = 0, young = 0;
  for (std::size_t l = 0; l < seen.size(); ++l)
    for (std::size_t kv = 0; kv < static_cast<std::size_t>(c.kvHeads); ++kv)
      for (std::size_t row = 0; row < kListRows; ++row) {
        const auto group = static_cast<std::size_t>(c.heads / c.kvHeads);
        std::int32_t last = -1;
        std::vector<float> sums(group);
        for (std::size_t q = row; q < kListRows; ++q)
          for (std::size_t h = 0; h < group; ++h) {
            const float p = seen[l][q][kv * group + h][row];
            if (p > rules.threshold) last = static_cast<std::int32_t>(q);
            if (static_cast<int>(q) > rules.after) sums[h] += p;
          }
        float mass = 0;
        for (const float sum : sums) mass += sum;
        mass /= static_cast<float>(group);
        const std::int32_t life = std::max(1, last - static_cast<std::int32_t>(row));
        const std::size_t at = kv * kListRows + row;
        QCOMPARE(got.layers[l].lastUse[at], last);
        QCOMPARE(got.layers[l].lifespan[at], life);
        QCOMPARE(got.layers[l].label[at], std::min(static_cast<float>(std::log(life) / std::log(4)), rules.cap));
        QCOMPARE(got.layers[l].mass[at], mass);
        const int since = kListRows - 1 - std::max(last, static_cast<int>(row));
        QCOMPARE(static_cast<bool>(got.layers[l].censored[at]), since < rules.stretch);
        used += life > 3;
        young += got.layers[l].censored[at];
      }
  QVERIFY(used > 10 && young > 0);
}

}  // namespace

class LifespansTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void equalDecoding_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("position");
    QTest::addColumn<int>("chunk");
    QTest::addRow("tiny") << "synthetic:tiny"
                          << "context" << 256;
    QTest::addRow("chunks") << "synthetic:tiny"
                            << "absolute" << 9;
    QTest::addRow("cache") << "synthetic:tiny"
                           << "cache" << 16;
    QTest::addRow("window") << KVLAB_TESTS_DIR "/oracle/models/mistral_window_f32"
                            << "context" << 32;
    QTest::addRow("k-norm") << KVLAB_TESTS_DIR "/oracle/models/qwen3_f32"
                            << "context" << 64;
  }

  void equalDecoding() {
    QFETCH(QString, model);
    QFETCH(QString, position);
    QFETCH(int, chunk);
    const SessionFixture s({{"model", model.toStdString()},
                            {"dtype", "f32"},
                            {"position", position.toStdString()},
                            {"prefill_chunk", chunk},
                            {"capacity", 128}});
    const Seen seen = decoded(s);
    LifespanRules rules;
    for (const int after : {-1, 40, kListRows - 1}) {
      rules.after = after;
      rules.threshold = after == 40 ? 0.03f : 0.05f;
      rules.stretch = after == 40 ? 5 : 12;
      rules.cap = after == 40 ? 2.0f : 6.0f;
      const std::string before = s.hash();
      Result<Lifespans> got = recordLifespans(*s, rules);
      if (!got) qFatal("%s", got.error().text().c_str());
      QCOMPARE(s.hash(), before);
      QCOMPARE(got->tokens, idsFor(*s.session));
      compare(seen, *got, s->model().config());
      if (QTest::currentTestFailed()) return;
    }
  }

  /// Keys are those that a cache without norm and rotation stores.
  void keysAreUnrotated() {
    for (const char* keyPhase : {"on_read", "at_write"}) {
      const SessionFixture s({{"dtype", "f32"}, {"key_phase", keyPhase}, {"prefill_chunk", 16}}),
          reads(json{{"dtype", "f32"}});
      for (const SessionFixture* one : {&s, &reads}) one->must("promptIds", {{"ids", idsFor(*s.session)}});
      const Result<Lifespans> got = recordLifespans(*s, {});
      QVERIFY(got);
      for (int l = 0; l < s->cacheLayers().layers; ++l) {
        std::vector<float> stored;
        for (int i = 0; i < kListRows; ++i)
          for (const float x :
               reads.must("row", {{"layer", l}, {"index", i}, {"which", "k"}})["data"].get<std::vector<float>>())
            stored.push_back(x);
        QVERIFY2(got->layers[static_cast<std::size_t>(l)].keys == stored,
                 qPrintable(QString("%1, layer %2").arg(keyPhase).arg(l)));
      }
    }
  }

  /// As if nothing had ever left, and all KV heads of a layer had its rows together.
  void evictionsAreForgotten() {
    const SessionFixture whole;
    whole.must("promptIds", {{"ids", idsFor(*whole.session)}});
    const Result<Lifespans> want = recordLifespans(*whole, {});
    QVERIFY(want);
    for (const char* residency : {"layer", "kv_head"}) {
      const SessionFixture s({{"residency", residency}, {"policy", "knorm:capacity=20"}});
      s.must("promptIds", {{"ids", idsFor(*whole.session)}});
      QVERIFY(s->state().map(CacheLayer(0)).resident() == 20);
      const Result<Lifespans> got = recordLifespans(*s, {});
      QVERIFY(got);
      for (std::size_t l = 0; l < want->layers.size(); ++l)
        QVERIFY(got->layers[l].lastUse == want->layers[l].lastUse && got->layers[l].mass == want->layers[l].mass &&
                got->layers[l].keys == want->layers[l].keys);
    }
  }

  void theVerbWritesWhatIsReadBack() {
    const SessionFixture s;
    s.must("promptIds", {{"ids", idsFor(*s.session)}});
    s.must("step", {{"n", 10}});
    const std::string path = m_directory.filePath("a.safetensors").toStdString();
    const json said = s.must("recordLifespans", {{"path", path}, {"stretch", 7}});
    QCOMPARE(said["rows"], json(kListRows + 10));
    QCOMPARE(said["after"], json(kListRows - 1));
    LifespanRules rules;
    rules.after = kListRows - 1;
    rules.stretch = 7;
    const Result<Lifespans> want = recordLifespans(*s, rules), got = Lifespans::load(path, true),
                            few = Lifespans::load(path);
    QVERIFY(want && got && few);
    QVERIFY(few->layers[0].keys.empty());
    QCOMPARE(got->rows, want->rows);
    QCOMPARE(got->kvHeads, want->kvHeads);
    QCOMPARE(got->headDim, want->headDim);
    QCOMPARE(got->model, want->model);
    QVERIFY(!got->model.empty());
    QVERIFY(got->tokens == want->tokens);
    QCOMPARE(got->rules.after, rules.after);
    QCOMPARE(got->rules.stretch, 7);
    QCOMPARE(got->rules.threshold, 0.05f);
    QCOMPARE(got->rules.cap, 6.0f);
    for (std::size_t l = 0; l < want->layers.size(); ++l) {
      const LayerLifespans &a = got->layers[l], &b = want->layers[l];
      QVERIFY(a.lastUse == b.lastUse && a.lifespan == b.lifespan && a.label == b.label && a.mass == b.mass &&
              a.censored == b.censored && a.keys == b.keys);
    }
    float mass = 0;
    for (int h = 0; h < want->kvHeads; ++h)
      for (int row = 0; row < want->rows; ++row)
        mass += want->layers[0].mass[static_cast<std::size_t>(h * want->rows + row)];
    QVERIFY2(std::fabs(mass - 10.0f * static_cast<float>(want->kvHeads)) < 1e-3f,
             "ten queries give a mass of one each");
  }

  void refusals() {
    const SessionFixture empty;
    const std::string path = m_directory.filePath("none.safetensors").toStdString();
    QCOMPARE(empty.verb("recordLifespans", {{"path", path}}).error().code, std::string("empty"));
    const SessionFixture s;
    s.prompt(5);
    QVERIFY(!s.verb("recordLifespans", {{"path", m_directory.path().toStdString() + "/no/such"}}));
    QVERIFY(!s.verb("recordLifespans", {{"path", m_directory.path().toStdString()}}));
    QCOMPARE(s.verb("recordLifespans", {{"path", path}, {"after", 5}}).error().field, std::string("after"));
    s->setProgress([](const std::string&, std::int64_t, std::int64_t) { return false; });
    QCOMPARE(s.verb("recordLifespans", {{"path", path}}).error().code, std::string("cancelled"));
    QVERIFY(!QFile::exists(QString::fromStdString(path)));
  }

  void damagedFilesAreRefused_data() {
    QTest::addColumn<QString>("field");
    QTest::addColumn<int>("damage");
    const char* kFields[] = {"kvlab",
                             "rows",
                             "after",
                             "threshold",
                             "tokens",
                             "layers.0.last_use",
                             "layers.1.label",
                             "layers.0.mass",
                             "layers.1.lifespan",
                             "layers.1.last_use",
                             "layers.0.censored",
                             "layers.0.keys"};
    for (int i = 0; i < static_cast<int>(std::size(kFields)); ++i) QTest::addRow("%s", kFields[i]) << kFields[i] << i;
  }

  void damagedFilesAreRefused() {
    QFETCH(QString, field);
    QFETCH(int, damage);
    const SessionFixture s;
    s.prompt(20);
    Lifespans good = recordLifespans(*s, {}).take();
    const std::string path = m_directory.filePath("b.safetensors").toStdString();
    LayerLifespans &first = good.layers[0], &second = good.layers[1];
    if (damage == 5) good.layers.clear();
    if (damage == 6) second.label[3] = NAN;
    if (damage == 7) first.mass[0] = -1;
    if (damage == 8) second.lifespan[2] = 0;
    if (damage == 9) second.lastUse[2] = 20;
    if (damage == 10) first.censored[1] = 2;
    QVERIFY(good.write(path));
    Result<Safetensors> file = Safetensors::open(path);
    QVERIFY(file);
    SafetensorsWriter writer;
    for (const auto& [name, tensor] : file->tensors()) {
      if (damage == 4 && name == "tokens") continue;
      const bool flat = damage == 11 && name == "layers.0.keys";
      writer.add(name, tensor.element,
                 flat ? std::vector<std::int64_t>{static_cast<std::int64_t>(tensor.bytes.size() / 4)} : tensor.shape,
                 tensor.bytes);
    }
    for (const auto& [key, value] : file->metadata()) {
      const bool bad = key == field.toStdString();
      if (!bad) writer.metadata(key, value);
      else if (damage == 1) writer.metadata(key, "20.5e");
      else if (damage == 2) writer.metadata(key, "20");
      else if (damage == 3) writer.metadata(key, "nan");
    }
    const std::string broken = m_directory.filePath("c.safetensors").toStdString();
    QVERIFY(writer.write(broken));
    const Result<Lifespans> read = Lifespans::load(broken, true);
    QVERIFY(!read);
    QCOMPARE(read.error().code, std::string("bad_lifespans"));
    QCOMPARE(read.error().field, field.toStdString());
    QVERIFY(read.error().why.find(broken) != std::string::npos);
  }

 private:
  QTemporaryDir m_directory;
};

KV_TEST(LifespansTest)
#include "lifespans_test.moc"
