// SPDX-License-Identifier: Apache-2.0
// Files that a session writes for other programs: every byte against the rows of the Hugging Face form, which
// transformers itself reads in tests/oracle.
#include <cmath>

#include "core/foreign/foreign_cache.h"
#include "core/foreign/md5.h"
#include "core/foreign/row_codes.h"
#include "kernels/scalar_convert.h"
#include "support/runner.h"
#include "support/scripted_session.h"
#include "unit/cache_parts.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

/// Reads a file from its first byte to its last.
class Bytes {
 public:
  explicit Bytes(const std::string& path) : m_bytes(readAll(path)) {}
  template <class T>
  T take() {
    T out{};
    if (m_at + sizeof out > m_bytes.size()) qFatal("the file ends at byte %zu", m_bytes.size());
    std::memcpy(&out, m_bytes.data() + m_at, sizeof out);
    m_at += sizeof out;
    return out;
  }
  bool atEnd() const { return m_at == m_bytes.size(); }

 private:
  std::string m_bytes;
  std::size_t m_at = 0;
};

/// Values of a layer, [rows][kvHeads * headDim].
using Rows = std::vector<std::vector<float>>;

/// A part of a sequence file.
struct Part {
  std::vector<int> positions;
  std::vector<std::pair<Rows, Rows>> layers;  // keys, values
};

float value(Bytes& in, int type) {
  return type == 0 ? in.take<float>() : kernels::halfToFloat(in.take<std::uint16_t>());
}

Rows rowsOf(Bytes& in, std::size_t cells, bool columns) {
  const int type = in.take<std::int32_t>();
  Rows out(cells);
  if (columns) {
    const auto bytes = in.take<std::uint32_t>(), width = in.take<std::uint32_t>();
    if (bytes != (type == 0 ? 4u : 2u)) qFatal("a value of %u bytes", bytes);
    for (std::uint32_t x = 0; x < width; ++x)
      for (auto& row : out) row.push_back(value(in, type));
    return out;
  }
  const auto bytes = in.take<std::uint64_t>();
  for (auto& row : out) {
    if (type == 8) {  // q8_0
      for (std::uint64_t block = 0; block < bytes / 34; ++block) {
        const float scale = kernels::halfToFloat(in.take<std::uint16_t>());
        for (int i = 0; i < 32; ++i) row.push_back(scale * static_cast<float>(in.take<std::int8_t>()));
      }
    } else {
      for (std::uint64_t i = 0; i < bytes / (type == 0 ? 4 : 2); ++i) row.push_back(value(in, type));
    }
  }
  return out;
}

/// The whole file: parts up to its last byte.
std::vector<Part> sequenceOf(const std::string& path, std::vector<int>& ids) {
  Bytes in(path);
  if (in.take<std::uint32_t>() != 0x67677371 || in.take<std::uint32_t>() != 3) qFatal("no sequence file");
  ids.resize(in.take<std::uint32_t>());
  for (int& id : ids) id = in.take<std::int32_t>();
  std::vector<Part> out;
  while (!in.atEnd()) {
    Part& part = out.emplace_back();
    if (in.take<std::uint32_t>() != 1) qFatal("streams");
    part.positions.resize(in.take<std::uint32_t>());
    for (int& position : part.positions) {
      position = in.take<std::int32_t>();
      if (in.take<std::uint32_t>() != 1 || in.take<std::int32_t>() != 0) qFatal("sequences");
    }
    const bool columns = in.take<std::uint32_t>() == 1;
    part.layers.resize(in.take<std::uint32_t>());
    for (auto& layer : part.layers) layer.first = rowsOf(in, part.positions.size(), false);
    for (auto& layer : part.layers) layer.second = rowsOf(in, part.positions.size(), columns);
  }
  return out;
}

/// Keys with the pairs of each head side by side.
Rows neighbours(Rows keys, std::size_t dim) {
  for (auto& row : keys)
    for (std::size_t head = 0; head < row.size(); head += dim) {
      const std::vector<float> own(row.begin() + std::ptrdiff_t(head), row.begin() + std::ptrdiff_t(head + dim));
      for (std::size_t i = 0; i < dim / 2; ++i) {
        row[head + 2 * i] = own[i];
        row[head + 2 * i + 1] = own[i + dim / 2];
      }
    }
  return keys;
}

}  // namespace

class OutgoingFilesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sequenceFile_data();
  void sequenceFile();
  void familiesPairAsTheirGgufFiles();
  void layersWithAWindow();
  void quantisedRowsAreRotated();
  void versions();
  void holesStay();
  void vllmStores();
  void whatAFormCannotHold();
  void rowsWithoutAToken();
  void hadamardAndMd5();

 private:
  std::string path(const char* name) const { return m_folder.filePath(QString::fromUtf8(name)).toStdString(); }

  /// Rows as transformers has them.
  Rows transformersRows(Session& session, int layer, bool keys) {
    call(session, "saveCache", {{"path", path("hf")}, {"form", "hf_dynamic"}});
    const Parts file = Parts::of(path("hf"));
    const std::string name = "past_key_values." + std::to_string(layer) + (keys ? ".key" : ".value");
    const json shape = file.header[name]["shape"];
    const std::size_t heads = shape[1], rows = shape[2], dim = shape[3];
    const bool half = file.header[name]["dtype"] == "F16";
    Rows out(rows);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t x = 0; x < heads * dim; ++x) {
        const std::size_t at = (x / dim * rows + row) * dim + x % dim;
        float one = 0;
        std::uint16_t bits = 0;
        if (half) std::memcpy(&bits, file.data.data() + file.offset(name) + 2 * at, 2);
        else std::memcpy(&one, file.data.data() + file.offset(name) + 4 * at, 4);
        out[row].push_back(half ? kernels::halfToFloat(bits) : one);
      }
    return out;
  }

  QTemporaryDir m_folder;
};

void OutgoingFilesTest::sequenceFile_data() {
  QTest::addColumn<QString>("model");
  QTest::addColumn<bool>("paired");
  QTest::addColumn<bool>("flash");
  for (const bool flash : {true, false}) {
    QTest::addRow("llama, flash %d", flash) << "synthetic:tiny" << true << flash;
    QTest::addRow("smollm3, flash %d", flash) << "synthetic:tiny-nope" << true << flash;
    QTest::addRow("gpt-oss, flash %d", flash) << "synthetic:tiny-moe" << false << flash;
  }
}

/// Ids, positions, keys in the pairs of llama.cpp, values by row or by column, to the last byte.
void OutgoingFilesTest::sequenceFile() {
  QFETCH(QString, model);
  QFETCH(bool, paired);
  QFETCH(bool, flash);
  auto s = opened(tinyManifest({{"model", model.toStdString()}}));
  call(*s, "promptIds", {{"ids", someIds(24, 200, 3)}});
  const json saved =
      call(*s, "saveCache", {{"path", path("seq")}, {"form", "llama_cpp"}, {"type", "f32"}, {"flash", flash}});
  QCOMPARE(saved["bytes"].get<qint64>(), QFileInfo(m_folder.filePath("seq")).size());
  std::vector<int> ids;
  const std::vector<Part> parts = sequenceOf(path("seq"), ids);
  QCOMPARE(parts.size(), std::size_t{1});
  QCOMPARE(ids, someIds(24, 200, 3));
  for (int i = 0; i < 24; ++i) QCOMPARE(parts[0].positions[at(i)], i);
  QCOMPARE(parts[0].layers.size(), std::size_t{4});
  for (int layer = 0; layer < 4; ++layer) {
    QCOMPARE(parts[0].layers[at(layer)].second, transformersRows(*s, layer, false));
    const Rows keys = transformersRows(*s, layer, true);
    QCOMPARE(parts[0].layers[at(layer)].first, paired ? neighbours(keys, 16) : keys);
  }
}

