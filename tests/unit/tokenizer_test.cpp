// SPDX-License-Identifier: Apache-2.0
// Tokenizers against the results of their own libraries for the texts in tests/oracle/tokenizers, and a
// catalogue of bad files.
#include "core/model/tokens/tokenizer.h"

#include "core/model/tokens/pattern.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/unicode.h"
#include "core/model/tokens/utf8.h"
#include "support/runner.h"
#include "unit/model_bytes.h"
#include "unit/token_ids.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

const QString kFixtures = KVLAB_TESTS_DIR "/oracle/tokenizers";

std::shared_ptr<const Tokenizer> fixture(const QString& name) {
  auto t = openTokenizer((kFixtures + "/" + name).toStdString(), {});
  if (!t) qWarning("%s", t.error().text().c_str());
  return t ? t.take() : nullptr;
}

json vectors(const QString& name, const char* file) {
  return json::parse(readAll((kFixtures + "/" + name + "/" + file).toStdString()));
}

/// A tokenizer.json that works, with changes.
json smallJson(const json& changes = json::object()) {
  json base{{"added_tokens", json::array({{{"id", 5}, {"content", "<s>"}, {"special", true}}})},
            {"normalizer", nullptr},
            {"pre_tokenizer", nullptr},
            {"post_processor", nullptr},
            {"decoder", nullptr},
            {"model",
             {{"type", "BPE"},
              {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"abc", 4}}},
              {"merges", {"a b", "ab c"}}}}};
  if (!changes.is_null()) base.merge_patch(changes);
  return base;
}

Result<std::shared_ptr<const Tokenizer>> parsed(const json& file) {
  return parseTokenizerJson(file.dump(), "dir/tokenizer.json", {});
}

std::vector<int> encoded(const json& changes, const std::string& text, bool special = false) {
  const auto t = parsed(smallJson(changes));
  return t ? plain((*t)->encode(text, special)) : std::vector<int>{-99};
}

json splitStep(const char* behaviour, bool invert = false) {
  return {{"pre_tokenizer",
           {{"type", "Split"}, {"pattern", {{"String", "c"}}}, {"behavior", behaviour}, {"invert", invert}}}};
}

}  // namespace

