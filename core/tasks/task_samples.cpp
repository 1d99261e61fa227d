// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/task_samples.h"

#include <algorithm>

#include "core/model/chat/chat_tokens.h"
#include "core/model/counter_random.h"

namespace kvlab {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kSpareTokens = 8;  // of max_new_tokens, beside twice those of the answers: models number lists
constexpr const char* kContextMark = "\xee\x80\x82";  // characters of private use, which no template writes
constexpr const char* kQuestionMark = "\xee\x80\x83";
constexpr std::uint64_t kDepthDrawn = 7;

Error noFrame(const std::string& why) {
  return {"bad_prompts", "the prompts were not made", why, "set chat to false, or use a model that was tuned for chat",
          "chat"};
}

bool startsWith(const std::vector<TokenId>& all, const std::vector<TokenId>& first) {
  return all.size() > first.size() && std::equal(first.begin(), first.end(), all.begin());
}

std::string replyText(const std::vector<std::string>& answers) {
  std::string out;
  for (const std::string& one : answers) out.append(out.empty() ? " " : ", ").append(one);
  return out;
}

class Fitting {
 public:
  Fitting(const TaskKind& kind, std::uint64_t key, double depth, const TaskFrame& frame, const Tokenizer& tokenizer)
      : m_kind(kind), m_key(key), m_depth(depth), m_frame(frame), m_tokenizer(tokenizer) {}

  /// The draft of the largest size within `length` tokens.
  Result<TaskDraft> within(int length) const {
    int fits = 0, tooLong = length + 1;  // each unit of a haystack has a token at least
    while (tooLong - fits > 1) {
      const int size = fits == 0 ? std::min(8, (1 + tooLong) / 2) : std::min(2 * fits, (fits + tooLong) / 2);
      (KV_TRY(tokens(size)) <= length ? fits : tooLong) = size;
    }
    if (fits == 0)
      return Error("bad_prompts", "the prompts were not made",
                   std::string(m_kind.name) + " has " + std::to_string(KV_TRY(tokens(1))) +
                       " tokens with the shortest context, and length is " + std::to_string(length),
                   "give a longer length", "length", length);
    return m_kind.draft(m_key, fits, m_depth);
  }

 private:
  Result<int> tokens(int size) const {
    const AskedTokens all = KV_TRY(askedTokens(m_kind.draft(m_key, size, m_depth), m_frame, m_tokenizer));
    return static_cast<int>(all.context.size() + all.question.size());
  }

  const TaskKind& m_kind;
  std::uint64_t m_key;
  double m_depth;
  const TaskFrame& m_frame;
  const Tokenizer& m_tokenizer;
};

Json spanJson(const TaskSpan& span) { return Json::array({span.begin, span.end}); }

Result<Json> sampleJson(const TaskDraft& draft, const TaskWish& wish, const TaskFrame& frame,
                        const Tokenizer& tokenizer) {
  const AskedTokens all = KV_TRY(askedTokens(draft, frame, tokenizer));
  const int newTokens = wish.newTokens > 0 ? wish.newTokens : 2 * static_cast<int>(all.reply.size()) + kSpareTokens;
  Json out{{"length", all.context.size() + all.question.size()},
           {"context", draft.context},
           {"question", draft.question},
           {"answer_prefix", draft.answerPrefix},
           {"answers", draft.answers},
           {"max_new_tokens", newTokens}};
  const TaskSpan whole{0, static_cast<std::int32_t>(all.context.size())};
  for (const TaskNeedle& needle : draft.needles) {
    const auto sentence = spanOf(tokenizer, all.context, whole, needle.sentence);
    const auto answer = sentence ? spanOf(tokenizer, all.context, *sentence, needle.answer) : std::nullopt;
    if (!answer)
      return Error("bad_text", "the prompts were not made", "this tokenizer does not give back the text of a needle",
                   "use the tokenizer that belongs to the model");
    out["needles"].push_back(spanJson(*sentence));
    out["answers_at"].push_back(spanJson(*answer));
  }
  return out;
}

}  // namespace