/// llama.cpp pairs neighbours where the rows of q and k in a GGUF file stand so.
void OutgoingFilesTest::familiesPairAsTheirGgufFiles() {
  const QDir folder(KVLAB_TESTS_DIR "/oracle/gguf");
  int seen = 0;
  for (const QString& name : folder.entryList({"*_f32.gguf"}, QDir::Files)) {
    auto s = opened(tinyManifest({{"model", folder.filePath(name).toStdString()}}));
    call(*s, "promptIds", {{"ids", someIds(9, 60, 3)}});
    call(*s, "saveCache", {{"path", path("seq")}, {"form", "llama_cpp"}, {"type", "f32"}});
    std::vector<int> ids;
    const auto [keys, values] = sequenceOf(path("seq"), ids)[0].layers[0];
    int layer = 0;  // the first that has no part of its own
    while (transformersRows(*s, layer, false) != values) ++layer;
    const Rows own = transformersRows(*s, layer, true);
    const ModelConfig& config = s->model().config();
    QVERIFY2(keys == (config.interleavedRotary ? neighbours(own, at(config.headDim)) : own), qPrintable(name));
    ++seen;
  }
  QVERIFY2(seen > 6, QByteArray::number(seen));
}

/// They have a part of their own, with the rows that the newest query sees.
void OutgoingFilesTest::layersWithAWindow() {
  auto s = opened(tinyManifest({{"model", "synthetic:tiny-gemma"}}));  // layers 0 and 2 have a window of 24
  call(*s, "promptIds", {{"ids", someIds(40, 200, 3)}});
  call(*s, "saveCache", {{"path", path("seq")}, {"form", "llama_cpp"}, {"type", "f32"}});
  std::vector<int> ids;
  const std::vector<Part> parts = sequenceOf(path("seq"), ids);
  QCOMPARE(parts.size(), std::size_t{2});
  QCOMPARE(ids.size(), std::size_t{40});
  QCOMPARE(parts[0].positions.size(), std::size_t{40});
  QCOMPARE(parts[1].positions.size(), std::size_t{24});
  QCOMPARE(parts[1].positions.front(), 16);
  for (int place = 0; place < 2; ++place) {
    QCOMPARE(parts[0].layers[at(place)].first, transformersRows(*s, 2 * place + 1, true));
    const Rows all = transformersRows(*s, 2 * place, true);
    QCOMPARE(parts[1].layers[at(place)].first, Rows(all.end() - 24, all.end()));
  }
}

/// As llama.cpp stores rows in blocks where 64 divides a head.
void OutgoingFilesTest::quantisedRowsAreRotated() {
  auto s = opened(tinyManifest({{"model", KVLAB_TESTS_DIR "/oracle/models/gemma3_wide_f16"}}));  // heads of 64 values
  call(*s, "promptIds", {{"ids", someIds(5, 60, 3)}});
  call(*s, "saveCache", {{"path", path("seq")}, {"form", "llama_cpp"}, {"type", "q8_0"}});
  std::vector<int> ids;
  const std::vector<Part> parts = sequenceOf(path("seq"), ids);
  QCOMPARE(parts.size(), std::size_t{2});
  for (const bool keys : {true, false}) {
    const Rows exact = transformersRows(*s, 1, keys);  // layer 1 sees everything
    Rows got = keys ? parts[0].layers[0].first : parts[0].layers[0].second;
    for (std::size_t row = 0; row < got.size(); ++row) {
      float most = 0, off = 0;
      hadamard(got[row], 64);
      for (std::size_t x = 0; x < got[row].size(); ++x) {
        most = std::max(most, std::abs(exact[row][x]));
        off = std::max(off, std::abs(exact[row][x] - got[row][x]));
      }
      QVERIFY2(most > 0 && off < most * 0.03f, QByteArray::number(off / most));
    }
  }
  QCOMPARE(codeOf(*s, "saveCache", {{"path", path("no")}, {"form", "llama_cpp"}, {"type", "q8_0"}, {"flash", false}}),
           std::string("unsupported"));
}