class TokenizerTest : public QObject {
  Q_OBJECT
  static void eachFixture() {
    QTest::addColumn<QString>("name");
    for (const QString& name : QDir(kFixtures).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
      QTest::newRow(qPrintable(name)) << name;
  }

 private Q_SLOTS:
  void encodesAsItsLibrary_data() { eachFixture(); }
  void encodesAsItsLibrary() {
    QFETCH(QString, name);
    const auto t = fixture(name);
    QVERIFY(t);
    int seen = 0;
    for (const json& v : vectors(name, "vectors.json")) {
      const auto text = v["text"].get<std::string>();
      const auto where = v["name"].get<std::string>();
      const auto ids = v["ids"].get<std::vector<int>>();
      QVERIFY2(plain(t->encode(text, false)) == ids, where.c_str());
      QVERIFY2(plain(t->encode(text, true)) == v["ids_special"].get<std::vector<int>>(), where.c_str());
      QVERIFY2(t->decode(tokenIds(v["ids"])) == v["decoded"].get<std::string>(), where.c_str());
      ++seen;
    }
    QVERIFY(seen >= 60);
  }

  void decodesAsItsLibrary_data() { eachFixture(); }
  void decodesAsItsLibrary() {
    QFETCH(QString, name);
    const auto t = fixture(name);
    QVERIFY(t);
    for (const json& v : vectors(name, "decode_vectors.json")) {
      const auto ids = tokenIds(v["ids"]);
      QVERIFY2(t->decode(ids) == v["decoded"].get<std::string>(), v.dump().c_str());
      QVERIFY2(t->decode(ids, true) == v["decoded_skip"].get<std::string>(), v.dump().c_str());
    }
  }

  void everyIdHasAText_data() { eachFixture(); }
  void everyIdHasAText() {
    QFETCH(QString, name);
    const auto t = fixture(name);
    for (int id = 0; id < t->size(); ++id) {
      const std::string text = t->tokenText(TokenId(id));
      QVERIFY2(!text.empty(), std::to_string(id).c_str());
      QCOMPARE(invalidUtf8At(text), std::string::npos);
      for (const char c : text) QVERIFY(static_cast<unsigned char>(c) >= 0x20);
    }
    QCOMPARE(t->tokenText(TokenId(-1)), std::string());
    QCOMPARE(t->tokenText(TokenId(t->size())), std::string());
    const std::vector<TokenId> outside{TokenId(-1), TokenId(t->size()), TokenId(INT32_MAX)};
    QCOMPARE(t->decode(outside), std::string());
  }

  void textsShownToPeople() {
    const auto bpe = fixture("llama3");
    QCOMPARE(bpe->tokenText(TokenId(220)), std::string(" "));
    QVERIFY(bpe->isSpecial(TokenId(517)) && !bpe->isSpecial(TokenId(220)));
    const auto sp = fixture("sentencepiece");
    QVERIFY(sp->isSpecial(TokenId(1)) && sp->isSpecial(TokenId(0)) && !sp->isSpecial(TokenId(40)));
    QCOMPARE(sp->tokenText(TokenId(1)), std::string("<s>"));
    QCOMPARE(sp->tokenText(TokenId(13)), std::string("\\n"));  // <0x0A> after <unk>, <s>, </s>
    QCOMPARE(sp->bos().value(), 1);
    QCOMPARE(sp->eos().front().value(), 2);
  }

  void refusesTextThatIsNotUtf8() {
    for (const char* name : {"gpt2", "sentencepiece"})
      for (const char* text : {"a\xff", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "abc\xe2\x82"}) {
        const auto ids = fixture(name)->encode(text, false);
        QVERIFY(!ids);
        QCOMPARE(ids.error().code, std::string("bad_text"));
      }
  }

  void mergesByRankThenFromTheLeft() {
    QCOMPARE(encoded({}, "abcab"), (std::vector<int>{4, 3}));
    QCOMPARE(encoded({}, "cabx<s>b"), (std::vector<int>{2, 3, 5, 1}));  // x is nothing without unk_token
    const json aa{{"model", {{"vocab", {{"aa", 6}, {"aaa", 7}}}, {"merges", {"a a", "aa a"}}}}};
    QCOMPARE(encoded(aa, "aaaaa"), (std::vector<int>{6, 7}));
    const json far{{"model", {{"vocab", {{"bc", 6}}}, {"merges", {"b c", "a b"}}}}};
    QCOMPARE(encoded(far, "abc"), (std::vector<int>{0, 6}));
  }

  void unknownCharacters() {
    const json one{{"model", {{"vocab", {{"?", 6}}}, {"unk_token", "?"}}}};
    json fused = one;
    fused["model"]["fuse_unk"] = true;
    QCOMPARE(encoded(one, "axyb"), (std::vector<int>{0, 6, 6, 1}));
    QCOMPARE(encoded(fused, "axybz"), (std::vector<int>{0, 6, 1, 6}));
    const json bytes{
        {"model", {{"vocab", {{"?", 6}, {"<0xC3>", 7}, {"<0xA4>", 8}}}, {"unk_token", "?"}, {"byte_fallback", true}}}};
    QCOMPARE(encoded(bytes, "\xc3\xa4 \xc3\xa5"), (std::vector<int>{7, 8, 6, 6}));
  }

  void splitBehaviours() {
    QCOMPARE(encoded(splitStep("Isolated"), "abcab"), (std::vector<int>{3, 2, 3}));
    QCOMPARE(encoded(splitStep("Removed"), "abcab"), (std::vector<int>{3, 3}));
    QCOMPARE(encoded(splitStep("MergedWithPrevious"), "abcab"), (std::vector<int>{4, 3}));
    QCOMPARE(encoded(splitStep("MergedWithNext"), "abcab"), (std::vector<int>{3, 2, 3}));
    QCOMPARE(encoded(splitStep("Contiguous"), "abccab"), (std::vector<int>{3, 2, 2, 3}));
    QCOMPARE(encoded(splitStep("Removed", true), "abcab"), (std::vector<int>{2}));
  }

  void patternsHaveOnigurumasSpaces() {
    const auto matches = [](const char* expression, const std::string& text) {
      std::string why;
      const auto p = bpe::Pattern::regex(expression, why);
      if (!p) return -1;
      int n = 0;
      const auto spans = p->cut(text);
      for (const bpe::Span& s : *spans) n += s.match;
      return n;
    };
    QCOMPARE(matches(R"(\s)", "a\xe1\xa0\x8e\xc2\xa0\xe3\x80\x80\xc2\x85"), 3);  // U+180E is none
    QCOMPARE(matches(R"([^\S\n]+)", " \n "), 2);
    QCOMPARE(matches(R"(\S+)",
                     "a\xe1\xa0\x8e"
                     "b c"),
             2);
    QCOMPARE(matches(R"([]\s]+)", "]]\xc2\xa0x"), 1);
    QCOMPARE(matches(R"([[:alpha:]\s]+)", "ab c1d"), 2);
    QCOMPARE(matches(R"(\h+)", "xfFx"), 1);
    QCOMPARE(matches("a*", "bab"), 3);  // empty, "a", empty at the end
    QCOMPARE(matches(R"(\C)", "a"), -1);
  }

  void runawayPatternIsAnError() {
    const json step{
        {"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "^(a+)+$"}}}, {"behavior", "Isolated"}}}};
    const auto t = parsed(smallJson(step));
    QVERIFY(t);
    std::string text(61, 'a');
    text.back() = '!';
    const auto ids = (*t)->encode(text, false);
    QVERIFY(!ids);
    QCOMPARE(ids.error().code, std::string("bad_text"));
  }

  void growthIsBounded() {
    json steps = json::array();
    for (int i = 0; i < 60; ++i)
      steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(16, 'a')}});
    const auto t = parsed(smallJson({{"normalizer", {{"type", "Sequence"}, {"normalizers", steps}}}}));
    QVERIFY(t);
    QCOMPARE((*t)->encode("a", false).error().code, std::string("bad_text"));
  }