Result<TaskFrame> taskFrame(const Model& model, bool chat) {
  if (!chat) return TaskFrame{};
  if (model.chatTemplate().empty()) return noFrame("the model carries no chat template");
  const chat::Template parsed = KV_TRY(chat::Template::parse(model.chatTemplate()));
  chat::Conversation talk;
  talk.messages = Json::array({{{"role", "user"}, {"content", std::string(kContextMark) + kQuestionMark}}});
  talk.now = 0;  // a template that writes the date writes the same one each time
  chat::nameTokens(model.tokenizer(), talk);
  const std::string text = KV_TRY(parsed.render(talk));
  const auto context = text.find(kContextMark), question = text.find(kQuestionMark);
  if (context == std::string::npos || question != context + 3)
    return noFrame("the model's chat template does not write a message as it is");
  return TaskFrame{true, text.substr(0, context), text.substr(question + 3)};
}

Result<AskedTokens> askedTokens(const TaskDraft& sample, const TaskFrame& frame, const Tokenizer& tokenizer) {
  const auto ids = [&](const std::string& text, bool opens) {
    return frame.chat ? chat::encodeChat(tokenizer, text) : tokenizer.encode(text, opens);
  };
  const std::string asked = sample.question + frame.tail + sample.answerPrefix, reply = replyText(sample.answers);
  AskedTokens out;
  out.context = KV_TRY(ids(frame.head + sample.context, true));
  out.question = KV_TRY(ids(asked, false));
  // A tokenizer may begin a text in another way than it goes on with one.
  std::vector<TokenId> both = KV_TRY(ids(asked + reply, false));
  if (startsWith(both, out.question)) out.reply.assign(both.begin() + std::ssize(out.question), both.end());
  else out.reply = KV_TRY(tokenizer.encode(reply, false));
  return out;
}

std::optional<TaskSpan> spanOf(const Tokenizer& tokenizer, std::span<const TokenId> tokens, TaskSpan within,
                               std::string_view text) {
  const auto holds = [&](std::int32_t begin, std::int32_t end) {
    return tokenizer.decode(tokens.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)))
               .find(text) != std::string::npos;
  };
  if (!holds(within.begin, within.end)) return std::nullopt;
  std::int32_t without = within.begin, end = within.end;  // the text stands before `end` and not before `without`
  while (end - without > 1) {
    const std::int32_t middle = without + (end - without) / 2;
    (holds(within.begin, middle) ? end : without) = middle;
  }
  std::int32_t begin = end - 1;
  while (begin > within.begin && !holds(begin, end)) --begin;
  return TaskSpan{begin, end};
}

Result<Json> taskSamples(const TaskWish& wish, std::int64_t seed, const TaskFrame& frame, const Tokenizer& tokenizer) {
  const TaskKind* kind = taskKind(wish.task);
  if (!kind)
    return Error("bad_prompts", "the prompts were not made", wish.task + " is no task", "see kvlab list tasks");
  std::uint64_t key = static_cast<std::uint64_t>(seed);
  for (const char letter : kind->name) key = mix64(key + static_cast<unsigned char>(letter) + 1);
  Json out = Json::array();
  for (int i = 0; i < wish.samples; ++i) {
    const std::uint64_t own = randomBits(key, static_cast<std::uint64_t>(i));
    const double depth = wish.depths.empty() ? unitInterval(randomBits(own, kDepthDrawn))
                                             : wish.depths[static_cast<std::size_t>(i) % wish.depths.size()];
    const TaskDraft draft = KV_TRY(Fitting(*kind, own, depth, frame, tokenizer).within(wish.length));
    Json one{{"task", kind->name}, {"sample", i}};
    if (kind->placed) one["depth"] = depth;
    one.update(KV_TRY(sampleJson(draft, wish, frame, tokenizer)));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace kvlab
