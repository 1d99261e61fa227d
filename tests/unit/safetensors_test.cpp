// SPDX-License-Identifier: Apache-2.0
// safetensors: reading files of transformers, round trips, and a catalogue of damaged files.
#include "core/model/files/safetensors.h"

#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

const std::string kOne = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
const std::string kEight(8, 'x');

struct BadFile {
  const char* name;
  std::string file;
  const char* why;  // part of the error
};

std::string entry(const std::string& fields) { return "{\"a\":{" + fields + "}}"; }

std::vector<BadFile> badFiles() {
  const auto file = [](const std::string& header, const std::string& data = kEight) {
    return safetensorsFile(header, data);
  };
  return {
      {"empty", "", "0 bytes"},
      {"seven bytes", std::string(7, '\0'), "7 bytes"},
      {"header length beyond the file", safetensorsFile(kOne, kEight, 5000), "byte 0"},
      {"header length near 2^64", safetensorsFile(kOne, kEight, ~0ull - 3), "byte 0"},
      {"header length over the limit", safetensorsFile(kOne, kEight, 100'000'001), "limit"},
      {"empty header", file(""), "starts with {"},
      {"header is a list", file("[]"), "starts with {"},
      {"header starts with a space", file(" " + kOne), "starts with {"},
      {"header is cut", file(kOne.substr(0, 20)), "not JSON at byte"},
      {"text after the header", file(kOne + "x"), "not JSON at byte"},
      {"not UTF-8", file("{\"\xff\":1}"), "not JSON at byte"},
      {"nested deeply", file("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}"), "deeper"},
      {"name twice",
       file(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
            R"("a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})"),
       "\"a\" appears twice"},
      {"key twice", file(entry(R"("dtype":"U8","dtype":"U8","shape":[8],"data_offsets":[0,8])")), "twice"},
      {"tensor is a number", file(R"({"a":1})"), "not an object"},
      {"unknown key", file(entry(R"("dtype":"U8","shape":[8],"data_offsets":[0,8],"x":1)")), "unknown key"},
      {"no dtype", file(entry(R"("shape":[8],"data_offsets":[0,8])")), "no dtype"},
      {"unknown dtype beyond the data", file(entry(R"("dtype":"F4","shape":[8],"data_offsets":[0,16])")),
       "byte 16 of 8"},
      {"no shape", file(entry(R"("dtype":"U8","data_offsets":[0,8])")), "no shape"},
      {"negative dimension", file(entry(R"("dtype":"U8","shape":[-8],"data_offsets":[0,8])")), "-8"},
      {"fractional dimension", file(entry(R"("dtype":"U8","shape":[8.0],"data_offsets":[0,8])")), "8.0"},
      {"dimension over 63 bits", file(entry(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,8])")),
       "18446744073709551615"},
      {"shape overflows to 8", file(entry(R"("dtype":"F32","shape":[4611686018427387905,2],"data_offsets":[0,8])")),
       "too big"},
      {"many dimensions",
       file(entry(R"("dtype":"U8","shape":[8,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,8])")),
       "17 dimensions"},
      {"no offsets", file(entry(R"("dtype":"U8","shape":[8])")), "data_offsets"},
      {"one offset", file(entry(R"("dtype":"U8","shape":[8],"data_offsets":[0])")), "data_offsets"},
      {"offsets backwards", file(entry(R"("dtype":"U8","shape":[8],"data_offsets":[8,0])")), "not a range"},
      {"negative offset", file(entry(R"("dtype":"U8","shape":[8],"data_offsets":[-8,0])")), "not a range"},
      {"offset beyond the data", file(entry(R"("dtype":"U8","shape":[16],"data_offsets":[0,16])")), "byte 16 of 8"},
      {"offset near 2^63",
       file(entry(R"("dtype":"U8","shape":[8],"data_offsets":[9223372036854775799,9223372036854775807])")),
       "ends at byte"},
      {"fewer bytes than the shape", file(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])")), "takes 12"},
      {"more bytes than the shape", file(entry(R"("dtype":"U8","shape":[3],"data_offsets":[0,8])")), "takes 3"},
      {"overlap",
       file(R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},)"
            R"("b":{"dtype":"U8","shape":[6],"data_offsets":[2,8]}})"),
       "inside the tensor before"},
      {"gap",
       file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
            R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})"),
       "behind a gap"},
      {"data left over", file(kOne, kEight + "y"), "end at data byte 8"},
      {"data cut", file(kOne, "xxx"), "ends at byte 8 of 3"},
      {"metadata not text", file(R"({"__metadata__":{"n":1}})", ""), "not text"},
      {"metadata not an object", file(R"({"__metadata__":"n"})", ""), "not an object"},
  };
}

}  // namespace

class SafetensorsTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_dir;
  std::string path(const char* name) const { return m_dir.filePath(name).toStdString(); }

 private Q_SLOTS:
  void readsWhatTransformersWrote() {
    const auto file = Safetensors::open(KVLAB_TESTS_DIR "/oracle/models/qwen2_window_bf16/model.safetensors");
    QVERIFY2(file, file ? "" : file.error().text().c_str());
    const FileTensor* bias = file->find("model.layers.1.self_attn.k_proj.bias");
    QVERIFY(bias);
    QCOMPARE(bias->element, Element::BF16);
    QCOMPARE(bias->shape, std::vector<std::int64_t>{32});
    QCOMPARE(file->metadata().at("format"), std::string("pt"));
    QCOMPARE(file->bytes(), 120960);
    QVERIFY(!file->find("no such tensor"));
  }

  void readsShards() {
    const auto all = Safetensors::openDirectory(KVLAB_TESTS_DIR "/oracle/models/llama_sharded_bf16");
    QVERIFY2(all, all ? "" : all.error().text().c_str());
    QVERIFY(all->find("lm_head.weight") && all->find("model.embed_tokens.weight"));
  }

  void integersAreNoKernelOperands() {
    const auto file = Safetensors::open(KVLAB_TESTS_DIR "/oracle/models/llama_tied_f32/golden.safetensors");
    QVERIFY(file);
    QVERIFY(!file->find("input_ids")->view());
    QCOMPARE(file->find("logits")->view().dtype, kernels::DType::f32);
  }

  void bytesAnywhereAreFine() {  // data at an odd offset
    const auto file = safetensorsFile(kOne + " ", kEight);
    const auto parsed = Safetensors::parse(bytesOf(file), "f");
    QVERIFY(parsed);
    QCOMPARE(widened(parsed->find("a")->view()).size(), 2u);
  }

  void emptyTensorsAndNone() {
    const auto file = safetensorsFile(R"({"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},)"
                                      R"("b":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})",
                                      kEight);
    QVERIFY(Safetensors::parse(bytesOf(file), "f"));
    const auto none = safetensorsFile("{}", "");
    QVERIFY(Safetensors::parse(bytesOf(none), "f"));
  }

  void refusesDamage_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QString>("why");
    for (const BadFile& bad : badFiles())
      QTest::newRow(bad.name) << QByteArray::fromStdString(bad.file) << QString(bad.why);
  }
  void refusesDamage() {
    QFETCH(QByteArray, file);
    QFETCH(QString, why);
    // A heap copy of the exact size: reads past the end are visible to the address sanitizer.
    const std::vector<std::byte> copy(reinterpret_cast<const std::byte*>(file.constData()),
                                      reinterpret_cast<const std::byte*>(file.constData()) + file.size());
    const auto parsed = Safetensors::parse(copy, "some.safetensors");
    QVERIFY(!parsed);
    QCOMPARE(parsed.error().code, std::string("bad_file"));
    QVERIFY(parsed.error().what.find("some.safetensors") != std::string::npos);
    QVERIFY2(parsed.error().why.find(why.toStdString()) != std::string::npos, parsed.error().why.c_str());
    QVERIFY(!parsed.error().toJson().dump().empty());
  }

  void everyTruncationIsAnError() {
    const std::string whole = readAll(KVLAB_TESTS_DIR "/oracle/models/llama_linear_params_f16/model.safetensors");
    QVERIFY(!whole.empty());
    for (std::size_t n = 0; n < whole.size(); n += n < 3000 ? 1 : 997) {
      const std::vector<std::byte> cut(bytesOf(whole).begin(), bytesOf(whole).begin() + static_cast<std::ptrdiff_t>(n));
      QVERIFY2(!Safetensors::parse(cut, "f"), std::to_string(n).c_str());
    }
  }

  void filesThatAreNotThere() {
    QCOMPARE(Safetensors::open(path("none")).error().code, std::string("bad_file"));
    QCOMPARE(Safetensors::open(m_dir.path().toStdString()).error().code, std::string("bad_file"));
    QCOMPARE(Safetensors::openDirectory(m_dir.path().toStdString()).error().code, std::string("bad_file"));
  }

  void refusesBadIndexes() {
    const std::string index = path("model.safetensors.index.json");
    writeFile(path("s1"), safetensorsFile(kOne, kEight));
    writeFile(path("s2"), safetensorsFile(kOne, kEight));
    const std::pair<const char*, const char*> cases[] = {
        {"{", "not JSON"},
        {"[]", "no weight_map"},
        {R"({"weight_map":{}})", "no weight_map"},
        {R"({"weight_map":{"a":1}})", "not a file name"},
        {R"({"weight_map":{"a":"../s1"}})", "plain file name"},
        {R"({"weight_map":{"a":"/etc/passwd"}})", "plain file name"},
        {R"({"weight_map":{"a":"gone"}})", "model.safetensors.index.json names the file"},
        {R"({"weight_map":{"a":"gone"}})", "/gone"},
        {R"({"weight_map":{"a":"s1","b":"s1"}})", "\"b\": not in s1"},
        {R"({"weight_map":{"a":"s1","b":"s2"}})", "\"b\": not in s2, where the index has it"},
        {R"({"weight_map":{"x":"s1","y":"s2"}})", "the index does not say which one counts"}};
    for (const auto& [text, why] : cases) {
      writeFile(index, text);
      const auto all = Safetensors::openDirectory(m_dir.path().toStdString());
      QVERIFY2(!all, text);
      QCOMPARE(all.error().code, std::string("bad_file"));
      QVERIFY2(all.error().text().find(why) != std::string::npos, all.error().text().c_str());
    }
    writeFile(index, R"({"metadata":{"total_size":8},"weight_map":{"a":"s1"}})");
    QVERIFY(Safetensors::openDirectory(m_dir.path().toStdString()));
  }

  void theIndexSaysWhichCopyCounts() {
    const auto file = [](const char* names, float first, float second) {
      const float data[] = {first, second};
      return safetensorsFile(names, std::string(reinterpret_cast<const char*>(data), sizeof data));
    };
    const char* both = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],)"
                       R"("data_offsets":[4,8]}})";
    writeFile(path("base"), file(both, 1, 2));
    writeFile(path("overlay"), file(both, 3, 4));
    const std::string index = path("model.safetensors.index.json");
    const auto value = [&](const char* name) {
      const auto all = Safetensors::openDirectory(m_dir.path().toStdString());
      return all ? widened(all->find(name)->view()).at(0) : -1.0f;
    };
    writeFile(index, R"({"weight_map":{"a":"base","b":"overlay"}})");
    QCOMPARE(value("a"), 1.0f);
    QCOMPARE(value("b"), 4.0f);
    writeFile(index, R"({"weight_map":{"a":"overlay","b":"base"}})");
    QCOMPARE(value("a"), 3.0f);
    QCOMPARE(value("b"), 2.0f);
  }

  void typesThatNobodyKnowsAreNotJudged() {
    const std::string header =
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"odd":{"dtype":"C64","shape":[5],)"
        R"("data_offsets":[4,8]}})";
    writeFile(path("odd"), safetensorsFile(header, std::string(8, '\1')));
    const auto file = Safetensors::open(path("odd"));
    QVERIFY2(file, file ? "" : file.error().text().c_str());
    QVERIFY(file->find("a")->view());
    QVERIFY(!file->find("odd")->view());
    QVERIFY(!name(file->find("odd")->element).data() || name(file->find("odd")->element).empty());
  }

  void writesWhatItReads() {
    const std::vector<float> values{1, 2, 3, 4, 5, 6};
    const std::string text = "odd";
    SafetensorsWriter writer;
    writer.add("t", Element::U8, {3}, bytesOf(text));
    writer.add("v", {values.data(), kernels::DType::f32, {2, 3}});
    writer.metadata("form", "native \"x\" \xc3\xa4");
    const std::string file = path("out.safetensors");
    writeFile(file, "old");
    const auto written = writer.write(file);
    QVERIFY2(written, written ? "" : written.error().text().c_str());
    const auto read = Safetensors::open(file);
    QVERIFY2(read, read ? "" : read.error().text().c_str());
    QCOMPARE(widened(read->find("v")->view()), values);
    QCOMPARE(read->find("v")->shape, (std::vector<std::int64_t>{2, 3}));
    QCOMPARE(read->find("t")->bytes.size(), 3u);
    QCOMPARE(read->metadata().at("form"), std::string("native \"x\" \xc3\xa4"));
    QCOMPARE(QDir(m_dir.path()).entryList({".kvlab-part-*"}, QDir::Files | QDir::Hidden).size(), 0);
  }

  void refusesToWriteNonsense() {
    SafetensorsWriter twice, wrong, nowhere;
    twice.add("a", Element::U8, {8}, bytesOf(kEight));
    twice.add("a", Element::U8, {8}, bytesOf(kEight));
    wrong.add("a", Element::F32, {8}, bytesOf(kEight));
    const std::string file = path("never");
    QVERIFY(!twice.write(file) && !wrong.write(file));
    QVERIFY(!QFile::exists(QString::fromStdString(file)));
    QCOMPARE(nowhere.write(path("no/such/folder")).error().code, std::string("bad_file"));
  }
};

KV_TEST(SafetensorsTest)
#include "safetensors_test.moc"
