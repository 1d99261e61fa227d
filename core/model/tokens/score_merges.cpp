// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/score_merges.h"

#include <algorithm>
#include <numeric>

#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {
namespace {

constexpr std::uint64_t kMostWork = std::uint64_t{1} << 33;  // bytes hashed

bool affordable(const ScoredTokens& in) {
  std::uint64_t work = 0;
  for (std::size_t i = 0; i < in.tokens.size(); ++i)
    if (in.joins[i]) work += std::uint64_t{in.tokens[i].size()} * in.tokens[i].size();
  return work <= kMostWork;
}

/// Ids, the most important token first.
std::vector<std::size_t> byImportance(const ScoredTokens& in) {
  std::vector<std::size_t> order(in.tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (in.first[a] != in.first[b]) return bool{in.first[a]};
    return !in.first[a] && in.scores[a] > in.scores[b];
  });
  return order;
}

}  // namespace

bool addScoreMerges(const ScoredTokens& in, BpeModel& model) {
  if (!affordable(in)) return false;
  const auto usable = [&](std::string_view part) {
    const auto id = model.id(part);
    return id && in.joins[static_cast<std::size_t>(*id)];
  };
  for (const std::size_t i : byImportance(in)) {
    const std::string_view token = in.tokens[i];
    if (!in.joins[i]) continue;
    for (std::size_t cut = token.size() - 1; cut > 0; --cut) {  // the longest left part first
      if ((static_cast<unsigned char>(token[cut]) & 0xc0) == 0x80) continue;
      if (usable(token.substr(0, cut)) && usable(token.substr(cut)))
        model.addMerge(token.substr(0, cut), token.substr(cut));
    }
  }
  return true;
}

}  // namespace kvlab::bpe
