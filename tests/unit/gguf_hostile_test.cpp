// SPDX-License-Identifier: Apache-2.0
// A catalogue of damaged GGUF files: each is refused as bad_model with the place and a remedy, by Model::open too.
#include "core/model/files/gguf.h"
#include "core/model/model.h"
#include "support/runner.h"
#include "unit/gguf_bytes.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

struct HostileFile {
  const char* name;
  std::string bytes;
  const char* place;  // beginning of the error's `why`
  const char* why;    // part of the rest
  const char* remedy = "use an undamaged copy of the file";
};

constexpr const char* kOther = "use a file in Q4_K_M";

GgufBytes changedBytes(const std::function<void(GgufBytes&)>& change) {
  GgufBytes out;
  change(out);
  return out;
}

std::string tensorFile(const std::function<void(GgufBytes&)>& change) { return changedBytes(change).bytes(); }

std::string cut(std::string bytes, std::size_t size) { return bytes.substr(0, size); }

std::string front(const std::string& magic, std::uint32_t version, std::uint64_t tensors, std::uint64_t keys) {
  return magic + raw(version) + raw(tensors) + raw(keys);
}

std::vector<HostileFile> brokenFronts() {
  const std::string whole = littleLlama().bytes();
  return {{"empty", "", "byte 0", "does not start with GGUF", "give a file in GGUF format"},
          {"three bytes", "GGU", "byte 0", "does not start with GGUF", "give a file in GGUF format"},
          {"old format", "ggjt" + std::string(60, '\0'), "byte 0", "does not start with GGUF", "give a file in GGUF"},
          {"Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "byte 0",
           "Git LFS", "git lfs pull"},
          {"only the magic", "GGUF", "byte 4", "version takes 4 bytes"},
          {"version 0", front("GGUF", 0, 0, 0), "byte 4", "version 0", "use a file of version 3"},
          {"version 1", front("GGUF", 1, 0, 0), "byte 4", "version 1", "convert the model anew"},
          {"version 4", front("GGUF", 4, 0, 0), "byte 4", "version 4", "use a file of version 3"},
          {"big endian", front("GGUF", 0x03000000, 0, 0), "byte 4", "big endian", "use the little-endian file"},
          {"no counts", cut(whole, 8), "byte 8", "number of tensors takes 8 bytes"},
          {"half a count of keys", cut(whole, 20), "byte 16", "number of keys takes 8 bytes"},
          {"tensors near 2^64", front("GGUF", 3, ~0ull, 0) + std::string(64, '\0'), "byte 8", "do not fit"},
          {"keys near 2^64", front("GGUF", 3, 0, ~0ull) + std::string(64, '\0'), "byte 8", "do not fit"},
          {"a billion tensors in a short file", front("GGUF", 3, 1'000'000'000, 0) + std::string(64, '\0'), "byte 8",
           "do not fit"},
          {"more keys than there are", front("GGUF", 3, 0, 2) + GgufBytes().text("a.b", std::string(64, 'x')).keyBytes,
           "byte 111", "takes 8 bytes"}};
}

std::vector<HostileFile> brokenKeys() {
  const auto key = [](const std::string& bytes, std::uint64_t keys = 1) { return front("GGUF", 3, 0, keys) + bytes; };
  const std::string pad(64, '\0');
  return {
      {"key name longer than the file", key(raw<std::uint64_t>(1 << 20) + pad), "byte 32", "takes 1048576 bytes"},
      {"key name near 2^64", key(raw<std::uint64_t>(~0ull - 7) + pad), "byte 32", "takes 18446744073709551608"},
      {"key name over 65535 bytes", key(ggufText(std::string(65536, 'k')) + raw<std::uint32_t>(0) + pad), "byte 24",
       "longer than 65535"},
      {"empty key name", key(ggufText("") + pad), "byte 24", "not printable"},
      {"key name with NUL", key(ggufText(std::string("a\0b", 3)) + pad), "byte 24", "not printable"},
      {"key name that is no UTF-8", key(ggufText("\xff\xfe") + pad), "byte 24", "not printable"},
      {"unknown kind of value", GgufBytes().key("a.b", 13, pad).bytes(), "byte 35", "kind 13"},
      {"kind near 2^32", GgufBytes().key("a.b", ~0u, pad).bytes(), "byte 35", "kind 4294967295"},
      {"value cut", GgufBytes().key("a.long.enough.name", 10, "1234").head(), "byte 54", "takes 8 bytes"},
      {"text longer than the file", GgufBytes().key("a.b", 8, raw<std::uint64_t>(~0ull) + pad).bytes(), "byte 47",
       "takes 18446744073709551615"},
      {"array of arrays", GgufBytes().array("a.b", 9, 1, raw<std::uint32_t>(4) + raw<std::uint64_t>(0)).bytes(),
       "key \"a.b\"", "array of arrays", "without this key"},
      {"array of unknown kind", GgufBytes().array("a.b", 99, 1, pad).bytes(), "byte 39", "kind 99"},
      {"array longer than the file", GgufBytes().array("a.b", 4, 1 << 20, pad).bytes(), "key \"a.b\"", "1048576 items"},
      {"array near 2^64", GgufBytes().array("a.b", 10, ~0ull / 8 + 2, pad).bytes(), "key \"a.b\"",
       "items of at least 8"},
      {"array of texts near 2^64", GgufBytes().array("a.b", 8, ~0ull, pad).bytes(), "key \"a.b\"",
       "items of at least 8"},
      {"text in an array longer than the file",
       GgufBytes().array("a.b", 8, 2, ggufText("x") + raw<std::uint64_t>(1 << 30) + pad).bytes(), "key \"a.b\"",
       "item 1"},
      {"key twice", GgufBytes().u32("a.b", 1).u32("a.b", 1).bytes(), "key \"a.b\"", "twice"},
      {"flag that is 2", GgufBytes().key("a.b", 7, "\2").bytes(), "key \"a.b\"", "only 0 and 1"},
      {"flag in an array that is 255", GgufBytes().array("a.b", 7, 3, std::string("\1\0\xff", 3)).bytes(),
       "key \"a.b\"", "255"},
      {"alignment 0", GgufBytes().u32("general.alignment", 0).bytes(), "key \"general.alignment\"", "power of two"},
      {"alignment 24", GgufBytes().u32("general.alignment", 24).bytes(), "key \"general.alignment\"", "power of two"},
      {"alignment 2^31", GgufBytes().u32("general.alignment", 1u << 31).bytes(), "key \"general.alignment\"",
       "power of two"},
      {"alignment is text", GgufBytes().text("general.alignment", "32").bytes(), "key \"general.alignment\"",
       "not u32"},
      {"alignment is an array", GgufBytes().array("general.alignment", 4, 0, "").bytes(), "key \"general.alignment\"",
       "not u32"}};
}

std::vector<HostileFile> brokenTensors() {
  const std::string data(64, 'x');
  const auto claim = [&](const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t offset) {
    return tensorFile([&](GgufBytes& f) { f.claim("t", dims, type, offset).data = data; });
  };
  const auto named = [&](const std::string& name) {
    return tensorFile([&](GgufBytes& f) { f.claim(name, {4}, 0, 0).data = data; });
  };
  return {
      {"tensor name over 64 bytes", named(std::string(65, 't')), "byte 24", "65 bytes long"},
      {"empty tensor name", named(""), "byte 24", "not printable"},
      {"tensor name with a line feed", named("a\nb"), "byte 24", "not printable"},
      {"tensor twice", tensorFile([](GgufBytes& f) { f.f32s("t", {4}).f32s("t", {4}); }), "tensor \"t\"", "twice"},
      {"no dimensions", claim({}, 0, 0), "tensor \"t\"", "0 dimensions"},
      {"five dimensions", claim({1, 1, 1, 1, 1}, 0, 0), "tensor \"t\"", "5 dimensions"},
      {"a dimension of 0", claim({4, 0}, 0, 0), "tensor \"t\"", "dimension of 0"},
      {"a dimension near 2^64", claim({~0ull}, 0, 0), "tensor \"t\"", "dimension of 18446744073709551615"},
      {"shape overflows to 4", claim({(1ull << 62) + 1, 4}, 0, 0), "tensor \"t\"", "too big"},
      {"elements overflow in blocks", claim({1ull << 62, 2, 2}, 2, 0), "tensor \"t\"", "too big"},
      {"type that nobody knows", claim({4}, 77, 0), "tensor \"t\"", "type 77", kOther},
      {"type that was withdrawn", claim({32}, 4, 0), "tensor \"t\"", "type 4,", kOther},
      {"Q2_K", claim({256}, 10, 0), "tensor \"t\"", "type Q2_K", kOther},
      {"IQ4_XS", claim({256}, 23, 0), "tensor \"t\"", "type IQ4_XS", kOther},
      {"F64", claim({4}, 28, 0), "tensor \"t\"", "type F64", kOther},
      {"row that is half a block", claim({48}, 8, 0), "tensor \"t\"", "blocks of Q8_0 have 32"},
      {"K row that is not full", claim({128, 2}, 12, 0), "tensor \"t\"", "blocks of Q4_K have 256"},
      {"offset beside the alignment", claim({4}, 0, 4), "tensor \"t\"", "not a multiple of 32"},
      {"offset beyond the data", claim({4}, 0, 96), "tensor \"t\"", "the file has 64", "fetch the file again"},
      {"offset near 2^64", claim({4}, 0, ~0ull - 31), "tensor \"t\"", "the file has 64", "fetch the file again"},
      {"end beyond the data", claim({17}, 0, 0), "tensor \"t\"", "takes 68 bytes", "fetch the file again"},
      {"file cut in its last tensor", cut(littleLlama().bytes(), littleLlama().bytes().size() - 1),
       "tensor \"blk.0.ffn_down.weight\"", "takes 256 bytes", "fetch the file again"},
      {"no data at all", tensorFile([](GgufBytes& f) { f.claim("t", {4}, 0, 0); }), "tensor \"t\"", "the file has 0",
       "fetch the file again"},
      {"overlap", tensorFile([&](GgufBytes& f) { f.claim("a", {12}, 0, 0).claim("b", {8}, 0, 32).data = data; }),
       "tensor \"b\"", "inside tensor \"a\""},
      {"two at one place", tensorFile([&](GgufBytes& f) { f.claim("a", {4}, 0, 0).claim("b", {4}, 0, 0).data = data; }),
       "tensor", "inside tensor"},
      {"tensor cut before its type", cut(GgufBytes().claim("a.long.name", {4}, 0, 0).head(), 55), "byte 55",
       "takes 4 bytes"}};
}

/// A sound file whose keys make no model.
std::vector<HostileFile> brokenModels() {
  const auto llama = [](const std::function<void(GgufBytes&)>& more) {
    GgufBytes out = littleLlama();
    more(out);
    return out.bytes();
  };
  const auto without = [](const std::string& name) {
    GgufBytes whole = littleLlama();
    std::string& keys = whole.keyBytes;
    const auto at = keys.find(ggufText(name));
    keys.erase(at, ggufText(name).size() + 8);
    --whole.keys;
    return whole.bytes();
  };
  const auto changedBytes = [](const std::string& name, std::uint32_t value) {
    GgufBytes whole = littleLlama();
    const auto at = whole.keyBytes.find(ggufText(name)) + ggufText(name).size() + 4;
    whole.keyBytes.replace(at, 4, raw(value));
    return whole.bytes();
  };
  const std::string tokens = ggufText("a") + ggufText("b");
  return {
      {"no keys", GgufBytes().bytes(), "key \"general.architecture\"", "is missing", "current converter"},
      {"architecture is a number", GgufBytes().u32("general.architecture", 1).bytes(), "key \"general.architecture\"",
       "not text"},
      {"architecture that is not known", littleLlama("rwkv7").bytes(), "key \"general.architecture\"", "\"rwkv7\"",
       "use a model of gemma2"},
      {"architecture that is no text for people", GgufBytes().text("general.architecture", "\xff\x01").bytes(),
       "key \"general.architecture\"", "\"??\"", "use a model of"},
      {"no layers", changedBytes("llama.block_count", 0), "key \"llama.block_count\"", "outside of 1"},
      {"four billion layers", changedBytes("llama.block_count", ~0u), "key \"llama.block_count\"",
       "outside of 0 to 2^31"},
      {"more layers than tensors", changedBytes("llama.block_count", 2), "tensor \"blk.1.attn_norm.weight\"",
       "is missing", "use a complete checkpoint"},
      {"no heads", changedBytes("llama.attention.head_count", 0), "key \"llama.attention.head_count\"", "is 0"},
      {"KV heads that do not divide", changedBytes("llama.attention.head_count_kv", 3),
       "key \"llama.attention.head_count_kv\"", "does not divide", "use another checkpoint"},
      {"hidden size of others", changedBytes("llama.embedding_length", 16), "tensor \"token_embd.weight\"",
       "the keys ask for"},
      {"hidden size missing", without("llama.embedding_length"), "key \"llama.embedding_length\"", "is missing",
       "use a complete file"},
      {"no length of the feed-forward network", without("llama.feed_forward_length"),
       "key \"llama.feed_forward_length\"", "is missing", "use a complete file"},
      {"heads by layer that differ", llama([](GgufBytes& f) {
         f.keyBytes.replace(f.keyBytes.find("head_count_kv"), 13, "head_count_kx");
         f.array("llama.attention.head_count_kv", 4, 2, raw<std::uint32_t>(1) + raw<std::uint32_t>(2));
       }),
       "key \"llama.attention.head_count_kv\"", "differs by layer", "use another model"},
      {"keys longer than values",
       llama([](GgufBytes& f) { f.u32("llama.attention.key_length", 4).u32("llama.attention.value_length", 2); }),
       "key \"llama.attention.value_length\"", "keys have 4", "keys and values are as long"},
      {"rotary base that is not finite",
       llama([](GgufBytes& f) { f.key("llama.rope.freq_base", 6, raw(0x7f800000u)); }), "key \"llama.rope.freq_base\"",
       "not finite"},
      {"rotary base of 0", llama([](GgufBytes& f) { f.f32("llama.rope.freq_base", 0); }),
       "key \"llama.rope.freq_base\"", "is outside", "use another checkpoint"},
      {"scaling that is not known", llama([](GgufBytes& f) { f.text("llama.rope.scaling.type", "ntk\x80"); }),
       "key \"llama.rope.scaling.type\"", "\"ntk?\"", "linear, yarn or longrope"},
      {"odd number of values that turn", llama([](GgufBytes& f) { f.u32("llama.rope.dimension_count", 3); }),
       "key \"llama.rope.dimension_count\"", "not an even number"},
      {"frequency factors for another head", llama([](GgufBytes& f) { f.f32s("rope_freqs.weight", {3}, 1); }),
       "tensor \"rope_freqs.weight\"", "not f32 [2]"},
      {"frequency factor of 0", llama([](GgufBytes& f) { f.f32s("rope_freqs.weight", {2}, 0); }),
       "tensor \"rope_freqs.weight\"", "outside of 1e-6"},
      {"end of text outside", llama([](GgufBytes& f) { f.u32("tokenizer.ggml.eos_token_id", 8); }),
       "key \"tokenizer.ggml.eos_token_id\"", "8 tokens"},
      {"more tokens than embeddings", llama([](GgufBytes& f) {
         std::string items;
         for (int i = 0; i < 9; ++i) items += ggufText("t" + std::to_string(i));
         f.text("tokenizer.ggml.model", "llama").array("tokenizer.ggml.tokens", 8, 9, items);
       }),
       "key \"tokenizer.ggml.tokens\"", "9 tokens"},
      {"scores for other tokens", llama([&](GgufBytes& f) {
         f.array("tokenizer.ggml.tokens", 8, 2, tokens).array("tokenizer.ggml.scores", 6, 1, raw(0.0f));
       }),
       "key \"tokenizer.ggml.scores\"", "1 items for 2 tokens"},
      {"tokens are numbers", llama([](GgufBytes& f) { f.array("tokenizer.ggml.tokens", 4, 1, raw<std::uint32_t>(1)); }),
       "key \"tokenizer.ggml.tokens\"", "not an array of text"},
      {"template is a number", llama([](GgufBytes& f) { f.u32("tokenizer.chat_template", 1); }),
       "key \"tokenizer.chat_template\"", "not text"},
      {"one of several files under another name", llama([](GgufBytes& f) { f.u32("split.count", 3); }),
       "key \"split.count\"", "one of 3 files", "names back"},
      {"no embedding",
       GgufBytes()
           .text("general.architecture", "llama")
           .u32("llama.block_count", 1)
           .u32("llama.context_length", 1)
           .u32("llama.embedding_length", 8)
           .u32("llama.attention.head_count", 1)
           .bytes(),
       "tensor \"token_embd.weight\"", "is missing", "use a complete file"}};
}

}  // namespace

class GgufHostileTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_dir;

  static void addRows(const std::vector<HostileFile>& files) {
    for (const HostileFile& file : files)
      QTest::newRow(file.name) << QByteArray::fromStdString(file.bytes)
                               << QStringList{file.place, file.why, file.remedy};
  }
  static void columns() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QStringList>("texts");
  }
  /// texts: how the place begins, a part of why, a part of the remedy.
  static void check(const Error& error, const QStringList& texts) {
    QCOMPARE(error.code, std::string("bad_model"));
    QVERIFY2(error.why.starts_with(texts[0].toStdString()), error.why.c_str());
    QVERIFY2(error.why.find(texts[1].toStdString()) != std::string::npos, error.why.c_str());
    QVERIFY2(error.remedy.find(texts[2].toStdString()) != std::string::npos, error.text().c_str());
    QVERIFY2(error.what.find("f.gguf") != std::string::npos, error.what.c_str());
    QVERIFY(!error.toJson().dump().empty());
  }

 private Q_SLOTS:
  void headers_data() {
    columns();
    addRows(brokenFronts());
    addRows(brokenKeys());
    addRows(brokenTensors());
  }
  void headers() {
    QFETCH(QByteArray, bytes);
    QFETCH(QStringList, texts);
    const std::string text = bytes.toStdString();
    const auto parsed = Gguf::parse(bytesOf(text), "f.gguf");
    QVERIFY(!parsed);
    check(parsed.error(), texts);
    const std::string path = m_dir.filePath("f.gguf").toStdString();
    writeFile(path, text);
    const auto opened = Model::open(path, KVLAB_RESOURCES_DIR);
    QVERIFY(!opened);
    check(opened.error(), texts);
  }

  void models_data() {
    columns();
    addRows(brokenModels());
  }
  void models() {
    QFETCH(QByteArray, bytes);
    QFETCH(QStringList, texts);
    const std::string path = m_dir.filePath("f.gguf").toStdString();
    writeFile(path, bytes.toStdString());
    const auto opened = Model::open(path, KVLAB_RESOURCES_DIR);
    QVERIFY(!opened);
    check(opened.error(), texts);
  }

  void theSoundFileOpens() {
    const std::string path = m_dir.filePath("sound.gguf").toStdString();
    writeFile(path, littleLlama().bytes());
    const auto opened = Model::open(path, KVLAB_RESOURCES_DIR);
    QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
  }

  /// Every start of a sound file and every byte of its header turned over: an error, or a model; never a crash.
  void anyDamageIsSurvived() {
    const std::string whole = littleLlama().bytes();
    const std::size_t header = littleLlama().head().size();
    for (std::size_t size = 0; size < whole.size(); size += size < header ? 1 : 101) {
      const std::string part = cut(whole, size);
      QVERIFY(!Gguf::parse(bytesOf(part), "f.gguf"));
    }
    for (std::size_t i = 0; i < header; ++i)
      for (const char flip : {'\x01', '\x80', '\xff'}) {
        std::string other = whole;
        other[i] = static_cast<char>(other[i] ^ flip);
        const auto parsed = Gguf::parse(bytesOf(other), "f.gguf");
        if (!parsed) QVERIFY(parsed.error().code == "bad_model" && !parsed.error().remedy.empty());
      }
  }

  void setsOfFiles() {
    const std::string d = m_dir.path().toStdString();
    const auto shard = [&](int number, std::uint16_t no, std::uint16_t count, const char* tensor,
                           std::int32_t tensors) {
      GgufBytes out;
      out.key("split.no", 2, raw(no)).key("split.count", 2, raw(count)).key("split.tensors.count", 5, raw(tensors));
      out.f32s(tensor, {8, 8});
      writeFile(d + "/f.gguf-0000" + std::to_string(number) + "-of-00002.gguf", out.bytes());
    };
    const std::string path = d + "/f.gguf-00002-of-00002.gguf";
    const auto refused = [&](const char* place, const char* why) {
      const auto opened = Gguf::open(path);
      QVERIFY(!opened);
      check(opened.error(), {place, why, "put all files of one download into one folder"});
    };
    shard(2, 1, 2, "b", 2);
    refused("file 1 of 2", "No such file");
    shard(1, 0, 2, "b", 2);
    refused("tensor \"b\"", "already in another file");
    shard(1, 1, 2, "a", 2);
    refused("key \"split.no\"", "its name says 1 of 2");
    shard(1, 0, 3, "a", 2);
    refused("key \"split.no\"", "says file 1 of 3");
    shard(1, 0, 2, "a", 3);
    refused("key \"split.tensors.count\"", "hold 2 tensors");
    shard(1, 0, 2, "a", 2);
    const auto opened = Gguf::open(path);
    QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
    QCOMPARE(opened->tensors().size(), std::size_t{2});
  }
};

KV_TEST(GgufHostileTest)
#include "gguf_hostile_test.moc"
