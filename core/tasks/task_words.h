// SPDX-License-Identifier: Apache-2.0
// Words, names and sentences of generated tasks. Any thread.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tasks/task_draw.h"

namespace kvlab {

/// Words without hyphens and digits: adjectives, then nouns.
std::span<const std::string_view> taskAdjectives();
std::span<const std::string_view> taskNouns();
/// The n-th of names such as "amber-anchor" in the order of a sample; the first 8 000 differ.
std::string taskName(std::uint64_t key, std::size_t n);
/// The n-th number of seven digits in the order of a sample; the first million differ.
std::string taskNumber(std::uint64_t key, std::size_t n);
/// The n-th code in the form of a UUID, version 4 (RFC 9562).
std::string taskCode(std::uint64_t key, std::size_t n);
/// The n-th sentence of a made-up story; it has no digit and no hyphen.
std::string taskSentence(std::uint64_t key, std::size_t n);
/// The line that fills a haystack which repeats itself.
std::string_view taskNoise();
/// Puts a list into another order.
template <class Value>
void shuffle(std::vector<Value>& list, TaskDraw draw) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[draw.below(i)]);
}

}  // namespace kvlab
