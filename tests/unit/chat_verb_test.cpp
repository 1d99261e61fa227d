// SPDX-License-Identifier: Apache-2.0
// The verb chat: the text that it appends, the continuation of a conversation, captures and undo.
#include <QTemporaryDir>

#include "core/model/chat/chat_tokens.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr const char* kTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}{% if add_generation_prompt %}<it>{% endif %}";

json said(std::initializer_list<std::pair<const char*, const char*>> turns, bool more = false) {
  json messages = json::array();
  for (const auto& [role, content] : turns) messages.push_back({{"role", role}, {"content", content}});
  return {{"messages", messages}, {"template", kTemplate}, {"more", more}};
}

std::string textOf(const SessionFixture& s) { return s.must("text").get<std::string>(); }

/// Finds no special token in text, as tokenizers of tokenizer.model.
class Blind final : public Tokenizer {
 public:
  Result<std::vector<TokenId>> encode(std::string_view text, bool) const override {
    std::vector<TokenId> out;
    for (const char c : text) out.emplace_back(c);
    return out;
  }
  std::string decode(std::span<const TokenId>, bool) const override { return {}; }
  std::string tokenText(TokenId id) const override {
    return id.value() == 200 ? "<s>" : id.value() == 201 ? "</s>" : std::string(1, static_cast<char>(id.value()));
  }
  bool isSpecial(TokenId id) const override { return id.value() >= 200; }
  std::int32_t size() const override { return 202; }
  TokenId bos() const override { return TokenId(200); }
  std::vector<TokenId> eos() const override { return {TokenId(201)}; }
};

}  // namespace

class ChatVerbTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void appendsTheRenderedText() {
    const SessionFixture s;
    const json reply = s.must("chat", said({{"user", "a"}}));
    QCOMPARE(reply["text"].get<std::string>(), std::string("<user>a;<it>"));
    QCOMPARE(reply["tokens"].get<int>(), 12);
    QCOMPARE(textOf(s), std::string("<user>a;<it>"));  // no begin-of-text of its own
    const SessionFixture other;
    json quiet = said({{"user", "a"}});
    quiet["addGenerationPrompt"] = false;
    QCOMPARE(other.must("chat", quiet)["text"].get<std::string>(), std::string("<user>a;"));
  }

  void keysKeepTheOrderOfTheirText() {
    const SessionFixture s;
    const std::string message =
        R"({"role": "it", "content": "", "call": {"name": "a", "arguments": {"z": 1, "b": {"y": [2], "x": 3}}}})";
    json call{{"messages", {message}},
              {"template",
               "{{ messages[0].call | tojson }};{% for k in messages[0] %}{{ k }},{% endfor %};"
               "{{ messages[0].call.arguments }};{% for k, v in messages[0].call.arguments.b | items %}"
               "{{ k }}{% endfor %}"},
              {"addGenerationPrompt", false}};
    QCOMPARE(s.must("chat", call)["text"].get<std::string>(),
             std::string(R"({"name": "a", "arguments": {"z": 1, "b": {"y": [2], "x": 3}}};role,content,call,;)"
                         R"({'z': 1, 'b': {'y': [2], 'x': 3}};yx)"));
    for (const char* bad : {"x", "{", R"({"role": "a")"}) {
      call["messages"] = {bad};
      QCOMPARE(s.verb("chat", call).error().code, std::string("bad_messages"));
    }
    std::string many = R"({"role": "a")";
    for (int i = 0; i < 5000; ++i) many += ", \"k" + std::to_string(i) + "\": 0";
    call["messages"] = {many + "}"};
    QVERIFY(s.verb("chat", call).error().why.find("keys in an object") != std::string::npos);
    call["messages"] = {std::string(100, '[') + std::string(100, ']')};
    QVERIFY(s.verb("chat", call).error().why.find("nested deeper") != std::string::npos);
  }

  void goesOnWithWhatIsNew() {
    const SessionFixture s;
    s.must("chat", said({{"user", "a"}}));
    s.must("prompt", {{"text", "yes"}});
    const json reply = s.must("chat", said({{"user", "a"}, {"it", "yes"}, {"user", "b"}}));
    QCOMPARE(reply["text"].get<std::string>(), std::string(";<user>b;<it>"));
    QCOMPARE(textOf(s), std::string("<user>a;<it>yes;<user>b;<it>"));
  }

  void refusesAnotherConversation() {
    const SessionFixture s;
    s.must("chat", said({{"user", "a"}}));
    const auto other = s.verb("chat", said({{"user", "b"}}));
    QCOMPARE(other.error().code, std::string("chat_differs"));
    QVERIFY(other.error().why.find("byte 6") != std::string::npos);
    QCOMPARE(s.verb("chat", said({{"user", "a"}})).error().code, std::string("empty_tokens"));
    QCOMPARE(textOf(s), std::string("<user>a;<it>"));
  }

  void moreFollowsWhateverIsThere() {
    const SessionFixture s;
    s.must("prompt", {{"text", "anything"}});
    const std::string before = textOf(s);
    const json reply = s.must("chat", said({{"user", "b"}}, true));
    QCOMPARE(reply["text"].get<std::string>(), std::string(";<user>b;<it>"));
    QCOMPARE(textOf(s), before + ";<user>b;<it>");
    const SessionFixture empty;
    QCOMPARE(empty.must("chat", said({{"user", "b"}}, true))["text"].get<std::string>(), std::string("<user>b;<it>"));
  }

  void refusals() {
    const SessionFixture s;
    json call = said({{"user", "a"}});
    call.erase("template");
    const auto none = s.verb("chat", call);
    QCOMPARE(none.error().code, std::string("bad_template"));
    QVERIFY(none.error().why.find("carries no chat template") != std::string::npos);
    call["template"] = "{{ raise_exception('no ' ~ messages[0].role) }}";
    const auto raised = s.verb("chat", call);
    QCOMPARE(raised.error().code, std::string("bad_messages"));
    QCOMPARE(raised.error().why, std::string("line 1: no user"));
    call["template"] = "no replies";
    s.must("prompt", {{"text", "x"}});
    call["more"] = true;
    QCOMPARE(s.verb("chat", call).error().code, std::string("bad_template"));
    QCOMPARE(s.must("length").get<int>(), static_cast<int>(s.must("tokens").size()));
  }

  void capturesHoldTheTokens() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("c.kvcap").toStdString();
    const SessionFixture s;
    json call = said({{"user", "a"}});
    call["template"] = "{{ strftime_now('%N%s') }}{{ messages[0].content }}";  // the time would differ
    s.must("chat", call);
    s.must("step", {{"n", 2}});
    s.must("saveCapture", {{"path", path}});
    const auto replay = replayCapture(path, KVLAB_RESOURCES_DIR, {});
    QVERIFY2(replay, replay ? "" : replay.error().text().c_str());
    QVERIFY(replay->ok());
    QCOMPARE(replay->steps.front().verb, std::string("promptIds"));
    const json before = s.must("tokens");
    s.must("undo");
    s.must("undo");
    s.must("undo");
    QCOMPARE(s.must("length").get<int>(), 0);
    for (int i = 0; i < 3; ++i) s.must("redo");
    QCOMPARE(s.must("tokens"), before);
  }

  void specialTokensAreFoundForTokenizersThatDoNot() {
    const auto ids = chat::encodeChat(Blind(), "<s>a</s>");
    QVERIFY(ids);
    QCOMPARE(*ids, (std::vector<TokenId>{TokenId(200), TokenId('a'), TokenId(201)}));
  }
};

KV_TEST(ChatVerbTest)
#include "chat_verb_test.moc"