/// Version 4 says the blocks by which rows are turned, and nothing else is another.
void OutgoingFilesTest::versions() {
  auto s = opened(tinyManifest({{"model", KVLAB_TESTS_DIR "/oracle/models/gemma3_wide_f16"}}));
  call(*s, "promptIds", {{"ids", someIds(5, 60, 3)}});
  for (const auto& [type, block] : {std::pair("q8_0", 64), {"f16", 0}}) {
    call(*s, "saveCache", {{"path", path("v3")}, {"form", "llama_cpp"}, {"type", type}});
    call(*s, "saveCache", {{"path", path("v4")}, {"form", "llama_cpp"}, {"type", type}, {"version", 4}});
    QCOMPARE(QFileInfo(m_folder.filePath("v4")).size(), QFileInfo(m_folder.filePath("v3")).size() + 2 * 8);
    const auto older = openForeign(path("v3"), {}), newer = openForeign(path("v4"), {});
    QVERIFY(older && newer);
    for (std::size_t layer = 0; layer < older->layers.size(); ++layer) {
      QCOMPARE(*newer->layers[layer].keys.read(), *older->layers[layer].keys.read());
      QCOMPARE(*newer->layers[layer].values.read(), *older->layers[layer].values.read());
    }
    const std::string says = "blocks of " + std::to_string(block) + " values and values";
    QCOMPARE(newer->notes.size() == 1 && newer->notes[0].find(says) != std::string::npos, block > 0);
  }
  for (const json& wish : {json{{"form", "llama_cpp"}, {"version", 2}}, json{{"form", "vllm_cpu"}, {"version", 3}}}) {
    json args = wish;
    args["path"] = path("no");
    QCOMPARE(codeOf(*s, "saveCache", args), std::string("bad_argument"));
  }
}

/// Rows that were evicted from all layers are no cells; positions of the others stay.
void OutgoingFilesTest::holesStay() {
  auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", someIds(12, 200, 3)}});
  for (int layer = 0; layer < 4; ++layer) call(*s, "evict", {{"layer", layer}, {"ledger", {5, 6}}, {"now", true}});
  call(*s, "saveCache", {{"path", path("seq")}, {"form", "llama_cpp"}, {"type", "f32"}});
  std::vector<int> ids;
  const std::vector<Part> parts = sequenceOf(path("seq"), ids);
  QCOMPARE(parts.size(), std::size_t{1});
  QCOMPARE(parts[0].positions, std::vector<int>({0, 1, 2, 3, 4, 7, 8, 9, 10, 11}));
  QCOMPARE(parts[0].layers[3].second, transformersRows(*s, 3, false));
  call(*s, "evict", {{"layer", 2}, {"ledger", {8}}, {"now", true}});
  QCOMPARE(codeOf(*s, "saveCache", {{"path", path("seq")}, {"form", "llama_cpp"}}), std::string("ragged"));
  QCOMPARE(codeOf(*s, "saveCache", {{"path", path("seq")}, {"form", "vllm_cuda"}, {"page", 4}}), std::string("ragged"));
}

/// A row of a key and its value on CUDA; on a CPU the keys of a block and head transposed, then its values.
void OutgoingFilesTest::vllmStores() {
  auto s = opened(tinyManifest());
  const std::vector<int> ids = someIds(70, 200, 3);
  call(*s, "promptIds", {{"ids", ids}});
  call(*s, "saveCache", {{"path", path("cuda")}, {"form", "vllm_cuda"}, {"type", "f32"}});
  call(*s, "saveCache", {{"path", path("cpu")}, {"form", "vllm_cpu"}, {"page", 32}});
  const auto folder = [&](std::size_t count) {
    std::vector<std::int64_t> bytes(ids.begin(), ids.begin() + std::ptrdiff_t(count));
    return "/" + md5(std::as_bytes(std::span(bytes))) + "/model.layers.2.self_attn.attn.safetensors";
  };
  const Rows keys = transformersRows(*s, 2, true), values = transformersRows(*s, 2, false);
  const Parts cuda = Parts::of(path("cuda") + folder(64)), cpu = Parts::of(path("cpu") + folder(64));
  for (const Parts* one : {&cuda, &cpu}) QCOMPARE(one->header["kv_cache"]["shape"], json({64, 2, 32}));
  const auto valueAt = [](const Parts& file, std::size_t i) {
    float out = 0;
    std::memcpy(&out, file.data.data() + 4 * i, 4);
    return out;
  };
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t x = 0; x < 32; ++x) {
      const std::size_t head = x / 16, d = x % 16;
      QCOMPARE(valueAt(cuda, (row * 2 + head) * 32 + d), keys[row][x]);
      QCOMPARE(valueAt(cuda, (row * 2 + head) * 32 + 16 + d), values[row][x]);
      // the bytes of a head in a block: its 32 rows of the view, one behind another
      const auto inBlock = [&](std::size_t i) { return ((row / 32 * 32 + i / 32) * 2 + head) * 32 + i % 32; };
      QCOMPARE(valueAt(cpu, inBlock(d * 32 + row % 32)), keys[row][x]);
      QCOMPARE(valueAt(cpu, inBlock(16 * 32 + row % 32 * 16 + d)), values[row][x]);
    }
}

