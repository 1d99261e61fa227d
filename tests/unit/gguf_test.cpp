// SPDX-License-Identifier: Apache-2.0
// GGUF files that PyPI gguf wrote (tests/oracle/make_gguf.py): every type, sets of files, and models that agree with
// the safetensors that they were made of.
#include "core/model/files/gguf.h"

#include <cmath>
#include <cstring>

#include "core/model/files/gguf_config.h"
#include "core/model/files/safetensors.h"
#include "core/model/model.h"
#include "core/model/tensor_types.h"
#include "support/runner.h"
#include "unit/gguf_bytes.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

const std::string kGguf = KVLAB_TESTS_DIR "/oracle/gguf/";
const std::string kTwins = KVLAB_TESTS_DIR "/oracle/models/";

Result<std::shared_ptr<const Model>> openSpec(const std::string& spec) {
  return Model::open(spec, KVLAB_RESOURCES_DIR);
}

/// Rows of a head in the order that rotates halves, from the order that rotates neighbours.
std::vector<float> inHalves(const std::vector<float>& rows, std::int64_t heads, std::int64_t width) {
  std::vector<float> out(rows.size());
  const std::int64_t perHead = static_cast<std::int64_t>(rows.size()) / heads / width;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t r = 0; r < perHead; ++r) {
      const std::int64_t from = h * perHead + (r < perHead / 2 ? 2 * r : 2 * (r - perHead / 2) + 1);
      std::copy_n(rows.begin() + from * width, width, out.begin() + (h * perHead + r) * width);
    }
  return out;
}

}  // namespace

class GgufTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyTypeIsReadInPlace() {
    const auto file = Gguf::open(kGguf + "types.gguf");
    QVERIFY2(file, file ? "" : file.error().text().c_str());
    const auto wanted = Safetensors::open(kGguf + "types.safetensors");
    QCOMPARE(file->tensors().size(), std::size_t{12});
    for (const auto& [name, tensor] : file->tensors()) {
      QCOMPARE(tensor.shape, (std::vector<std::int64_t>{2, 512}));
      const auto bytes = wanted->find(name + ".bytes")->bytes;
      QVERIFY2(std::equal(bytes.begin(), bytes.end(), tensor.bytes.begin(), tensor.bytes.end()), name.c_str());
      QCOMPARE(tensor.view().bytes(), static_cast<std::int64_t>(bytes.size()));
      QCOMPARE(QString(kernels::dtypeName(tensor.dtype)), QString::fromStdString(name).toLower());
      const auto values = widened(tensor.view()), dequantised = widened(wanted->find(name)->view());
      QCOMPARE(values.size(), std::size_t{1024});
      QVERIFY2(std::memcmp(values.data(), dequantised.data(), 4096) == 0, name.c_str());
    }
  }

  /// Configuration and weights of each file are those of the checkpoint that it was made of.
  void isItsTwin_data() {
    QTest::addColumn<QString>("name");
    for (const QString& file : QDir(QString::fromStdString(kGguf)).entryList({"*.gguf"}))
      if (QDir(QString::fromStdString(kTwins) + file.chopped(5)).exists()) QTest::newRow(qPrintable(file)) << file;
    QTest::newRow("sharded") << "llama_sharded_bf16-00002-of-00003.gguf";
  }
  void isItsTwin() {
    QFETCH(QString, name);
    const std::string stem = name.split("-00002").first().remove(".gguf").toStdString();
    const auto file = Gguf::open(kGguf + name.toStdString());
    QVERIFY2(file, file ? "" : file.error().text().c_str());
    const auto twin = Safetensors::openDirectory(kTwins + stem);
    const auto config = configOf(*file), wanted = readConfig(kTwins + stem);
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->heads, wanted->heads);
    QCOMPARE(config->kvHeads, wanted->kvHeads);
    QCOMPARE(config->headDim, wanted->headDim);
    QCOMPARE(config->rmsEps, wanted->rmsEps);
    QCOMPARE(config->windowPerLayer, wanted->windowPerLayer);
    QCOMPARE(config->eos, wanted->eos);
    QCOMPARE(config->bos, wanted->bos);
    QCOMPARE(config->tieEmbeddings, wanted->tieEmbeddings);
    QCOMPARE(config->maxPositions, wanted->maxPositions);
    QCOMPARE(config->type, wanted->type);
    QCOMPARE(config->qkNorm, wanted->qkNorm);
    QCOMPARE(config->activation, wanted->activation);
    QCOMPARE(config->attentionCap, wanted->attentionCap);
    QCOMPARE(config->logitCap, wanted->logitCap);
    QCOMPARE(config->embeddingScale, wanted->embeddingScale);
    QCOMPARE(config->scoreDim(), wanted->scoreDim());
    for (const Layer l : idRange<Layer>(0, wanted->layers))
      QVERIFY2(config->rope(l) == wanted->rope(l), qPrintable(QString::number(l.value())));
    QCOMPARE(config->experts, wanted->experts);
    QCOMPARE(config->expertsUsed, wanted->expertsUsed);
    QCOMPARE(config->expertWidth, wanted->expertWidth);
    QCOMPARE(config->expertWeightsSum, wanted->expertWeightsSum);
    QCOMPARE(config->sinks, wanted->sinks);
    const bool packed =
        config->type == "gpt_oss";  // its experts have another order there: gguf_engine_test computes them
    for (const auto& [tensor, values] : twin->tensors()) {
      if (packed && tensor.find(".mlp.experts.") != std::string::npos) continue;
      const auto found = findInGguf(*file, *config, tensor);
      QVERIFY2(found, tensor.c_str());
      QCOMPARE(found->shape, values.shape);
      auto got = widened(*found);
      const bool q = tensor.find(".q_proj.") != std::string::npos, k = tensor.find(".k_proj.") != std::string::npos;
      if (config->interleavedRotary && (q || k))
        got = inHalves(got, q ? config->heads : config->kvHeads, found->shape.size() > 1 ? found->shape.back() : 1);
      auto same = widened(values.view());
      if (config->normOffset != wanted->normOffset && tensor.find("norm") != std::string::npos)
        for (float& value : same) value += static_cast<float>(wanted->normOffset);
      QVERIFY2(got == same, tensor.c_str());
    }
  }

  /// The text part of Mistral 3 has the keys of Ministral 3 except the one that makes queries grow.
  void mistralThreeWithoutTemperature() {
    const std::string plain = littleLlama("mistral3").bytes();
    const std::string grown = littleLlama("mistral3").f32("mistral3.attention.temperature_scale", 0.1f).bytes();
    const auto mistral = configOf(*Gguf::parse(bytesOf(plain), "f")),
               ministral = configOf(*Gguf::parse(bytesOf(grown), "f"));
    QVERIFY2(mistral && ministral, mistral ? "" : mistral.error().text().c_str());
    QCOMPARE(mistral->type, std::string("mistral"));
    QCOMPARE(mistral->windowPerLayer, (std::vector<int>{0}));
    QCOMPARE(mistral->ropes.front().queryBeta, 0.0);
    QVERIFY(mistral->interleavedRotary);
    QCOMPARE(ministral->type, std::string("ministral3"));
    QCOMPARE(ministral->ropes.front().queryBeta, 0.1);
  }

  void anyFileOfASetStandsForAll() {
    const std::string front = kGguf + "llama_sharded_bf16-0000";
    const auto first = Gguf::open(front + "1-of-00003.gguf"), last = Gguf::open(front + "3-of-00003.gguf");
    QVERIFY2(first && last, first ? "" : first.error().text().c_str());
    QCOMPARE(first->tensors().size(), std::size_t{21});
    QCOMPARE(last->tensors().size(), std::size_t{21});
    QCOMPARE(first->file(), last->file());
    QVERIFY(first->keys().has("general.architecture"));
    QCOMPARE(
        ggufShards("a/b-00002-of-00003.gguf"),
        (std::vector<std::string>{"a/b-00001-of-00003.gguf", "a/b-00002-of-00003.gguf", "a/b-00003-of-00003.gguf"}));
    for (const char* alone :
         {"a.gguf", "b-00004-of-00003.gguf", "b-00000-of-00003.gguf", "b-0000x-of-00003.gguf", "-00001-of-00003.gguf"})
      QCOMPARE(ggufShards(alone), std::vector<std::string>{alone});
  }

  void readsVersionTwo() {
    GgufBytes bytes = littleLlama();
    bytes.version = 2;
    const std::string file = bytes.bytes();
    const auto read = Gguf::parse(bytesOf(file), "f");
    QVERIFY2(read, read ? "" : read.error().text().c_str());
    QCOMPARE(read->tensors().size(), std::size_t{11});
  }

  void numbersAreTheDecimalsThatWereMeant() {
    const std::string file =
        GgufBytes().f32("eps", 1e-5f).f32("theta", 1e6f).u32("n", 7).key("d", 12, raw(0.25)).bytes();
    const auto read = Gguf::parse(bytesOf(file), "f");
    const GgufKeys keys = read->keys();
    QCOMPARE(**keys.real("eps"), 1e-5);
    QCOMPARE(**keys.real("theta"), 1e6);
    QCOMPARE(**keys.real("n"), 7.0);
    QCOMPARE(**keys.real("d"), 0.25);
    QVERIFY(!*keys.real("none"));
  }

  void anotherAlignmentIsFollowed() {
    GgufBytes bytes;
    bytes.alignment = 256;
    bytes.u32("general.alignment", 256).f32s("a", {3}, 1.0f).f32s("b", {2}, 2.0f);
    const std::string file = bytes.bytes();
    const auto read = Gguf::parse(bytesOf(file), "f");
    QVERIFY2(read, read ? "" : read.error().text().c_str());
    QCOMPARE(widened(read->find("b")->view()), (std::vector<float>{2, 2}));
  }

  void expertsAndFusedRowsAreParts() {
    std::string exps, qkv;
    for (int i = 0; i < 3 * 2 * 4; ++i) exps += raw(static_cast<float>(i));
    for (int i = 0; i < 8 * 4; ++i) qkv += raw(static_cast<float>(i));
    const std::string file = GgufBytes()
                                 .tensor("blk.1.ffn_up_exps.weight", {4, 2, 3}, 0, exps)
                                 .tensor("blk.1.attn_qkv.weight", {4, 8}, 0, qkv)
                                 .bytes();
    const auto read = Gguf::parse(bytesOf(file), "f");
    QVERIFY(read);
    ModelConfig c;
    c.heads = 2, c.kvHeads = 1, c.headDim = 2;
    const auto part = [&](const char* name) { return findInGguf(*read, c, std::string("model.layers.1.") + name); };
    QCOMPARE(part("mlp.experts.2.up_proj.weight")->shape, (std::vector<std::int64_t>{2, 4}));
    QCOMPARE(widened(*part("mlp.experts.2.up_proj.weight")).front(), 16.0f);
    QCOMPARE(widened(*part("block_sparse_moe.experts.1.w3.weight")).front(), 8.0f);
    QVERIFY(!part("mlp.experts.3.up_proj.weight"));
    QCOMPARE(part("self_attn.k_proj.weight")->shape, (std::vector<std::int64_t>{2, 4}));
    QCOMPARE(widened(*part("self_attn.q_proj.weight")).front(), 0.0f);
    QCOMPARE(widened(*part("self_attn.k_proj.weight")).front(), 16.0f);
    QCOMPARE(widened(*part("self_attn.v_proj.weight")).front(), 24.0f);
    QVERIFY(!findInGguf(*read, c, "model.layers.0.self_attn.q_proj.weight"));
  }

  void foldersWithOneModel() {
    QTemporaryDir dir;
    const std::string d = dir.path().toStdString(), bytes = littleLlama().bytes();
    writeFile(d + "/only.gguf", bytes);
    writeFile(d + "/mmproj-only.gguf", bytes);
    writeFile(d + "/config.json", "{}");  // many folders of GGUF files have one
    QVERIFY2(openSpec(d), openSpec(d) ? "" : openSpec(d).error().text().c_str());
    QCOMPARE((*openSpec(d))->spec(), d);
    writeFile(d + "/other.gguf", bytes);
    const auto several = openSpec(d);
    QVERIFY(!several);
    QCOMPARE(several.error().code, std::string("bad_model"));
    QVERIFY(several.error().why.find("only.gguf, other.gguf") != std::string::npos);
    QVERIFY(!several.error().remedy.empty());
    QVERIFY(openSpec(d + "/other.gguf"));
  }

  /// Hidden 32: a row of a matrix is a block. The types that do the arithmetic are those that the file has.
  void typesOfAFileInBlocks() {
    GgufBytes bytes;
    bytes.text("general.architecture", "llama");
    for (const char* key : {"block_count", "attention.head_count"}) bytes.u32(std::string("llama.") + key, 1);
    for (const char* key : {"context_length", "embedding_length", "feed_forward_length"})
      bytes.u32(std::string("llama.") + key, 32);
    bytes.tensor("token_embd.weight", {32, 8}, 8, std::string(8 * 34, '\1'));
    for (const char* norm : {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"})
      bytes.f32s(std::string(norm) + ".weight", {32});
    for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up"})
      bytes.tensor("blk.0." + std::string(part) + ".weight", {32, 32}, 3, std::string(32 * 20, '\1'));
    bytes.tensor("blk.0.ffn_down.weight", {32, 32}, 8, std::string(32 * 34, '\1'));
    QTemporaryDir dir;
    const std::string path = dir.filePath("blocks.gguf").toStdString();
    writeFile(path, bytes.bytes());
    const auto model = openSpec(path);
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    using enum kernels::DType;
    const std::vector<TensorTypes> wanted{{q4_1, 6, 6 * 640}, {q8_0, 2, 8 * 34 + 32 * 34}, {f32, 3, 3 * 128}};
    QVERIFY(tensorTypes(**model) == wanted);
    QCOMPARE((*model)->weightBytes(), std::int64_t{6 * 640 + 8 * 34 + 32 * 34 + 3 * 128});
    const auto phi = openSpec(kTwins + "phi3_f32");  // q, k and v are one tensor of its file
    QCOMPARE(tensorTypes(**phi).front().tensors,
             static_cast<std::int64_t>(Safetensors::openDirectory(kTwins + "phi3_f32")->tensors().size()));
  }

  void opensWithATemplateAndWords() {
    const auto model = openSpec(kGguf + "words.gguf");
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    QVERIFY((*model)->chatTemplate().starts_with("{% for m in messages %}"));
    const Tokenizer& t = (*model)->tokenizer();
    const auto ids = t.encode("the harbour", true);
    QVERIFY(ids && ids->front() == t.bos());
    QCOMPARE(t.decode(*ids, true), std::string("the harbour"));
  }
};

KV_TEST(GgufTest)
#include "gguf_test.moc"
