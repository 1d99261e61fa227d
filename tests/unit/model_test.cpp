// SPDX-License-Identifier: Apache-2.0
// Opening models: fixtures, synthetic shapes, wrong weights, cancelling.
#include "core/model/model.h"

#include <cmath>
#include <set>

#include "core/model/files/safetensors.h"
#include "core/model/synthetic.h"
#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

const std::string kModels = KVLAB_TESTS_DIR "/oracle/models/";

Result<std::shared_ptr<const Model>> open(const std::string& spec, const Progress& progress = {}) {
  return Model::open(spec, KVLAB_RESOURCES_DIR, progress);
}

void copyFixture(const std::string& name, const QTemporaryDir& to) {
  for (const char* file : {"config.json", "model.safetensors"})
    QVERIFY(QFile::copy(QString::fromStdString(kModels + name + "/" + file), to.filePath(file)));
}

}  // namespace

class ModelTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void opensEveryFixture() {
    for (const QString& name : QDir(QString::fromStdString(kModels)).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      const auto model = open(kModels + name.toStdString());
      QVERIFY2(model, model ? "" : model.error().text().c_str());
      const ModelConfig& c = (*model)->config();
      QCOMPARE((*model)->embed().shape, (std::vector<std::int64_t>{c.vocab, c.hidden}));
      QCOMPARE((*model)->head().data == (*model)->embed().data, c.tieEmbeddings);
      const LayerWeights& last = (*model)->layer(Layer(c.layers - 1));
      QCOMPARE(last.k.shape, (std::vector<std::int64_t>{c.kvHeads * c.headDim, c.hidden}));
      QCOMPARE(static_cast<bool>(last.qBias), c.attentionBias);
      QCOMPARE(static_cast<bool>(last.kNorm), c.qkNorm != QkNorm::None);
      QCOMPARE(static_cast<bool>(last.oBias), c.outputBias);
      if (name.endsWith("_mxfp4")) QVERIFY((*model)->weightBytes() < c.parameters() * 2);
      else QCOMPARE((*model)->weightBytes(), c.parameters() * kernels::dtypeBytes((*model)->dtype()));
    }
  }

  void opensTheDemo() {
    const auto model = open("demo");
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    const Tokenizer& t = (*model)->tokenizer();
    QVERIFY(t.size() <= (*model)->config().vocab);
    const auto ids = t.encode("where is the silver key ?", true);
    QVERIFY(ids && ids->size() > 3);
    QCOMPARE(ids->front(), t.bos());
    QCOMPARE(t.decode(*ids, true), std::string("where is the silver key ?"));
  }

  void rolesAreTheRightTensors() {
    const auto model = open(kModels + "llama_untied_f32");
    const auto file = Safetensors::open(kModels + "llama_untied_f32/model.safetensors");
    const auto same = [&](const TensorView& role, const char* name) {
      return widened(role) == widened(file->find(name)->view());
    };
    const LayerWeights& w = (*model)->layer(Layer(1));
    QVERIFY(same(w.dense.gate, "model.layers.1.mlp.gate_proj.weight") &&
            same(w.dense.up, "model.layers.1.mlp.up_proj.weight"));
    QVERIFY(same(w.k, "model.layers.1.self_attn.k_proj.weight") && same(w.v, "model.layers.1.self_attn.v_proj.weight"));
    QVERIFY(same(w.inputNorm, "model.layers.1.input_layernorm.weight"));
    QVERIFY(same(w.postNorm, "model.layers.1.post_attention_layernorm.weight"));
    QVERIFY(same((*model)->head(), "lm_head.weight") && same((*model)->finalNorm(), "model.norm.weight"));
  }

  void tyingGoesBothWays() {
    QTemporaryDir dir;
    copyFixture("llama_tied_f32", dir);
    const std::string d = dir.path().toStdString(), weights = d + "/model.safetensors";
    const auto right = open(d);
    QVERIFY(right);
    const auto file = Safetensors::open(kModels + "llama_tied_f32/model.safetensors");
    const FileTensor& embed = *file->find("model.embed_tokens.weight");
    const auto rewrite = [&](bool keepsEmbed, std::optional<float> head) {
      std::vector<float> values = widened(embed.view());
      if (head) values[3] += *head;
      SafetensorsWriter out;
      for (const auto& [name, tensor] : file->tensors())
        if (keepsEmbed || name != embed.name) out.add(name, tensor.element, tensor.shape, tensor.bytes);
      if (head) out.add("lm_head.weight", {values.data(), kernels::DType::f32, embed.shape});
      return static_cast<bool>(out.write(weights));
    };
    QVERIFY(rewrite(false, 0.0f));  // only the head
    const auto headAlone = open(d);
    QVERIFY2(headAlone, headAlone ? "" : headAlone.error().text().c_str());
    QVERIFY((*headAlone)->config().tieEmbeddings && (*headAlone)->head().data == (*headAlone)->embed().data);
    QCOMPARE(widened((*headAlone)->embed()), widened((*right)->embed()));
    QVERIFY(rewrite(true, 0.0f));  // a copy
    const auto copy = open(d);
    QVERIFY(copy && (*copy)->config().tieEmbeddings && (*copy)->head().data == (*copy)->embed().data);
    QVERIFY(rewrite(true, 1.0f));  // a head of its own
    const auto own = open(d);
    QVERIFY(own && !(*own)->config().tieEmbeddings);
    QCOMPARE(widened((*own)->head())[3], widened((*right)->embed())[3] + 1.0f);
    QCOMPARE(widened((*own)->embed()), widened((*right)->embed()));
    QVERIFY(rewrite(false, std::nullopt));  // neither
    QVERIFY(open(d).error().why.find("embed_tokens") != std::string::npos);
  }

  void idsOfTokensWithoutRowsAreLeftOut() {
    QTemporaryDir dir;
    copyFixture("llama_tied_f32", dir);
    const std::string d = dir.path().toStdString();
    json config = json::parse(readAll(d + "/config.json"));
    config["eos_token_id"] = {2, 1 << 20};
    config["bos_token_id"] = 1 << 20;
    writeFile(d + "/config.json", config.dump());
    const auto model = open(d);
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    QCOMPARE((*model)->config().eos, std::vector<std::int32_t>{2});
    QCOMPARE((*model)->config().bos, -1);
  }

  void onlyPhiTurnsPartOfAHead() {
    QTemporaryDir dir;
    copyFixture("llama_tied_f32", dir);
    const std::string d = dir.path().toStdString();
    json config = json::parse(readAll(d + "/config.json"));
    config["partial_rotary_factor"] = 0.5;
    writeFile(d + "/config.json", config.dump());
    const auto model = open(d);
    QVERIFY(model && (*model)->config().ropes[0].dims == 0);
  }

  void refusesWeightsOfAnotherShape() {
    QTemporaryDir dir;
    copyFixture("llama_untied_f32", dir);
    const std::string d = dir.path().toStdString(), config = d + "/config.json";
    const auto original = nlohmann::json::parse(readAll(config));
    const std::pair<const char*, nlohmann::json> changes[] = {{"intermediate_size", 64},
                                                              {"num_hidden_layers", 3},
                                                              {"vocab_size", 95},
                                                              {"head_dim", 8},
                                                              {"attention_bias", true}};
    for (const auto& [key, value] : changes) {
      auto changed = original;
      changed[key] = value;
      writeFile(config, changed.dump());
      const auto model = open(d);
      QVERIFY2(!model, key);
      QCOMPARE(model.error().code, std::string("bad_model"));
      QVERIFY2(model.error().why.find("tensor \"") == 0, model.error().why.c_str());
    }
  }

  void refusesWhatIsNotThere() {
    QTemporaryDir dir;
    for (const std::string& spec : {std::string("no/such/folder"), dir.path().toStdString(), std::string(),
                                    kModels + "llama_tied_f32/config.json"}) {
      const auto model = open(spec);
      QVERIFY(!model);
      QCOMPARE(model.error().code, std::string("bad_model"));
    }
    const Error empty = open(dir.path().toStdString()).error();
    QVERIFY2(empty.why.find("it has neither a config.json nor a .gguf file") != std::string::npos, empty.why.c_str());
    QCOMPARE(empty.field, std::string("model"));
    copyFixture("llama_untied_f32", dir);
    QFile file(dir.filePath("model.safetensors"));
    QVERIFY(file.resize(file.size() - 1));
    QCOMPARE(open(dir.path().toStdString()).error().code, std::string("bad_model"));
  }

  void refusesIntegerWeights() {
    QTemporaryDir dir;
    copyFixture("llama_untied_f16", dir);
    const std::string path = dir.filePath("model.safetensors").toStdString();
    std::string bytes = readAll(path);
    for (auto at = bytes.find("\"F16\""); at != std::string::npos; at = bytes.find("\"F16\"", at))
      bytes.replace(at, 5, "\"I16\"");
    writeFile(path, bytes);
    const auto model = open(dir.path().toStdString());
    QVERIFY(!model && model.error().why.find("type") != std::string::npos);
  }

  void missingTokenizerIsMadeUp() {
    const auto model = open(kModels + "llama_tied_f32");
    const Tokenizer& t = (*model)->tokenizer();
    QCOMPARE(t.size(), 96);
    QCOMPARE(t.tokenText(TokenId(65)), std::string("A"));
    QCOMPARE(t.encode("A a", false).error().code, std::string("bad_text"));  // 'a' is 97
    QCOMPARE(t.encode("A B", true)->size(), 4u);
  }

  void syntheticIsSeeded() {
    const auto a = open("synthetic:tiny"), b = open("synthetic:tiny:seed=1"), c = open("synthetic:tiny:seed=2");
    QVERIFY(a && b && c);
    QCOMPARE((*a)->dtype(), kernels::DType::bf16);
    QVERIFY(widened((*a)->layer(Layer(2)).dense.down) == widened((*b)->layer(Layer(2)).dense.down));
    QVERIFY(widened((*a)->layer(Layer(2)).dense.down) != widened((*c)->layer(Layer(2)).dense.down));
    QVERIFY(widened((*a)->layer(Layer(2)).dense.gate) != widened((*a)->layer(Layer(2)).dense.up));
  }

  void syntheticTypesHoldTheSameValues() {
    const auto exact = open("synthetic:tiny:dtype=f32"), half = open("synthetic:tiny:dtype=f16");
    const auto a = widened((*exact)->embed()), b = widened((*half)->embed());
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      QVERIFY(std::abs(a[i] - b[i]) <= std::abs(a[i]) * 1e-3 + 1e-7);
      sum += a[i];
      squares += a[i] * a[i];
    }
    const auto n = static_cast<double>(a.size());
    QVERIFY(std::abs(sum / n) < 0.01);
    QVERIFY(std::abs(std::sqrt(squares / n) - 0.25) < 0.01);  // 2 / sqrt(64)
  }

  void partsOfATensorAreDrawnAlone() {
    const RandomTensor random{42, 0, 1};
    std::vector<float> whole(10), parts(10);
    fillRandom(random, whole.data(), kernels::DType::f32, 10, 0, 3);
    fillRandom(random, parts.data(), kernels::DType::f32, 10, 2, 3);
    fillRandom(random, parts.data(), kernels::DType::f32, 10, 0, 2);
    QCOMPARE(whole, parts);
  }

  void syntheticOptions() {
    QCOMPARE((*open("synthetic:tiny:layers=2,dtype=f32"))->config().layers, 2);
    QVERIFY(Model::syntheticNames().size() >= 8);
    for (const char* spec : {"synthetic:", "synthetic:nope", "synthetic:tiny:x=1", "synthetic:tiny:layers=0",
                             "synthetic:tiny:layers", "synthetic:tiny:dtype=i8", "synthetic:tiny:seed=-1"}) {
      const auto model = open(spec);
      QVERIFY2(!model, spec);
      QCOMPARE(model.error().code, std::string("bad_model"));
    }
    const auto why = [](const char* spec) { return QString::fromStdString(open(spec).error().why); };
    for (const char* spec : {"synthetic:tiny:layers=0", "synthetic:tiny:layers=4097", "synthetic:tiny:layers"})
      QVERIFY2(why(spec).endsWith("gives no whole number from 1 to 4096"), spec);
    QVERIFY(why("synthetic:tiny:x=1").endsWith("is not known"));
    QVERIFY(why("synthetic:tiny:dtype=i8").endsWith("gives none of f32, f16 and bf16"));
    QCOMPARE(open("synthetic:llama-3-8b:dtype=f32,layers=4096").error().code, std::string("out_of_memory"));
  }

  void cancelling() {
    for (const std::string& spec : {std::string("synthetic:tiny"), kModels + "llama_tied_f32"}) {
      int calls = 0;
      QVERIFY(open(spec, [&](const std::string&, std::int64_t, std::int64_t) { return ++calls > 0; }));
      const int all = calls;
      QVERIFY(all >= 3);
      for (int stop = 1; stop <= all; ++stop) {
        calls = 0;
        const auto model = open(spec, [&](const std::string&, std::int64_t, std::int64_t) { return ++calls < stop; });
        QVERIFY(!model);
        QCOMPARE(model.error().code, std::string("cancelled"));
      }
    }
  }

  void syntheticText() {
    const auto model = open("synthetic:smollm-135m:layers=1");
    QVERIFY(model);
    const Tokenizer& t = (*model)->tokenizer();
    const std::string text = "Wo ist der Schl\xc3\xbcssel?\n";
    QCOMPARE(t.decode(*t.encode(text, false)), text);
    QCOMPARE(t.tokenText(TokenId(10)), std::string("\\n"));
    std::set<std::string> texts;
    for (int i = 1; i < t.size(); ++i) texts.insert(t.tokenText(TokenId(i)));
    QCOMPARE(texts.size(), static_cast<std::size_t>(t.size() - 1));
    QCOMPARE(t.tokenText(TokenId(-1)) + t.tokenText(TokenId(49152)), std::string());
  }
};

KV_TEST(ModelTest)
#include "model_test.moc"
