// SPDX-License-Identifier: Apache-2.0
// Caches of other programs: each importer reads what its files say, from files made here and from files that llama.cpp
// and vLLM wrote.
#include "core/foreign/foreign_cache.h"

#include <cmath>
#include <numeric>
#include <set>

#include "support/runner.h"
#include "unit/foreign_samples.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

QString foreignText(const Result<ForeignCache>& cache) {
  return cache ? QString() : QString::fromStdString(cache.error().text());
}

double foreignSum(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float x) { return sum + std::abs(x); });
}

/// The first value that is not the sample's; empty = none.
QString wrongValue(const ForeignLayer& layer, const std::vector<int>& rows, int number) {
  for (const int side : {0, 1}) {
    const auto values = (side ? layer.values : layer.keys).read();
    if (!values) return QString::fromStdString(values.error().text());
    if (values->size() != rows.size() * kForeignWidth) return QString("%1 values").arg(values->size());
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (int x = 0; x < kForeignWidth; ++x)
        if ((*values)[row * kForeignWidth + static_cast<std::size_t>(x)] != foreignValue(side, number, rows[row], x))
          return QString("side %1, row %2, value %3").arg(side).arg(row).arg(x);
  }
  return {};
}

ModelConfig foreignConfig(std::vector<int> windows) {
  ModelConfig out;
  out.layers = static_cast<int>(windows.size());
  out.windowPerLayer = std::move(windows);
  return out;
}

const ForeignSample& foreignSample(const std::vector<ForeignSample>& all, const QString& label) {
  return *std::ranges::find_if(all, [&](const ForeignSample& one) { return one.label() == label.toStdString(); });
}

}  // namespace

class ForeignTest : public QObject {
  Q_OBJECT
  const std::vector<ForeignSample> m_samples = foreignSamples();

  Result<ForeignCache> opened(const QString& label, const ForeignAsk& ask = {}) const {
    QTemporaryDir folder;
    return openSample(foreignSample(m_samples, label), folder.path().toStdString(), ask);  // rows stay mapped
  }

 private Q_SLOTS:
  void everyImporterHasASample() {
    std::set<std::string> known;
    for (const ForeignSample& one : m_samples) known.insert(one.importer);
    for (const ForeignImporter& one : importers()) QVERIFY2(known.contains(std::string(one.name)), one.name.data());
  }

  void rowsAreThoseOfTheFile_data() {
    QTest::addColumn<QString>("label");
    for (const ForeignSample& one : m_samples)
      QTest::newRow(one.label().c_str()) << QString::fromStdString(one.label());
  }
  void rowsAreThoseOfTheFile() {
    QFETCH(QString, label);
    const ForeignSample& sample = foreignSample(m_samples, label);
    auto cache = opened(label, {.sequence = label == "llama.cpp, session" ? 3 : -1});
    QVERIFY2(cache, qPrintable(foreignText(cache)));
    QCOMPARE(cache->importer, sample.importer);
    QCOMPARE(cache->layers.size(), std::size_t{kForeignLayers});
    QVERIFY(numberLayers(*cache, foreignConfig({0, label == "llama.cpp, two parts" ? 4 : 0})));
    for (int i = 0; i < kForeignLayers; ++i) {
      const ForeignLayer& layer = cache->layers[static_cast<std::size_t>(i)];
      QCOMPARE(layer.layer, i);
      QCOMPARE(layer.rows, std::int64_t{kForeignRows});
      QCOMPARE(layer.keys.width, std::int64_t{kForeignWidth});
      QCOMPARE(layer.keys.type, sample.type);
      QCOMPARE(wrongValue(layer, sample.rows, i), QString());
    }
  }

