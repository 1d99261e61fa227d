// SPDX-License-Identifier: Apache-2.0
// Tokenizers of GGUF files against the tokenizers that transformers makes of the same keys
// (tests/oracle/gguf_tokenizers), and a catalogue of bad keys.
#include "core/model/tokens/gguf_tokenizer.h"

#include <cmath>
#include <limits>

#include "core/model/tokens/split_rules.h"
#include "support/runner.h"
#include "unit/model_bytes.h"
#include "unit/token_ids.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

json ggufFixture(const char* name) {
  return json::parse(readAll(std::string(KVLAB_TESTS_DIR "/oracle/gguf_tokenizers/") + name + ".json"));
}

template <class T>
std::optional<T> maybe(const json& keys, const char* key) {
  return keys.contains(key) ? std::optional(keys[key].get<T>()) : std::nullopt;
}

GgufTokenizer keysOf(const json& keys) {
  return {.model = keys["model"],
          .pre = keys.value("pre", ""),
          .tokens = keys["tokens"].get<std::vector<std::string>>(),
          .scores = keys.value("scores", std::vector<float>()),
          .types = keys["token_type"].get<std::vector<std::int32_t>>(),
          .merges = keys.value("merges", std::vector<std::string>()),
          .bos = keys.value("bos_token_id", -1),
          .eos = keys.value("eos_token_id", -1),
          .eot = keys.value("eot_token_id", -1),
          .unknown = keys.value("unknown_token_id", -1),
          .addBos = maybe<bool>(keys, "add_bos_token"),
          .addSpacePrefix = maybe<bool>(keys, "add_space_prefix")};
}

std::shared_ptr<const Tokenizer> openedGguf(const GgufTokenizer& keys) {
  auto t = tokenizerFromGguf(keys, "dir/x.gguf");
  if (!t) qWarning("%s", t.error().text().c_str());
  return t ? t.take() : nullptr;
}

/// A byte-level vocabulary that works.
GgufTokenizer small() {
  return {.model = "gpt2",
          .pre = "gpt-2",
          .tokens = {"a", "b", "c", "ab", "abc", "<s>"},
          .types = {1, 1, 1, 1, 1, 3},
          .merges = {"a b", "ab c"},
          .bos = 5};
}

/// A SentencePiece vocabulary that works.
GgufTokenizer smallPieces() {
  return {.model = "llama",
          .pre = "default",
          .tokens = {"<unk>", "<s>", "</s>", "<0x41>", "\xe2\x96\x81", "a", "b", "ab", "ba"},
          .scores = {0, 0, 0, 0, -5, -4, -3, -2, -1},
          .types = {2, 3, 3, 6, 1, 1, 1, 1, 1}};
}

std::vector<int> encodedByGguf(const GgufTokenizer& keys, const std::string& text, bool special = false) {
  const auto t = openedGguf(keys);
  return t ? plain(t->encode(text, special)) : std::vector<int>{-99};
}

}  // namespace

class GgufTokenizerTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void rulesCutAsTransformers_data() {
    QTest::addColumn<QString>("rule");
    const json rules = ggufFixture("rules")["rules"];
    for (const auto& [rule, ids] : rules.items()) QTest::newRow(rule.c_str()) << rule.c_str();
  }
  void rulesCutAsTransformers() {
    QFETCH(QString, rule);
    const json file = ggufFixture("rules");
    auto keys = keysOf(file["keys"]);
    keys.pre = rule.toStdString();
    const auto t = openedGguf(keys);
    QVERIFY(t);
    const json& wanted = file["rules"][keys.pre];
    QVERIFY(wanted.size() >= 90);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto text = file["texts"][i].get<std::string>();
      QVERIFY2(plain(t->encode(text, false)) == wanted[i].get<std::vector<int>>(), text.c_str());
    }
  }

  void everyRuleHasVectors() {
    const json rules = ggufFixture("rules")["rules"];
    std::string names;
    for (const auto& [rule, ids] : rules.items()) names += (names.empty() ? "" : ", ") + rule;
    QCOMPARE(bpe::splitRuleNames(), names);
  }

  void piecesAreThoseOfTransformers_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"llama", "gemma3", "phi3"}) QTest::newRow(name) << name;
  }
  void piecesAreThoseOfTransformers() {
    QFETCH(QString, name);
    const json file = ggufFixture(qPrintable(name));
    auto keys = keysOf(file["keys"]);
    keys.architecture = file["architecture"];
    const auto t = openedGguf(keys);
    QVERIFY(t);
    for (const json& v : file["vectors"]) {
      const auto text = v["text"].get<std::string>();
      QVERIFY2(plain(t->encode(text, false)) == v["ids"].get<std::vector<int>>(),
               (text + v["ids"].dump() + json(plain(t->encode(text, false))).dump()).c_str());
      QVERIFY2(plain(t->encode(text, true)) == v["ids_special"].get<std::vector<int>>(), text.c_str());
      QVERIFY2(t->decode(tokenIds(v["ids"])) == v["decoded"].get<std::string>(), text.c_str());
      QVERIFY2(t->decode(tokenIds(v["ids"]), true) == v["decoded_skip"].get<std::string>(), text.c_str());
    }
  }

  void beginningAndEnd() {
    GgufTokenizer keys = small();
    QCOMPARE(encodedByGguf(keys, "abc", true), (std::vector<int>{4}));  // gpt-2 adds nothing
    keys.pre = "llama-bpe";
    QCOMPARE(encodedByGguf(keys, "abc", true), (std::vector<int>{5, 4}));
    keys.addBos = false;
    QCOMPARE(encodedByGguf(keys, "abc", true), (std::vector<int>{4}));
    keys.addBos = true;
    keys.addEos = true;
    keys.eos = 2;
    keys.eot = 1;
    QCOMPARE(encodedByGguf(keys, "a", true), (std::vector<int>{5, 0, 2}));
    const auto t = openedGguf(keys);
    QCOMPARE(t->eos(), (std::vector<TokenId>{TokenId(2), TokenId(1)}));
    QCOMPARE(t->bos().value(), 5);
    QVERIFY(t->isSpecial(TokenId(2)) && t->isSpecial(TokenId(5)) && !t->isSpecial(TokenId(0)));
  }

  void controlTokensAreFoundInText() {
    QCOMPARE(encodedByGguf(small(), "ab<s>abc"), (std::vector<int>{3, 5, 4}));
    GgufTokenizer user = small();
    user.types[4] = 4;  // "abc" before anything else
    user.merges.pop_back();
    QCOMPARE(encodedByGguf(user, "ababcab"), (std::vector<int>{3, 4, 3}));
    QVERIFY(!openedGguf(user)->isSpecial(TokenId(4)));
    user.tokens[4] = "  ";  // phi-2 has runs of spaces
    QCOMPARE(encodedByGguf(user, "a  b"), (std::vector<int>{0, 4, 1}));
    QCOMPARE(openedGguf(user)->decode(tokenIds({0, 4, 1})), std::string("a  b"));
  }

  void scoresDecideWhichMergeIsFirst() {
    QCOMPARE(encodedByGguf(smallPieces(), "aba"), (std::vector<int>{4, 5, 8}));  // "ba" scores higher than "ab"
    GgufTokenizer other = smallPieces();
    std::swap(other.scores[7], other.scores[8]);
    QCOMPARE(encodedByGguf(other, "aba"), (std::vector<int>{4, 7, 5}));
    QCOMPARE(encodedByGguf(smallPieces(), "aba", true), (std::vector<int>{1, 4, 5, 8}));
    other.addSpacePrefix = false;
    QCOMPARE(encodedByGguf(other, "A aba?"), (std::vector<int>{3, 4, 7, 5, 0}));  // a byte; others are unknown
    other.types[7] = 5;                                                           // unused: no merge makes it
    QCOMPARE(encodedByGguf(other, "ab"), (std::vector<int>{5, 6}));
  }

  void refusesBadKeys_data() {
    QTest::addColumn<QString>("why");
    QTest::addColumn<int>("which");
    const char* whys[] = {
        "tokens is missing", "scores has 2 entries", "token_type has 2 entries", "token 2 is not UTF-8",
        "has type 9",        "bos_token_id is 6",    "eos_token_id is -2",       "\"bert\", which is not",
        "\"what\", a rule",  "pre is missing",       "merges is missing",        "merge 1 is not two",
        "merge 0 has or",    "merge 1 is not UTF-8", "1 and 2 are equal",        "2 is empty",
        "scores is missing", "token 4 is not a f",   "token 4 is not a f",       "add_eos_token is true",
        "token 2 is too",    "tokens are too long",  "unknown_token_id is 99"};
    for (int i = 0; i < static_cast<int>(std::size(whys)); ++i) QTest::newRow(whys[i]) << whys[i] << i;
  }
  void refusesBadKeys() {
    QFETCH(QString, why);
    QFETCH(int, which);
    GgufTokenizer bpe = small(), pieces = smallPieces();
    bool scored = false;
    switch (which) {
      case 0: bpe.tokens.clear(); break;
      case 1: bpe.scores = {1, 2}; break;
      case 2: bpe.types = {1, 1}; break;
      case 3: bpe.tokens[2] = "\xff"; break;
      case 4: bpe.types[3] = 9; break;
      case 5: bpe.bos = 6; break;
      case 6: bpe.eos = -2; break;
      case 7: bpe.model = "bert"; break;
      case 8: bpe.pre = "what"; break;
      case 9: bpe.pre.clear(); break;
      case 10: bpe.merges.clear(); break;
      case 11: bpe.merges[1] = "abc"; break;
      case 12: bpe.merges[0] = "a x"; break;
      case 13: bpe.merges[1] = "\xc0 b"; break;
      case 14: bpe.tokens[2] = "b"; break;
      case 15: bpe.tokens[2].clear(); break;
      case 16: scored = true, pieces.scores.clear(); break;
      case 17: scored = true, pieces.scores[4] = std::nanf(""); break;
      case 18: scored = true, pieces.scores[4] = std::numeric_limits<float>::infinity(); break;
      case 19: bpe.addEos = true; break;
      case 20: bpe.tokens[2] = std::string(1 << 17, 'x'); break;
      case 21: {
        scored = true;
        for (int i = 0; i < 20; ++i) {
          pieces.tokens.push_back(std::string(1 << 15, 'a') + std::to_string(i));
          pieces.scores.push_back(0);
          pieces.types.push_back(1);
        }
        break;
      }
      case 22: bpe.unknown = 99; break;
    }
    const auto t = tokenizerFromGguf(scored ? pieces : bpe, "dir/x.gguf");
    QVERIFY(!t);
    QCOMPARE(t.error().code, std::string("bad_tokenizer"));
    QVERIFY(t.error().what.find("dir/x.gguf") != std::string::npos);
    QVERIFY2(t.error().why.find(why.toStdString()) != std::string::npos, t.error().why.c_str());
    QVERIFY(!t.error().remedy.empty());
  }

  void anUnknownRuleSaysWhichAreKnown() {
    GgufTokenizer keys = small();
    keys.pre = "what";
    const auto t = tokenizerFromGguf(keys, "x.gguf");
    QVERIFY(t.error().remedy.find("llama-bpe, ") != std::string::npos);
    QVERIFY(t.error().remedy.find("tokenizer.json") != std::string::npos);
  }
};

KV_TEST(GgufTokenizerTest)
#include "gguf_tokenizer_test.moc"
