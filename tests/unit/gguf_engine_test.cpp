// SPDX-License-Identifier: Apache-2.0
// Sessions of GGUF files: logits of the golden that belongs to the checkpoint behind the file, and opening that takes
// no memory of the weights.
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "core/model/files/safetensors.h"
#include "core/model/model.h"
#include "support/runner.h"
#include "support/scripted_session.h"
#include "unit/gguf_bytes.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

const QString kFiles = KVLAB_TESTS_DIR "/oracle/gguf/", kCheckpoints = KVLAB_TESTS_DIR "/oracle/models/";

double peakMegabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

}  // namespace

class GgufEngineTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// First, because peaks of memory stay. 4 GB that nobody wrote: opening reads the header alone.
  void fourGigabytesOpenInPlace() {
    QTemporaryDir dir;
    const std::string path = dir.filePath("big.gguf").toStdString();
    const std::uint64_t hidden = 4096, inner = 11008, layers = 10, vocab = 32000;
    GgufBytes big;
    big.text("general.architecture", "llama");
    for (const auto& [name, value] : {std::pair{"block_count", layers},
                                      {"context_length", std::uint64_t{4096}},
                                      {"embedding_length", hidden},
                                      {"feed_forward_length", inner},
                                      {"attention.head_count", std::uint64_t{32}}})
      big.u32(std::string("llama.") + name, static_cast<std::uint32_t>(value));
    std::uint64_t at = 0;
    const auto claim = [&](const std::string& name, const std::vector<std::uint64_t>& dims) {
      big.claim(name, dims, 1, at);
      at += 2 * dims[0] * (dims.size() > 1 ? dims[1] : 1);
    };
    claim("token_embd.weight", {hidden, vocab});
    claim("output_norm.weight", {hidden});
    for (std::uint64_t l = 0; l < layers; ++l) {
      const std::string front = "blk." + std::to_string(l) + ".";
      for (const char* norm : {"attn_norm.weight", "ffn_norm.weight"}) claim(front + norm, {hidden});
      for (const char* square : {"attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_output.weight"})
        claim(front + square, {hidden, hidden});
      for (const char* wide : {"ffn_gate.weight", "ffn_up.weight"}) claim(front + wide, {hidden, inner});
      claim(front + "ffn_down.weight", {inner, hidden});
    }
    QVERIFY(at > 4'000'000'000);
    const std::string head = big.bytes();
    writeFile(path, head);
    QVERIFY(::truncate(path.c_str(), static_cast<off_t>(head.size() + at)) == 0);
    const double before = peakMegabytes();
    const auto model = Model::open(path, KVLAB_RESOURCES_DIR);
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    QCOMPARE((*model)->weightBytes(), static_cast<std::int64_t>(at));
    const double grown = peakMegabytes() - before;
    qInfo("opening %.1f GB took %.1f MB", static_cast<double>(at) / 1e9, grown);
    QVERIFY(grown < 200);
  }

  void hasTheGoldensOfItsTwin_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("twin");
    for (const QString& file : QDir(kFiles).entryList({"*.gguf"})) {
      const QString stem = file.split("-0000").first().remove(".gguf");
      if (QDir(kCheckpoints + stem).exists()) QTest::newRow(qPrintable(file)) << kFiles + file << kCheckpoints + stem;
    }
  }
  /// The same bits as a session of the checkpoint, rows of the cache included, and so the golden's logits.
  void hasTheGoldensOfItsTwin() {
    QFETCH(QString, file);
    QFETCH(QString, twin);
    const auto golden = Safetensors::open(twin.toStdString() + "/golden.safetensors");
    QVERIFY(golden);
    const FileTensor* ids = golden->find("input_ids");
    std::vector<std::int64_t> tokens(ids->bytes.size() / sizeof(std::int64_t));
    std::memcpy(tokens.data(), ids->bytes.data(), ids->bytes.size());
    const auto run = [&](const QString& model) {
      auto s = opened({{"model", model.toStdString()}, {"dtype", "f32"}, {"capacity", 128}, {"threads", 1}});
      call(*s, "promptIds", {{"ids", std::vector<std::int64_t>(tokens.begin(), tokens.end() - 1)}});
      call(*s, "step", {{"tokens", {tokens.back()}}});
      return s;
    };
    const auto ours = run(file), theirs = run(twin);
    const auto logits = call(*ours, "logits").get<std::vector<float>>();
    const auto wanted = widened(golden->find("logits")->view());
    const std::size_t vocab = logits.size(), last = wanted.size() - vocab;
    double worst = 0, most = 0;
    for (std::size_t i = 0; i < vocab; ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - static_cast<double>(wanted[last + i])));
      most = std::max(most, std::abs(static_cast<double>(wanted[last + i])));
    }
    qInfo("%s: %.1e of the largest logit", qPrintable(QFileInfo(file).fileName()), worst / most);
    QVERIFY(worst < 1e-5 * most);
    QCOMPARE(logits, call(*theirs, "logits").get<std::vector<float>>());
    for (int layer = 0; layer < ours->cacheLayers().layers; ++layer)
      for (const char* which : {"k", "v"}) {
        const json row{{"layer", layer}, {"index", 5}, {"which", which}};
        QCOMPARE(call(*ours, "row", row)["data"], call(*theirs, "row", row)["data"]);
      }
  }
};

KV_TEST(GgufEngineTest)
#include "gguf_engine_test.moc"