  void positionsAreThoseOfTheFile() {
    QCOMPARE(opened("llama.cpp, one part")->layers[1].positions, (std::vector{0, 2, 1}));
    QCOMPARE(opened("sglang")->layers[1].positions, (std::vector{0, 1, 2}));
    QCOMPARE(opened("arrays")->layers[0].positions, (std::vector{0, 1, 2}));
    QVERIFY(opened("vllm")->layers[0].positions.empty());
    const auto torch = opened("huggingface, torch.save");
    QCOMPARE(torch->layers[0].positions, (std::vector{4, 5, 6}));
    QCOMPARE(torch->layers[1].positions, (std::vector{0, 1, 2}));
    const auto mlx = opened("mlx-lm");
    QCOMPARE(mlx->layers[0].positions, (std::vector{0, 6, 5}));  // a ring that has turned
    QCOMPARE(mlx->layers[1].positions, (std::vector{0, 1, 2}));
  }

  void idsAreThoseOfTheFile() {
    const std::vector<TokenId> ids{TokenId(5), TokenId(6), TokenId(7)};
    for (const char* label : {"llama.cpp, one part", "huggingface", "arrays"}) QCOMPARE(opened(label)->ids, ids);
    QVERIFY(opened("vllm")->ids.empty());
    QCOMPARE(opened("huggingface")->heads, kForeignHeads);
    QCOMPARE(opened("llama.cpp, one part")->heads, 0);
  }

  void recurrentStateIsPassedOver() {
    const auto cache = opened("llama.cpp, recurrent");
    QCOMPARE(cache->layers.front().layer, -1);  // which of the model's layers have attention, nobody said
    QVERIFY(cache->notes.front().find("recurrent state of 1 cells") != std::string::npos);
  }

  void aSequenceIsNamedWhereThereAreSeveral() {
    const auto none = opened("llama.cpp, session");
    QVERIFY(!none && none.error().code == "bad_argument" && none.error().why == "it holds the sequences 0, 3");
    const auto other = opened("llama.cpp, session", {.sequence = 1});
    QVERIFY(!other && other.error().why.find("no sequence 1") != std::string::npos);
    QVERIFY(!opened("huggingface", {.sequence = 1}));
  }

  void cellsOfOtherSequencesAreLeftOut() {
    for (const bool transposed : {false, true}) {
      const LlamaBytes shared{.transposed = transposed, .owners = {{0}, {1}, {0, 1}}};
      QTemporaryDir folder;
      const auto cache = openSample(llamaSample("", LlamaBytes::front() + shared.part(0, 1)),
                                    folder.path().toStdString(), {.sequence = 0});
      QVERIFY2(cache, qPrintable(foreignText(cache)));
      QCOMPARE(cache->layers[0].positions, (std::vector{0, 1}));
      QCOMPARE(wrongValue(cache->layers[0], {0, 1}, 0), QString());
    }
  }

  void numbersFollowFromWindows() {
    auto cache = opened("llama.cpp, two parts");
    QCOMPARE(cache->layers[0].layer, -1);
    QVERIFY(numberLayers(*cache, foreignConfig({4, 0})));
    QCOMPARE(cache->layers[0].part, 1);
    QCOMPARE(cache->layers[1].layer, 1);
    auto other = opened("llama.cpp, two parts");
    const Status refused = numberLayers(*other, foreignConfig({0, 0}));
    QVERIFY(!refused && refused.error().code == "other_model");
    QCOMPARE(other->layers[1].layer, -1);
  }

  void memoryIsBounded() {
    const auto bytes = std::int64_t{4} * kForeignLayers * kForeignRows * kForeignWidth * 2;
    QVERIFY(opened("huggingface", {.mostBytes = bytes}));
    const auto refused = opened("huggingface", {.mostBytes = bytes - 1});
    QVERIFY(!refused && refused.error().code == "too_large");
  }

