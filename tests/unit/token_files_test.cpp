// SPDX-License-Identifier: Apache-2.0
// Tokens that files beside a tokenizer name: drawn folders against transformers 4.57 and 5.24
// (tests/oracle/token_files), and the same in small.
#include "core/model/tokens/token_files.h"

#include "core/model/chat/chat_tokens.h"
#include "core/model/tokens/tokenizer.h"
#include "support/runner.h"
#include "unit/model_bytes.h"
#include "unit/token_ids.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

const std::string kOracle = KVLAB_TESTS_DIR "/oracle/";

/// A folder with a tokenizer of the fixtures and files beside it.
class Folder {
 public:
  Folder(const std::string& base, const json& files) {
    for (const char* name : {"tokenizer.json", "tokenizer.model"})
      QFile::copy(QString::fromStdString(kOracle + "tokenizers/" + base + "/" + name), m_dir.filePath(name));
    for (const auto& [name, value] : files.items()) writeFile(path() + "/" + name, value.dump());
  }
  std::string path() const { return m_dir.path().toStdString(); }
  std::shared_ptr<const Tokenizer> open(const ModelConfig& config = {}) const {
    auto t = openTokenizer(path(), config);
    if (!t) qWarning("%s", t.error().text().c_str());
    return t ? t.take() : nullptr;
  }

 private:
  QTemporaryDir m_dir;
};

std::vector<int> idsOf(const Tokenizer& tokenizer, const std::string& text, bool special = false) {
  std::vector<int> out;
  if (const auto read = tokenizer.encode(text, special))
    for (const TokenId id : *read) out.push_back(id.value());
  return out;
}

json decoder(std::initializer_list<std::pair<const char*, const char*>> tokens) {
  json out = json::object();
  for (const auto& [id, content] : tokens) out[id] = {{"content", content}, {"special", true}};
  return {{"added_tokens_decoder", out}};
}

std::string whyRefused(const json& files) {
  const Folder folder("gpt2", files);
  const auto t = openTokenizer(folder.path(), {});
  return t ? "" : t.error().code == "bad_tokenizer" ? t.error().why : "another code";
}

}  // namespace

class TokenFilesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void foldersAreThoseOfTransformers() {
    int seen = 0;
    for (const json& folder : json::parse(readAll(kOracle + "token_files/folders.json"))) {
      const auto t = Folder(folder["base"], folder["files"]).open();
      QVERIFY2(t, folder["files"].dump().c_str());
      for (const json& one : folder["texts"]) {
        const auto text = one["text"].get<std::string>(), where = one.dump() + folder["files"].dump();
        QVERIFY2(idsOf(*t, text) == one["ids"].get<std::vector<int>>(), where.c_str());
        QVERIFY2(idsOf(*t, text, true) == one["ids_special"].get<std::vector<int>>(), where.c_str());
        QVERIFY2(t->decode(tokenIds(one["ids"])) == one["decoded"].get<std::string>(), where.c_str());
        ++seen;
      }
    }
    QVERIFY(seen > 400);
  }

  void namedEndsAreThoseOfTheFiles() {
    const Folder folder("gpt2", {{"tokenizer_config.json", {{"bos_token", nullptr}, {"eos_token", "<|call|>"}}}});
    ModelConfig config;
    config.bos = 1;
    config.eos = {2, 3};
    const auto t = folder.open(config);
    QVERIFY(t);
    QCOMPARE(t->bos().value(), -1);
    QCOMPARE(t->eos().size(), 3u);
    QCOMPARE(t->tokenText(t->eos().front()), std::string("<|call|>"));
    chat::Conversation names;
    chat::nameTokens(*t, names);
    QCOMPARE(names.bos, std::string());
    QCOMPARE(names.eos, std::string("<|call|>"));
  }

  void controlTokensAreWrittenAndLeftOut() {
    const auto t = Folder("sentencepiece", {{"tokenizer_config.json", decoder({{"680", "<|im_end|>"}})}}).open();
    QVERIFY(t);
    QCOMPARE(t->size(), 681);
    QVERIFY(t->isSpecial(TokenId(680)) && t->isSpecial(TokenId(0)) && t->isSpecial(TokenId(2)));
    const auto marked = tokenIds(idsOf(*t, "<s>the cat<|im_end|>the cat"));
    QCOMPARE(marked.front().value(), 1);
    QCOMPARE(t->decode(marked), std::string("<s> the cat<|im_end|> the cat"));
    QCOMPARE(t->decode(marked, true), std::string("the cat the cat"));
  }

  void refusesBadFiles() {
    QVERIFY(!whyRefused({{"tokenizer_config.json", {{"added_tokens_decoder", json::array()}}}}).empty());
    QVERIFY(!whyRefused({{"tokenizer_config.json", {{"added_tokens_decoder", {{"x", json::object()}}}}}}).empty());
    QVERIFY(!whyRefused({{"tokenizer_config.json", {{"added_tokens_decoder", {{"5", "text"}}}}}}).empty());
    QVERIFY(!whyRefused({{"tokenizer_config.json", {{"added_tokens_decoder", {{"5", {{"content", 5}}}}}}}}).empty());
    QVERIFY(!whyRefused({{"added_tokens.json", {{"a", -1}}}}).empty());
    QVERIFY(!whyRefused({{"added_tokens.json", {{"a", "b"}}}}).empty());
    QVERIFY(!whyRefused({{"added_tokens.json", json::array()}}).empty());
    QVERIFY(!whyRefused({{"special_tokens_map.json", json::array()}}).empty());
    QCOMPARE(whyRefused({{"tokenizer_config.json", {{"bos_token", 5}, {"additional_special_tokens", 5}}}}),
             std::string());
  }
};

KV_TEST(TokenFilesTest)
#include "token_files_test.moc"
