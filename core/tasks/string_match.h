// SPDX-License-Identifier: Apache-2.0
// Scores of a generated answer by the texts that must stand in it. Pure functions; any thread.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace kvlab {

/// The answer as it is compared: without outer white space, and a line end for each character below U+0020. lm-eval's
/// ruler tasks do the same (lm_eval/tasks/ruler/common_utils.py, postprocess_pred).
std::string cleanedAnswer(std::string_view text);

struct StringMatch {
  double all = 0;   // share of the wanted texts that stand in the answer
  double part = 0;  // 1 = one of them stands there
};

/// Case is ignored. `all` is string_match_all of RULER, kvpress and lm-eval for one question; `part` is
/// string_match_part of RULER and kvpress. lm-eval's function of that name takes the maximum over questions and not
/// over texts, so that it equals `all` for one question. wanted is not empty.
StringMatch stringMatch(std::string_view answer, std::span<const std::string> wanted);

}  // namespace kvlab
