// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/task_kinds.h"

#include <algorithm>
#include <cmath>

#include "core/tasks/task_words.h"

namespace kvlab {
namespace {

enum class Hay : std::uint8_t { Noise, Story, Needles };

/// Kinds of needles: RULER, table 2.
struct NeedleForm {
  Hay hay = Hay::Story;
  bool codeKeys = false, codeValues = false;
  std::size_t keys = 1, values = 1, asked = 1;  // needles with their own key; values of each key; keys asked for
};

enum DrawPurpose : std::uint64_t { kPlacesDrawn = 11, kAskedDrawn, kChainDrawn, kWordsDrawn, kShuffled };

std::string keyOf(std::uint64_t key, const NeedleForm& form, std::size_t n) {
  return form.codeKeys ? taskCode(key, 2 * n) : taskName(key, n);
}

std::string valueOf(std::uint64_t key, const NeedleForm& form, std::size_t n) {
  return form.codeValues ? taskCode(key, 2 * n + 1) : taskNumber(key, n);
}

std::string needleText(const std::string& name, const std::string& value) {
  return "The locker code of " + name + " is " + value + ".";
}

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return out;
}

/// Lines of the haystack with `inserted` between them, each in front of the line of its place.
std::string haystack(std::vector<std::pair<std::size_t, std::string>> inserted, int size, std::string_view between,
                     const auto& line) {
  std::stable_sort(inserted.begin(), inserted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  const auto add = [&](std::string_view text) { out.append(out.empty() ? "" : between).append(text); };
  std::size_t next = 0;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(size); ++i) {
    for (; next < inserted.size() && inserted[next].first <= i; ++next) add(inserted[next].second);
    if (i < static_cast<std::size_t>(size)) add(line(i));
  }
  return out;
}

TaskDraft needles(std::uint64_t key, int size, double depth, const NeedleForm& form) {
  TaskDraw places(key, kPlacesDrawn);
  const auto hay = static_cast<std::size_t>(size);
  std::vector<std::pair<std::size_t, std::string>> inserted;
  TaskDraft out;
  std::vector<std::string> names;
  const bool placed = form.asked * form.values == 1;
  for (std::size_t k = 0; k < form.keys; ++k) {
    const std::string name = keyOf(key, form, k);
    if (k < form.asked) names.push_back(name);
    for (std::size_t v = 0; v < form.values; ++v) {
      const std::string value = valueOf(key, form, k * form.values + v);
      const std::size_t drawn =
          std::min(hay, static_cast<std::size_t>(unitInterval(places.bits()) * static_cast<double>(hay + 1)));
      const bool byDepth = placed && k == 0;
      const auto place = byDepth ? static_cast<std::size_t>(std::lround(depth * size)) : drawn;
      inserted.emplace_back(place, needleText(name, value));
      if (k >= form.asked) continue;
      out.answers.push_back(value);
      out.needles.push_back({inserted.back().second, value});
    }
  }
  const std::size_t used = form.keys * form.values;
  const auto line = [&](std::size_t i) -> std::string {
    if (form.hay == Hay::Noise) return std::string(taskNoise());
    if (form.hay == Hay::Story) return taskSentence(key, i);
    return needleText(keyOf(key, form, used + i), valueOf(key, form, used + i));
  };
  const bool one = out.answers.size() == 1;
  out.context = std::string(one ? "A locker code stands" : "Locker codes stand") +
      " somewhere in the text below. Remember " + (one ? "it: it is" : "them: they are") +
      " asked for afterwards.\n\n" + haystack(std::move(inserted), size, form.hay == Hay::Story ? " " : "\n", line) +
      "\n\n";
  out.question = std::string(one ? "What is the locker code of " : "What are all the locker codes of ") +
      listed(names) + " in the text above?";
  out.answerPrefix = std::string(one ? "The locker code of " : "The locker codes of ") + listed(names) +
      (one ? " in the text above is" : " in the text above are");
  return out;
}

template <Hay hay, bool codeKeys, bool codeValues, std::size_t keys, std::size_t values, std::size_t asked>
TaskDraft needleDraft(std::uint64_t key, int size, double depth) {
  return needles(key, size, depth, {hay, codeKeys, codeValues, keys, values, asked});
}

/// One chain of four steps: a number, and variables that copy one another. RULER, section 3.2.
TaskDraft variables(std::uint64_t key, int size, double) {
  constexpr std::size_t kNamesOfChain = 5, kLetters = 5;
  TaskDraw draw(key, kChainDrawn), places(key, kPlacesDrawn);
  TaskDraft out;
  while (out.answers.size() < kNamesOfChain) {
    std::string name;
    for (std::size_t i = 0; i < kLetters; ++i) name.push_back(static_cast<char>('A' + draw.below(26)));
    if (std::find(out.answers.begin(), out.answers.end(), name) == out.answers.end()) out.answers.push_back(name);
  }
  const std::string value = std::to_string(10'000 + draw.below(90'000));
  std::vector<double> at;
  for (std::size_t i = 0; i < kNamesOfChain; ++i) at.push_back(unitInterval(places.bits()));
  std::sort(at.begin(), at.end());
  std::vector<std::pair<std::size_t, std::string>> inserted;
  for (std::size_t i = 0; i < kNamesOfChain; ++i) {
    const std::string from = i == 0 ? value : "VAR " + out.answers[i - 1];
    inserted.emplace_back(static_cast<std::size_t>(at[i] * (size + 1)), "VAR " + out.answers[i] + " = " + from + ".");
    out.needles.push_back({inserted.back().second, out.answers[i]});
  }
  out.context = "Variables are set somewhere in the text below. Follow which of them get the same value.\n\n" +
      haystack(std::move(inserted), size, "\n", [](std::size_t) { return taskNoise(); }) + "\n\n";
  out.question = "Which variables have the value " + value + " at the end of the text above?";
  out.answerPrefix = "The " + std::to_string(kNamesOfChain) + " variables with the value " + value + " are:";
  return out;
}

