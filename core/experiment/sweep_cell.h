// SPDX-License-Identifier: Apache-2.0
// One cell of a sweep: a manifest reads the stories of one seed and answers their questions, beside a reference
// that read the same. A pure function of its arguments: the same figures on any thread, in any order. Recall needs
// no free run: a greedy reply is right up to the deciding token exactly if each token of the reply is the likeliest
// after the right tokens before it, and the teacher-forced pass shows that.
//
// ask "after": the story is the prompt, and a policy prunes at the end of the story. A fork of the session asks each
// question: it is fed the tokens of question and reply one by one. ask "inside": each question has a session whose
// prompt is the story with the question. Figures are compared after every token that was fed. An expression is
// evaluated after the prompt and after every token that was fed; its figure is the mean, for a flag the share of true.
// Expressions with facts of a tick are evaluated after tokens only. A question with answers also has a generated reply:
// behind the question another fork goes on with the likeliest token each time, up to an end-of-text token or the
// question's limit.
#pragma once
#include <vector>

#include "core/api/sweep_table.h"
#include "core/experiment/prompt_reads.h"
#include "core/experiment/prompt_set.h"
#include "core/session/session.h"
#include "core/watch/expression.h"

namespace kvlab {

/// Logits and attention of the reference at the compared positions of a question; empty if nothing is compared.
struct QuestionTrace {
  std::vector<std::vector<float>> logits;  // [1 + positions, vocab]; the first: after the prompt; empty without kl
  CacheLayers layers;
  std::vector<std::vector<std::vector<float>>> mass;     // [positions, layers, rows] attention of the newest query
  std::vector<std::vector<std::vector<LedgerId>>> rows;  // [positions, layers, rows] rows that `mass` belongs to
};

struct StoryTrace {
  std::vector<QuestionTrace> questions;
  double bytes = 0;  // bytes of resident rows after the prompt, mean over the sessions
};

struct CellWork {
  const std::vector<SweepStory>& stories;
  PromptReads& reads;  // of the group of cells with these stories
  Ask ask = Ask::After;
  bool recall = true, kl = true, attention = true, needles = true, bytes = true, answers = true;
  bool future = true;  // a cell's policy is told the attention of the reference
  std::span<const Expression> expressions = {};
  Progress progress = {};        // asked before every question
  PassRunner* runner = nullptr;  // makes the passes behind the prompts of a cell; null = each session its own
};

/// The policy of the manifest that is told the attention of the reference; null = none.
const PolicySpec* policyToldOfFuture(const Manifest& manifest);

/// The prompts that a cell reads of a story.
std::vector<std::vector<TokenId>> promptsOf(const SweepStory& story, Ask ask);

/// Runs the reference, without the work's runner. `host` lends model and weights. Errors: as for sessions; cancelled.
Result<std::vector<StoryTrace>> runReference(const Session& host, const Manifest& manifest, const CellWork& work);

/// Measures of a cell into `row`. Errors as above.
Status runCell(const Session& host, const Manifest& manifest, const CellWork& work,
               const std::vector<StoryTrace>& reference, SweepRow& row);

}  // namespace kvlab
