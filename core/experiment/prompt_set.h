// SPDX-License-Identifier: Apache-2.0
// Questions about stories, as a sweep asks them. A set is a JSON object:
//
//   {"name", "sets": [{"seed": 1, "stories": [{"text" | "ids", "tokens"?, "questions": [
//     {"text" | "ids", "reply" | "reply_ids", "deciding": place of the deciding token in the reply,
//      "needle": [begin, end), "needle_at": position of the token that decides, "distance"}]}]}]}
//
// Where all seeds read the same stories, "stories" stands at the top. Positions count the story's tokens; the token
// that opens a text (<s>) has position 0. The model's own tokenizer cuts texts into tokens.
// resources/prompts/README.md explains the fields. Values; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/model/model.h"

namespace kvlab {

enum class Ask : std::uint8_t {
  After,  // the story is the prompt and is pruned; then the question is fed token by token
  Inside  // story and question are the prompt: a policy can see the question
};

struct SweepQuestion {
  std::vector<TokenId> tokens, reply;                         // reply: up to and with the deciding token
  std::int32_t needleBegin = 0, needleEnd = 0, needleAt = 0;  // story positions
  std::int32_t distance = 0;                                  // tokens from the deciding one to the question
};

struct SweepStory {
  std::vector<TokenId> tokens;
  std::vector<SweepQuestion> questions;
};

struct PromptLimits {
  int stories = 0, questions = 0;  // per seed and per story, 0 = all
};

/// The stories of one seed. Errors: bad_prompts with the place in the file, bad_text.
Result<std::vector<SweepStory>> readStories(const nlohmann::json& set, const std::string& file, std::int64_t seed,
                                            const Model& model, const PromptLimits& limits);

}  // namespace kvlab