  void whatIsNotReadIsRefused() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("x").toStdString();
    writeFile(path, "nothing");
    const auto unknown = openForeign(path);
    QVERIFY(!unknown && unknown.error().code == "unknown_format");
    for (const ForeignImporter& one : importers())
      QVERIFY2(unknown.error().remedy.find(std::string(one.name) + ": ") != std::string::npos, one.name.data());
    const auto name = openForeign(path, {.importer = "pytorch"});
    QVERIFY(!name && name.error().code == "bad_argument");
    QVERIFY(openForeign(path + "y").error().why.find("no such file") != std::string::npos);
    const auto arrays = opened("arrays", {.importer = "huggingface"});
    QVERIFY(!arrays && arrays.error().remedy.find("mapping file") != std::string::npos);
  }

  void namesOfPythonAreRefused() {
    QTemporaryDir folder;
    const std::string pickle = "cposix\nsystem\n" + pickleTuple({pickleText("touch ran")}) + "R";
    const ForeignSample sample{"huggingface", {{"x.pt", TorchBytes().file(pickle)}}, "x.pt"};
    const auto refused = openSample(sample, folder.path().toStdString());
    QVERIFY(!refused && refused.error().code == "bad_file");
    QVERIFY2(refused.error().why.find("posix system") != std::string::npos, refused.error().text().c_str());
    QVERIFY(!QFile::exists("ran"));
  }

  void cellsHavePositions() {
    QTemporaryDir folder;
    const LlamaBytes before{.positions = {0, -1}};
    const auto refused =
        openSample(llamaSample("", LlamaBytes::front() + before.part(0, 1)), folder.path().toStdString());
    QVERIFY(!refused);
    QVERIFY2(refused.error().why.find("byte 48: cell 1 has the position -1") != std::string::npos,
             refused.error().text().c_str());
  }

  void versionsAreNamed() {
    QTemporaryDir folder;
    const auto later =
        openSample(llamaSample("", LlamaBytes::front(5) + LlamaBytes{}.part(0, 2)), folder.path().toStdString());
    QVERIFY(!later);
    QVERIFY2(later.error().why.find("byte 4: a sequence file of version 5; read are sequence files of the versions 3, "
                                    "4 and session files of the versions 9, 10, 11") != std::string::npos,
             later.error().text().c_str());
    const auto turned = opened("llama.cpp, version 4");
    QVERIFY2(turned, qPrintable(foreignText(turned)));
    QCOMPARE(turned->notes.front(),
             std::string("the file says that keys are turned in blocks of 64 values and values in blocks of 0"));
  }

  void entriesLieInTheArchive() {
    ForeignSample sample = torchSample();
    std::string& bytes = sample.files[0].second;
    const std::size_t directory = bytes.find("PK\1\2");
    bytes.replace(directory + 42, 4, raw(static_cast<std::uint32_t>(bytes.size() + 50)));
    QTemporaryDir folder;
    const auto refused = openSample(sample, folder.path().toStdString(), {.importer = "huggingface"});
    QVERIFY(!refused);
    QVERIFY2(refused.error().why.find("lies outside of the file") != std::string::npos, refused.error().text().c_str());
  }

  void aMappingSaysWhatIsWrong_data() {
    QTest::addColumn<QString>("mapping");
    QTest::addColumn<QString>("why");
    const QString side = R"({"name": "pool", "axes": "layers sides rows dim"})";
    QTest::newRow("no axes") << R"({"keys": {"name": "pool"}, "values": )" + side + "}"
                             << "axes is missing";
    QTest::newRow("axis") << R"({"keys": {"name": "pool", "axes": "x rows dim"}, "values": )" + side + "}"
                          << "has \"x\"";
    QTest::newRow("number of axes") << R"({"values": )" + side + R"(, "keys": {"name": "pool", "axes": "rows dim"}})"
                                    << "for 2 axes";
    QTest::newRow("key") << R"({"key": 1, "keys": )" + side + R"(, "values": )" + side + "}"
                         << "no key of a mapping";
    QTest::newRow("name") << R"({"values": )" + side + R"(, "keys": {"name": "pond", "axes": "rows dim"}})"
                          << "pond";
    QTest::newRow("dims") << R"({"values": )" + side + R"(, "keys": {"name": "pool", "axes": "layers sides rows dim",
      "dims": [0, 9]}})"
                          << "dims leave the axis";
  }
  void aMappingSaysWhatIsWrong() {
    QFETCH(QString, mapping);
    QFETCH(QString, why);
    QTemporaryDir folder;
    ForeignSample sample = arraysSample();
    sample.files.back().second = mapping.toStdString();
    const auto refused = openSample(sample, folder.path().toStdString());
    QVERIFY(!refused);
    QVERIFY2(refused.error().text().find(why.toStdString()) != std::string::npos, refused.error().text().c_str());
  }

  void llamaWroteThis() {  // 8-bit rows; three tokens deleted, the rest shifted, then one token in a reused cell
    const auto cache = openForeign(KVLAB_TESTS_DIR "/data/foreign/smollm2-135m-q4_1.q8_0.ggsq");
    QVERIFY2(cache, qPrintable(foreignText(cache)));
    QCOMPARE(cache->ids.size(), std::size_t{16});
    QCOMPARE(cache->layers.size(), std::size_t{30});
    const ForeignLayer& last = cache->layers.back();
    QCOMPARE(last.positions, (std::vector{0, 1, 2, 3, 4, 13, 5, 6, 7, 8, 9, 10, 11, 12}));
    QCOMPARE(last.keys.type, std::string("q8_0"));
    const auto keys = last.keys.read(), values = last.values.read();  // sums and values: NumPy, from the file's bytes
    QCOMPARE((*keys)[5 * 192 + 7], 0.18585205078125f);
    QCOMPARE((*values)[13 * 192 + 100], 1.0857925415039062f);
    QVERIFY(std::abs(foreignSum(*keys) - 3783.0406494140625) < 1e-6);
    QVERIFY(std::abs(foreignSum(*values) - 2508.5763244628906) < 1e-6);
  }

  void vllmWroteThis() {
    const auto cache = openForeign(KVLAB_TESTS_DIR "/data/foreign/vllm");
    QVERIFY2(cache, qPrintable(foreignText(cache)));
    QCOMPARE(cache->importer, std::string("vllm"));
    QCOMPARE(cache->heads, 2);
    QCOMPARE(cache->layers.size(), std::size_t{4});
    const ForeignLayer& last = cache->layers.back();
    QCOMPARE(last.rows, std::int64_t{64});
    QCOMPARE((*last.keys.read())[5 * 64 + 32 + 7], -0.056641355f);
    QCOMPARE((*last.values.read())[63 * 64 + 32 + 31], -0.052124426f);
  }

  void tableOfFourBits() {  // one block of iq4_nl in each row: scale 0.5, codes 0 to 15 twice
    std::string block = raw<std::uint16_t>(0x3800);
    for (int i = 0; i < 16; ++i) block.push_back(static_cast<char>(i | i << 4));
    const std::string rows = raw<std::int32_t>(20) + raw<std::uint64_t>(18) + block;
    const std::string file = LlamaBytes::front() + raw<std::uint32_t>(1) + LlamaBytes{.positions = {0}}.cells() +
        raw<std::uint32_t>(0) + raw<std::uint32_t>(1) + rows + rows;
    QTemporaryDir folder;
    const auto cache = openSample(llamaSample("", file), folder.path().toStdString());
    QVERIFY2(cache, qPrintable(foreignText(cache)));
    const auto keys = *cache->layers[0].keys.read();
    QCOMPARE(cache->layers[0].keys.type, std::string("iq4_nl"));
    QCOMPARE(keys.size(), std::size_t{32});
    QCOMPARE(keys[0], -63.5f);
    QCOMPARE(keys[31], 56.5f);
  }
};

KV_TEST(ForeignTest)
#include "foreign_test.moc"
