// SPDX-License-Identifier: Apache-2.0
// Chat templates against the output of jinja2 with transformers' options (tests/oracle/chat), and a catalogue of
// templates that are refused.
#include "core/model/chat/render.h"

#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::ordered_json;

namespace {

ordered_json chatFixture(const char* name) {
  return ordered_json::parse(readAll(std::string(KVLAB_TESTS_DIR "/oracle/chat/") + name + ".json"));
}

chat::Conversation hello() {
  chat::Conversation in;
  in.messages = ordered_json::array({{{"role", "user"}, {"content", "Hi"}}});
  in.bos = "<s>";
  in.eos = "</s>";
  in.now = 86400 * 365;
  return in;
}

Result<std::string> rendered(const std::string& source, const chat::Conversation& in = hello()) {
  const auto parsed = chat::Template::parse(source);
  return parsed ? parsed->render(in) : parsed.error();
}

std::string renderedText(const std::string& source, const chat::Conversation& in = hello()) {
  const auto out = rendered(source, in);
  return out ? *out : "!" + out.error().text();
}

chat::Conversation conversation(const ordered_json& c) {
  chat::Conversation in;
  in.messages = c["messages"];
  in.addGenerationPrompt = c["add_generation_prompt"];
  in.bos = c["bos_token"];
  in.eos = c["eos_token"];
  in.more = c["more"];
  in.now = c["now"].get<std::time_t>();
  return in;
}

}  // namespace

class ChatTemplateTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { qputenv("TZ", "UTC"), tzset(); }

  void familiesAreThoseOfJinja_data() {
    QTest::addColumn<QString>("name");
    const ordered_json all = chatFixture("families");
    for (const auto& [name, family] : all.items()) QTest::newRow(name.c_str()) << name.c_str();
  }
  void familiesAreThoseOfJinja() {
    QFETCH(QString, name);
    const ordered_json all = chatFixture("families");
    const ordered_json& family = all[name.toStdString()];
    const auto parsed = chat::Template::parse(family["template"]);
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    int shown = 0, refused = 0;
    for (const ordered_json& c : family["cases"]) {
      const auto out = parsed->render(conversation(c));
      if (c["text"].is_null()) {
        QVERIFY2(!out, c.dump().c_str());
        QCOMPARE(out.error().code, std::string(c["raised"].get<bool>() ? "bad_messages" : "bad_template"));
        ++refused;
        continue;
      }
      QVERIFY2(out, out ? "" : (out.error().text() + c.dump()).c_str());
      QCOMPARE(QString::fromStdString(*out), QString::fromStdString(c["text"].get<std::string>()));
      ++shown;
    }
    QVERIFY(shown > 3 && shown + refused > 10);
  }

  void expressionsAreThoseOfJinja_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<bool>("refused");
    const ordered_json all = chatFixture("expressions");
    for (const ordered_json& c : all) {
      const auto source = QString::fromStdString(c["source"].get<std::string>());
      QTest::newRow(qPrintable(source.left(80)))
          << source << (c["text"].is_null() ? QString() : QString::fromStdString(c["text"].get<std::string>()))
          << c["text"].is_null();
    }
  }
  void expressionsAreThoseOfJinja() {
    QFETCH(QString, source);
    QFETCH(QString, wanted);
    QFETCH(bool, refused);
    const auto out = rendered(source.toStdString());
    if (refused) {
      QVERIFY2(!out, out ? out->c_str() : "");
      QVERIFY(out.error().why.starts_with("line "));
      return;
    }
    QVERIFY2(out, out ? "" : out.error().text().c_str());
    QCOMPARE(QString::fromStdString(*out), wanted);
  }

  void refusesWhatItDoesNotKnow_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("why");
    const std::pair<const char*, const char*> cases[] = {
        {"{% include 'x' %}", "tag \"include\""},
        {"a\nb{% extends 'x' %}", "line 2: the tag \"extends\""},
        {"{% import 'x' as y %}", "tag \"import\""},
        {"{% raw %}{% endraw %}", "tag \"raw\""},
        {"{% for x in messages recursive %}{% endfor %}", "recursive"},
        {"{{ messages | groupby('role') }}", "filter \"groupby\""},
        {"{{ 1 is prime }}", "test \"prime\""},
        {"{{ lipsum() }}", "function \"lipsum\""},
        {"{{ 'a'.format(1) }}", "method \"format\""},
        {"{{ messages.append(1) }}", "method \"append\""},
        {"{{ '%s' % 1 }}", "formatting with %"},
        {"{{ f(*messages) }}", "arguments from a list"},
        {"{{ '\\N{DASH}' }}", "name of a character"},
        {"{{", "a tag does not end"},
        {"{% if true %}", "lacks its endif"},
        {"\n\n{{ 'a", "line 3: a string does not end"},
        {"{# x", "comment does not end"},
        {"{% endif %}", "closes no block"},
        {"{% break %}", "outside of a loop"},
        {"{{ a ? b }}", "no meaning"},
        {"{{ (1 }}", "\"}\" closes nothing"},
        {"{{ 99999999999999999999 }}", "too large"},
        {"{{ 1 2 }}", "more than one expression"},
        {"{% set x.y = 1 %}", "no namespace"},
        {"{{ 9223372036854775807 + 1 }}", "64 bits"},
        {"{{ 1 // 0 }}", "division by 0"},
        {"{{ x.y }}", "\"x\" is undefined"},
        {"{{ 'ab' * 99999999 }}", "too long"},
        {"{{ range(1000000) }}", "longer than"},
        {"{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x] %}{% endfor %}", "too deep"},
        {"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}",
         "too large"},
        {"{% set ns = namespace() %}{% set ns.a = ns %}", "namespace inside a namespace"},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "too deep"},
        {"{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}", "steps"},
        {"{% for i in range(90000) %}{{ 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' * 9 }}{% endfor %}", "16 MiB"},
    };
    for (const auto& [source, why] : cases) QTest::newRow(QByteArray(source).left(60)) << source << why;
  }
  void refusesWhatItDoesNotKnow() {
    QFETCH(QString, source);
    QFETCH(QString, why);
    const auto out = rendered(source.toStdString());
    QVERIFY2(!out, out ? out->substr(0, 100).c_str() : "");
    QCOMPARE(out.error().code, std::string("bad_template"));
    QVERIFY2(out.error().why.find(why.toStdString()) != std::string::npos, out.error().why.c_str());
    QVERIFY(out.error().why.starts_with("line ") && !out.error().remedy.empty());
  }

  void deepNestingIsAnError() {
    for (const char* open : {"(", "[", "{'a':", "not ", "-", "'a' if "}) {
      std::string source = "{{ ";
      for (int i = 0; i < 20000; ++i) source += open;
      QVERIFY(!rendered(source + " }}"));
    }
    std::string sum = "{{ 1", blocks;
    for (int i = 0; i < 20000; ++i) sum += " + 1", blocks += "{% if true %}";
    QVERIFY(!rendered(sum + " }}"));
    QVERIFY(!rendered(blocks));
    QVERIFY(!rendered(std::string((std::size_t{1} << 20) + 1, 'x')));
    QVERIFY(!rendered("\xff"));
  }

  void messagesAreChecked() {
    chat::Conversation in = hello();
    for (const char* bad : {"{}", "[]", "[1]", "[{}]", "[{\"role\": 1}]", "null"}) {
      in.messages = ordered_json::parse(bad);
      const auto out = rendered("x", in);
      QVERIFY2(!out, bad);
      QCOMPARE(out.error().code, std::string("bad_messages"));
    }
    in = hello();
    ordered_json deep = 1;
    for (int i = 0; i < 60; ++i) deep = ordered_json::array({deep});
    in.messages[0]["content"] = deep;
    QCOMPARE(rendered("x", in).error().code, std::string("bad_messages"));
  }

  void aTemplateRefusesWithItsOwnWords() {
    const auto out = rendered("\n{{ raise_exception('roles must take turns') }}");
    QCOMPARE(out.error().code, std::string("bad_messages"));
    QCOMPARE(out.error().why, std::string("line 2: roles must take turns"));
  }

  void theClockIsGiven() { QCOMPARE(renderedText("{{ strftime_now('%d %b %Y') }}"), std::string("01 Jan 1971")); }
};

KV_TEST(ChatTemplateTest)
#include "chat_template_test.moc"
