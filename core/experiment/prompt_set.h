// SPDX-License-Identifier: Apache-2.0
// Questions about stories, as a sweep asks them. A set is a JSON object:
//
//   {"name", "sets": [{"seed": 1, "stories": [{"text" | "ids", "tokens"?, "questions": [
//     {"text" | "ids", "reply" | "reply_ids", "deciding": place of the deciding token in the reply,
//      "needle": [begin, end), "needle_at": position of the token that decides, "distance"}]}]}]}
//
// Where all seeds read the same stories, "stories" stands at the top. Positions count the story's tokens; the token
// that opens a text (<s>) has position 0. The model's own tokenizer cuts texts into tokens.
// A list of samples (core/tasks/task_samples.h), or a file of one sample a line, is a set as well: samples with the
// same context are questions about one story, their replies are generated, and all seeds ask them.
// resources/prompts/README.md explains the fields. Values; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/model/model.h"
#include "core/tasks/task_samples.h"

namespace kvlab {

enum class Ask : std::uint8_t {
  After,  // the story is the prompt and is pruned; then the question is fed token by token
  Inside  // story and question are the prompt: a policy can see the question
};

struct SweepQuestion {
  std::vector<TokenId> tokens, reply;       // reply: up to and with the deciding token
  std::vector<TaskSpan> needles = {};       // story positions of the facts; none = not known
  std::vector<std::int32_t> needleAt = {};  // story positions of the tokens that decide
  std::int32_t distance = 0;                // tokens from the first deciding one to the question
  // Of a sample; a question without answers has no generated reply.
  std::vector<std::string> answers = {};  // texts that a right reply holds
  std::int32_t newTokens = 0;             // of the generated reply, at most
  std::optional<double> depth = {};       // where the needle lies, 0 = first, 1 = last
};

struct SweepStory {
  std::vector<TokenId> tokens;
  std::vector<SweepQuestion> questions;
};

struct PromptUse {
  int stories = 0, questions = 0;  // per seed and per story, 0 = all
  bool chat = false;               // samples stand in the model's chat template
  int newTokens = 0;               // at most so many in a generated reply; 0 = as the sample says
};

/// A set that a file holds; the lines of FILE.jsonl become a list, in which null is an empty line. Errors: bad_prompts
/// with the line.
Result<nlohmann::json> readPromptFile(const std::string& path);

/// The stories of one seed. Errors: bad_prompts with the place in the file, bad_text, bad_template.
Result<std::vector<SweepStory>> readStories(const nlohmann::json& set, const std::string& file, std::int64_t seed,
                                            const Model& model, const PromptUse& use);

/// The same of a list of samples.
Result<std::vector<SweepStory>> readSamples(const nlohmann::json& list, const std::string& file, const Model& model,
                                            const PromptUse& use);

/// Error bad_prompts that names a place in a file.
Error badPrompts(const std::string& file, const std::string& place, const std::string& why);

}  // namespace kvlab
