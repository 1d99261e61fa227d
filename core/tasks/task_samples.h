// SPDX-License-Identifier: Apache-2.0
// Questions about long contexts in the form that papers' tools share, one JSON object each:
//
//   {"context", "question", "answer_prefix", "answers": [texts], "max_new_tokens"}
//
// The context is read first; question and answer prefix are fed behind it, and the model goes on from there. Generated
// samples also say "task", "sample", "length" (tokens of context, question and answer prefix), "depth", and where
// things lie: "needles" [[begin, end), ..] and "answers_at" [[begin, end), ..], positions among the context's tokens,
// the token that opens a text (<s>) being 0. Any thread.
#pragma once
#include <optional>

#include "core/model/model.h"
#include "core/tasks/task_kinds.h"

namespace kvlab {

/// Texts around context and question: a chat template's, or none.
struct TaskFrame {
  bool chat = false;
  std::string head, tail = "\n";  // in front of the context; between question and answer prefix
};

/// Renders the model's chat template around a message of context and question. Errors: bad_template; bad_prompts where
/// the model has no template, or one that does not write a message as it is.
Result<TaskFrame> taskFrame(const Model& model, bool chat);

/// Tokens of a text that is read and of the text that is fed behind it. Errors: bad_text.
struct AskedTokens {
  std::vector<TokenId> context, question, reply;  // reply: the answers, ", " between them
};
Result<AskedTokens> askedTokens(const TaskDraft& sample, const TaskFrame& frame, const Tokenizer& tokenizer);

struct TaskSpan {
  std::int32_t begin = 0, end = 0;
  bool operator==(const TaskSpan&) const = default;
};

/// The shortest run of tokens from `begin` on and before `end` whose text holds `text` where it first stands; none if
/// it does not stand there.
std::optional<TaskSpan> spanOf(const Tokenizer& tokenizer, std::span<const TokenId> tokens, TaskSpan within,
                               std::string_view text);

struct TaskWish {
  std::string task;
  int length = 0;                   // at most so many tokens of context, question and answer prefix together
  std::vector<double> depths = {};  // of samples in turn; empty = drawn
  int samples = 20;
  int newTokens = 0;  // max_new_tokens; 0 = twice the tokens of the answers and 8 more
};

/// A list of samples; equal arguments give equal bytes. The haystack is as long as fits. Errors: bad_prompts where even
/// the smallest context is too long; bad_text.
Result<nlohmann::ordered_json> taskSamples(const TaskWish& wish, std::int64_t seed, const TaskFrame& frame,
                                           const Tokenizer& tokenizer);

}  // namespace kvlab