  void stripsAndTemplates() {
    QCOMPARE(encoded({{"normalizer", {{"type", "Strip"}}}}, " \t a\xc2\xa0"), (std::vector<int>{0}));
    const json both{
        {"post_processor",
         {{"type", "TemplateProcessing"},
          {"single",
           {{{"SpecialToken", {{"id", "x"}}}}, {{"Sequence", {{"id", "A"}}}}, {{"SpecialToken", {{"id", "y"}}}}}},
          {"special_tokens", {{"x", {{"ids", {5, 1}}}}, {"y", {{"ids", {2}}}}}}}}};
    QCOMPARE(encoded(both, "ab", true), (std::vector<int>{5, 1, 3, 2}));
    QCOMPARE(encoded(both, "ab"), (std::vector<int>{3}));
  }

  void refusesBadFiles_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("why");
    const auto row = [](const char* name, const json& changes, const char* why) {
      QTest::newRow(name) << QByteArray::fromStdString(smallJson(changes).dump()) << QString(why);
    };
    QTest::newRow("empty") << QByteArray() << "not JSON";
    QTest::newRow("cut") << QByteArray::fromStdString(smallJson().dump()).chopped(5) << "not JSON";
    QTest::newRow("list") << QByteArray("[]") << "object";
    QTest::newRow("not UTF-8") << QByteArray("{\"\xff\":1}") << "not JSON";
    QTest::newRow("deep") << QByteArray(100000, '[') << "";
    row("no model", {{"model", nullptr}}, "model");
    row("model is text", {{"model", "BPE"}}, "model");
    row("unigram", {{"model", {{"type", "Unigram"}}}}, "Unigram");
    row("dropout", {{"model", {{"dropout", 0.1}}}}, "dropout");
    row("vocab is a list", {{"model", {{"vocab", {1}}}}}, "vocab");
    row("id negative", {{"model", {{"vocab", {{"z", -1}}}}}}, "\"z\"");
    row("id huge", {{"model", {{"vocab", {{"z", 1 << 30}}}}}}, "\"z\"");
    row("id over 64 bits", {{"model", {{"vocab", {{"z", 1e300}}}}}}, "\"z\"");
    row("merges missing", {{"model", {{"merges", nullptr}}}}, "merges");
    row("merge of one", {{"model", {{"merges", {"ab"}}}}}, "merge 0");
    row("merge of three", {{"model", {{"merges", json::array({json::array({"a", "b", "c"})})}}}}, "merge 0");
    row("merge of numbers", {{"model", {{"merges", {1}}}}}, "merge 0");
    row("merge of unknown tokens", {{"model", {{"merges", {"a b", "x y"}}}}}, "merge 1");
    row("merge into an unknown token", {{"model", {{"merges", {"b a"}}}}}, "merge 0");
    row("merge shorter than the prefix", {{"model", {{"continuing_subword_prefix", "####"}}}}, "merge 0");
    row("unk is not there", {{"model", {{"unk_token", "?"}}}}, "unk_token");
    row("unk is a number", {{"model", {{"unk_token", 3}}}}, "unk_token");
    row("added is an object", {{"added_tokens", {{"a", 1}}}}, "added_tokens");
    row("added id", {{"added_tokens", json::array({{{"id", -1}, {"content", "x"}}})}}, "id");
    row("added without content", {{"added_tokens", json::array({{{"id", 1}}})}}, "content");
    row("normalizer unknown", {{"normalizer", {{"type", "Nmt"}}}}, "Nmt");
    row("normalizer is a number", {{"normalizer", 1}}, "normalizer");
    row("replace without pattern", {{"normalizer", {{"type", "Replace"}, {"content", "x"}}}}, "pattern");
    row("pattern does not compile",
        {{"normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "("}}}, {"content", "x"}}}},
        "a group without its end");
    row("pattern with \\C", {{"normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "\\C"}}}, {"content", "x"}}}},
        "a control character");
    row("pattern too long",
        {{"normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", std::string(70000, 'a')}}}, {"content", "x"}}}},
        "too long");
    row("pattern too big",
        {{"normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "((a{1000}){1000}){1000}"}}}, {"content", "x"}}}},
        "does not compile");
    row("pre-tokenizer unknown", {{"pre_tokenizer", {{"type", "Bert"}}}}, "Bert");
    row("sequence is no list", {{"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", 1}}}}, "pretokenizers");
    row("behaviour unknown", splitStep("Eaten"), "Eaten");
    row("metaspace scheme", {{"pre_tokenizer", {{"type", "Metaspace"}, {"prepend_scheme", "x"}}}}, "prepend_scheme");
    row("decoder unknown", {{"decoder", {{"type", "CTC"}}}}, "CTC");
    row("strip of two characters", {{"decoder", {{"type", "Strip"}, {"content", "ab"}}}}, "content");
    row("strip of minus one", {{"decoder", {{"type", "Strip"}, {"content", "a"}, {"start", -1}}}}, "start");
    row("template without the text", {{"post_processor", {{"type", "TemplateProcessing"}, {"single", json::array()}}}},
        "single");
    row("template without ids",
        {{"post_processor",
          {{"type", "TemplateProcessing"}, {"single", json::array({{{"SpecialToken", {{"id", "x"}}}}})}}}},
        "special_tokens");
    row("post-processor unknown", {{"post_processor", {{"type", "Roberta"}}}}, "Roberta");
  }
  void refusesBadFiles() {
    QFETCH(QByteArray, text);
    QFETCH(QString, why);
    const auto t = parseTokenizerJson(text.toStdString(), "dir/tokenizer.json", {});
    QVERIFY(!t);
    QCOMPARE(t.error().code, std::string("bad_tokenizer"));
    QVERIFY(t.error().what.find("dir/tokenizer.json") != std::string::npos);
    QVERIFY2(t.error().why.find(why.toStdString()) != std::string::npos, t.error().why.c_str());
  }

