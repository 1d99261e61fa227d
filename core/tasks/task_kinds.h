// SPDX-License-Identifier: Apache-2.0
// Long-context tasks that are written on the spot, in kinds that papers quote: needles in a haystack, variable
// tracking, common words and frequent words (Hsieh et al. 2024, RULER, arXiv 2404.06654, section 3). Words and
// sentences are this program's own, so scores compare runs of this program and are no RULER scores.
//
// A draft is a pure function of (seed, sample, size, depth): equal arguments give equal bytes on every machine. size
// counts the units of the haystack (sentences, needles, words); a larger size gives a longer context. Any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvlab {

/// A sentence of the context that the answer depends on, and the part of it that is asked for.
struct TaskNeedle {
  std::string sentence, answer;
};

struct TaskDraft {
  std::string context, question, answerPrefix;
  std::vector<std::string> answers;
  std::vector<TaskNeedle> needles = {};  // each sentence stands once in the context; none = the answer is everywhere
};

struct TaskKind {
  std::string_view name, title;
  bool placed;  // one needle is asked for, and it lies where `depth` says; else places are drawn
  /// key: of the sample. depth: 0 = the needle stands first, 1 = it stands last.
  TaskDraft (*draft)(std::uint64_t key, int size, double depth);
};

/// In the order of menus and tables.
std::span<const TaskKind> taskKinds();
/// Null = no task has this name.
const TaskKind* taskKind(std::string_view name);

}  // namespace kvlab