void OutgoingFilesTest::whatAFormCannotHold() {
  const auto refused = [&](const json& manifest, const json& form, const char* model = "synthetic:tiny") {
    json more = manifest;
    more["model"] = model;
    auto s = opened(tinyManifest(more));
    call(*s, "promptIds", {{"ids", someIds(20, 60, 3)}});
    json args = form;
    args["path"] = path("none");
    const Result<json> done = scripted(*s, "saveCache", args);
    if (done || QFileInfo::exists(m_folder.filePath("none"))) return std::string("written");
    return done.error().code + " " + done.error().field;
  };
  const std::string family = KVLAB_TESTS_DIR "/oracle/models/ministral_f32";
  QCOMPARE(refused(json::object(), {{"form", "llama_cpp"}}, family.c_str()), std::string("unsupported form"));
  QCOMPARE(refused({{"residency", "kv_head"}}, {{"form", "llama_cpp"}}), std::string("unsupported form"));
  QCOMPARE(refused({{"residency", "kv_head"}}, {{"form", "vllm_cuda"}}), std::string("unsupported form"));
  QCOMPARE(refused(json::object(), {{"form", "llama_cpp"}, {"type", "q8_0"}}), std::string("unsupported type"));
  QCOMPARE(refused(json::object(), {{"form", "llama_cpp"}, {"page", 16}}), std::string("bad_argument page"));
  QCOMPARE(refused(json::object(), {{"form", "vllm_cpu"}, {"type", "bf16"}}), std::string("bad_argument type"));
  QCOMPARE(refused(json::object(), {{"form", "vllm_cpu"}, {"page", 16}}), std::string("unsupported page"));
  QCOMPARE(refused(json::object(), {{"form", "vllm_cuda"}, {"page", 32}}), std::string("empty page"));
  QCOMPARE(refused(json::object(), {{"form", "vllm_cuda"}, {"flash", true}}), std::string("bad_argument flash"));
  QCOMPARE(refused(json::object(), {{"form", "native"}, {"type", "f16"}}), std::string("bad_argument type"));
}

/// Rows of tokens that have left, which a known bug leaves behind, have no place in such a file.
void OutgoingFilesTest::rowsWithoutAToken() {
  auto s = opened(tinyManifest({{"faults", true}}));
  call(*s, "promptIds", {{"ids", someIds(12, 200, 3)}});
  call(*s, "bug", {{"name", "crop_zero"}});
  call(*s, "inject", {{"actions", {{{"action", "delete"}, {"position", 11}}}}});
  call(*s, "apply");
  for (const char* form : {"hf_dynamic", "llama_cpp", "vllm_cuda"})
    QCOMPARE(codeOf(*s, "saveCache", {{"path", path("none")}, {"form", form}}), std::string("damaged"));
}

void OutgoingFilesTest::hadamardAndMd5() {
  std::vector<float> one(64, 0.0f);
  one[1] = 1;
  hadamard(one, 64);
  for (std::size_t i = 0; i < 64; ++i) QCOMPARE(one[i], i % 2 == 0 ? 0.125f : -0.125f);
  hadamard(one, 64);
  QCOMPARE(one[1], 1.0f);
  QCOMPARE(md5({}), std::string("d41d8cd98f00b204e9800998ecf8427e"));
  QCOMPARE(md5(bytesOf("abc")), std::string("900150983cd24fb0d6963f7d28e17f72"));
  QCOMPARE(md5(bytesOf(std::string(64, 'a'))), std::string("014842d480b571495a4a0363793f7367"));
}

KV_TEST(OutgoingFilesTest)
#include "outgoing_files_test.moc"