  void sentencePieceRefusesDamage() {
    const std::string good = readAll((kFixtures + "/sentencepiece/tokenizer.model").toStdString());
    QVERIFY(parseSentencePiece(good, "f", {}));
    for (const std::string& bad : {std::string(), std::string("not a model"), std::string(1000, '\xff'),
                                   good.substr(0, good.size() / 2), good.substr(1)}) {
      const auto t = parseSentencePiece(bad, "dir/tokenizer.model", {});
      QVERIFY(!t);
      QCOMPARE(t.error().code, std::string("bad_tokenizer"));
      QVERIFY(t.error().what.find("dir/tokenizer.model") != std::string::npos);
      QVERIFY2(t.error().why.find(".cc(") == std::string::npos, t.error().why.c_str());
    }
  }

  /// The library would end the program at the first.
  void sentencePieceRefusesHostilePieces() {
    const std::string good = readAll((kFixtures + "/sentencepiece/tokenizer.model").toStdString());
    const auto nul = parseSentencePiece(good +
                                            std::string("\x0a\x05\x0a\x03"
                                                        "a\0b",
                                                        7),
                                        "dir/tokenizer.model", {});
    QVERIFY(!nul);
    QVERIFY2(nul.error().why.find("holds a NUL") != std::string::npos, nul.error().why.c_str());
    QVERIFY(!parseSentencePiece(good + std::string("\x0a\x02\x0a\x00", 4), "f", {}));  // empty
  }