std::vector<std::string> shuffledWords(std::uint64_t key) {
  std::vector<std::string> out;
  for (const auto& list : {taskAdjectives(), taskNouns()})
    for (const std::string_view word : list) out.emplace_back(word);
  shuffle(out, TaskDraw(key, kWordsDrawn));
  return out;
}

/// A numbered list in which ten words stand four times as often as the others, and twice more. RULER, section 3.3.
/// size: places of the other words.
TaskDraft commonWords(std::uint64_t key, int size, double) {
  constexpr int kCommon = 10;
  const std::vector<std::string> words = shuffledWords(key);
  const int others = static_cast<int>(words.size()) - kCommon, times = (size + others - 1) / others;
  TaskDraft out;
  out.answers.assign(words.begin(), words.begin() + kCommon);
  std::vector<std::string> list;
  for (const std::string& word : out.answers) list.insert(list.end(), static_cast<std::size_t>(4 * times + 2), word);
  for (int i = 0; i < size; ++i) list.push_back(words[static_cast<std::size_t>(kCommon + i % others)]);
  shuffle(list, TaskDraw(key, kShuffled));
  out.context = "Some words stand more often than others in the numbered list below.\n\n";
  for (std::size_t i = 0; i < list.size(); ++i)
    out.context.append(i ? " " : "").append(std::to_string(i + 1)).append(". ").append(list[i]);
  out.context += "\n\n";
  out.question = "Which ten words stand most often in the list above?";
  out.answerPrefix = "The ten words that stand most often in the list above are:";
  return out;
}

std::string codedWord(TaskDraw& draw) {
  static constexpr std::string_view kSyllables[] = {"ba", "du", "fe", "gi", "ko", "lu", "ma", "ni",
                                                    "po", "ra", "su", "te", "vi", "wo", "za", "zu"};
  std::string out;
  for (int i = 0; i < 3; ++i) out += draw.of(std::span<const std::string_view>(kSyllables));
  return out;
}

/// Made-up words, the k-th of which stands size / k^2 times: a zeta law with exponent 2. RULER, section 3.3.
TaskDraft frequentWords(std::uint64_t key, int size, double) {
  constexpr std::size_t kAskedFor = 3;
  TaskDraw draw(key, kWordsDrawn);
  const int top = size + 3;  // the first counts differ from the start: 4, 1 would leave a draw between places
  std::vector<std::string> words, text;
  for (int k = 1;; ++k) {
    const int times = k <= 3 ? std::max(top / (k * k), 5 - k) : top / (k * k);
    if (times == 0) break;
    std::string word = codedWord(draw);
    while (std::find(words.begin(), words.end(), word) != words.end()) word = codedWord(draw);
    words.push_back(word);
    text.insert(text.end(), static_cast<std::size_t>(times), word);
    if (words.size() > 2000) break;  // of 4 096; the tail holds words of one place
  }
  shuffle(text, TaskDraw(key, kShuffled));
  TaskDraft out;
  out.answers.assign(words.begin(), words.begin() + kAskedFor);
  out.context = "Some words stand more often than others in the text below, which is in a made-up language.\n\n";
  for (std::size_t i = 0; i < text.size(); ++i) out.context.append(i ? " " : "").append(text[i]);
  out.context += "\n\n";
  out.question = "Which three words stand most often in the text above?";
  out.answerPrefix = "The three words that stand most often in the text above are:";
  return out;
}

constexpr TaskKind kKinds[] = {
    {"needle_single_1", "one number under a name, in a line that repeats itself", true,
     needleDraft<Hay::Noise, false, false, 1, 1, 1>},
    {"needle_single_2", "one number under a name, in a story", true, needleDraft<Hay::Story, false, false, 1, 1, 1>},
    {"needle_single_3", "one UUID under a name, in a story", true, needleDraft<Hay::Story, false, true, 1, 1, 1>},
    {"needle_multikey_1", "one number among four names, in a story", true,
     needleDraft<Hay::Story, false, false, 4, 1, 1>},
    {"needle_multikey_2", "one number, in nothing but numbers under other names", true,
     needleDraft<Hay::Needles, false, false, 1, 1, 1>},
    {"needle_multikey_3", "one UUID under a UUID, in nothing but such lines", true,
     needleDraft<Hay::Needles, true, true, 1, 1, 1>},
    {"needle_multivalue", "four numbers under one name, in a story", false,
     needleDraft<Hay::Story, false, false, 1, 4, 1>},
    {"needle_multiquery", "four names, each with its number, in a story", false,
     needleDraft<Hay::Story, false, false, 4, 1, 4>},
    {"variable_tracking", "five variables that copy one value along a chain", false, variables},
    {"common_words", "the ten most common words of a numbered list", false, commonWords},
    {"frequent_words", "the three most frequent words of a made-up language", false, frequentWords},
};

}  // namespace

std::span<const TaskKind> taskKinds() { return kKinds; }

const TaskKind* taskKind(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const TaskKind& k) { return k.name == name; });
  return found == std::end(kKinds) ? nullptr : &*found;
}

}  // namespace kvlab
