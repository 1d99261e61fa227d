// SPDX-License-Identifier: Apache-2.0
// Expressions of tokenizer.json against the results of Oniguruma (tests/oracle/patterns), and refusals.
#include "core/model/tokens/pattern.h"

#include <set>

#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

/// Oniguruma takes them, PCRE2 has nothing that is the same.
const std::set<std::string> kRefused{
    R"([a-[b]])", R"(\xff)",    R"(\cA)",          R"(\y)",         R"((?<n>a)\k<n>)", R"(\p{In_Basic_Latin})",
    R"((?i:ss))", R"((?i:st))", R"((?i)[\p{Lu}])", R"((?x: a b ))", R"((?~ab))",       R"((*FAIL))",
    R"((?W:\w))", R"((?y{g})a)"};

json cutBy(const bpe::Pattern& pattern, const std::string& text) {
  json out = json::array();
  const auto spans = pattern.cut(text);
  if (!spans) return spans.error().text();
  for (const bpe::Span& one : *spans)
    if (one.end > one.begin) out.push_back(text.substr(one.begin, one.end - one.begin));
  return out;
}

std::string whyNot(const std::string& expression) {
  std::string why;
  return bpe::Pattern::regex(expression, why) ? "" : why;
}

}  // namespace

class PatternTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void cutsAsOniguruma() {
    std::set<std::string> refused;
    int same = 0;
    for (const json& one : json::parse(readAll(KVLAB_TESTS_DIR "/oracle/patterns/patterns.json"))) {
      const auto expression = one["expression"].get<std::string>();
      std::string why;
      const auto pattern = bpe::Pattern::regex(expression, why);
      if (one["pieces"].is_null()) {
        QVERIFY2(!pattern, expression.c_str());
      } else if (!pattern) {
        refused.insert(expression);
      } else {
        const json pieces = cutBy(*pattern, one["text"].get<std::string>());
        QVERIFY2(pieces == one["pieces"], (one.dump() + " " + pieces.dump()).c_str());
        ++same;
      }
    }
    const auto lines = [](const std::set<std::string>& all) {
      QStringList out;
      for (const std::string& one : all) out << QString::fromStdString(one);
      return out.join('\n');
    };
    QCOMPARE(lines(refused), lines(kRefused));
    QVERIFY(same > 800);
  }

  void refusalsNameTheConstruct() {
    for (const auto& [expression, name] : std::map<std::string, std::string>{{"(?~ab)", "absent operator"},
                                                                             {R"(\p{Nowhere})", "the property Nowhere"},
                                                                             {"(?x)a", "the option (?x)"},
                                                                             {R"(a\g<1>)", R"(\g)"},
                                                                             {"(?i)stop", "(?i)"},
                                                                             {"[a", "a class without its end"}}) {
      const std::string why = whyNot(expression);
      QVERIFY2(why.find("Oniguruma") != why.npos && why.find(name) != why.npos, (expression + ": " + why).c_str());
    }
  }

  void hostileExpressions() {
    QVERIFY(!whyNot(std::string(5000, '(')).empty());
    QVERIFY(!whyNot(std::string(5000, '[')).empty());
    QVERIFY(!whyNot("a{99999999999999999999}").empty());
    QVERIFY(!whyNot("\\").empty());
    QVERIFY(!whyNot("[\\").empty());
    QVERIFY(!whyNot("(?").empty());
    QVERIFY(!whyNot("(?<").empty());
    QVERIFY(!whyNot("\xff").empty());
    QVERIFY(!whyNot("[\xff]").empty());
    QVERIFY(!whyNot("\\x{110000}").empty());
    QVERIFY(whyNot("a{").empty());
    QVERIFY(whyNot("(?#").empty());
  }
};

KV_TEST(PatternTest)
#include "pattern_test.moc"