  /// Lengths stay below 128, so that each is one byte.
  void sentencePieceRefusesHostileCharacterMaps() {
    const std::string good = readAll((kFixtures + "/sentencepiece/tokenizer.model").toStdString());
    const auto field = [](char tag, const std::string& body) {
      return std::string{tag, static_cast<char>(body.size())} + body;
    };
    const auto number = [](std::uint32_t n) { return std::string(reinterpret_cast<const char*>(&n), 4); };
    const auto withMap = [&](const std::string& map) {
      return parseSentencePiece(good + field('\x1a', field('\x12', map)), "dir/tokenizer.model", {});
    };
    const std::string one = number(4) + number(0);
    for (const std::string& map : {number(4), number(0) + "x", one, one + "x", number(400) + "abc", number(3) + "abcd",
                                   one + std::string("x\0", 2)}) {
      const auto t = withMap(map);  // the last: an array of one unit leads out of itself
      QVERIFY(!t);
      QVERIFY2(t.error().why.find("character map") != std::string::npos, t.error().why.c_str());
    }
    QVERIFY(!parseSentencePiece(good + "\x1a\x7f", "f", {}));
    QVERIFY(!parseSentencePiece(good + "\x0b", "f", {}));  // a group
  }

  void settingsOfTheDirectory() {
    QTemporaryDir dir;
    const std::string d = dir.path().toStdString();
    QVERIFY(QFile::copy(kFixtures + "/sentencepiece/tokenizer.model", dir.filePath("tokenizer.model")));
    writeFile(d + "/tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})");
    const auto t = openTokenizer(d, {});
    QVERIFY(t);
    QCOMPARE((*t)->encode("", true)->size(), 1u);
    QCOMPARE((*t)->encode("", true)->front().value(), 2);
    writeFile(d + "/tokenizer_config.json", "{");
    QCOMPARE(openTokenizer(d, {}).error().code, std::string("bad_tokenizer"));
  }

  void characterClasses() {
    QVERIFY(bpe::isSpace(0x3000) && bpe::isSpace(0x85) && !bpe::isSpace(0x180e) && !bpe::isSpace(0x200b));
    QVERIFY(bpe::isNumeric(0xbd) && bpe::isNumeric(0x2163) && bpe::isNumeric(0x663) && !bpe::isNumeric('a'));
    QVERIFY(bpe::isWord('_') && bpe::isWord(0x301) && bpe::isWord(0x24b6) && !bpe::isWord('-') && !bpe::isWord(0xbd));
    QCOMPARE(bpe::normalised("e\xcc\x81", bpe::Form::Nfc), std::string("\xc3\xa9"));
    QCOMPARE(bpe::normalised(std::string("a\0b", 3), bpe::Form::Nfc), std::string("a\0b", 3));
    QCOMPARE(bpe::normalised("\xef\xac\x81", bpe::Form::Nfkc), std::string("fi"));
    QVERIFY(!bpe::normalised("\xff", bpe::Form::Nfc));
  }

  void replacementOfInvalidParts() {
    QCOMPARE(validUtf8("a\xe2\x82z"), std::string("a\xef\xbf\xbdz"));  // one for a cut sequence
    QCOMPARE(validUtf8("\xed\xa0\x80"),
             std::string("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));  // none begins well
    QCOMPARE(validUtf8("\xf0\x9f\x92"), std::string("\xef\xbf\xbd"));
    QCOMPARE(shownText("a\n\x01\xff"), std::string("a\\n<0x01><0xFF>"));
  }
};

KV_TEST(TokenizerTest)
#include "tokenizer_test.moc"
