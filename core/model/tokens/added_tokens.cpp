// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/added_tokens.h"

#include <algorithm>

#include "core/model/tokens/unicode.h"

namespace kvlab::bpe {
namespace {

/// True where a token asks to stand alone and does not.
bool inWord(const AddedToken& token, std::string_view text, std::size_t begin, std::size_t end) {
  return token.singleWord && (endsInWord(text.substr(0, begin)) || startsWithWord(text.substr(end)));
}

}  // namespace

Result<AddedToken> addedTokenFromJson(const JsonFields& json) {
  AddedToken token;
  KV_TRY(json.number("id", token.id, 0, BpeModel::kMaxId - 1));
  token.content = KV_TRY(json.text("content"));
  token.special = KV_TRY(json.flag("special", false));
  token.singleWord = KV_TRY(json.flag("single_word", false));
  token.lstrip = KV_TRY(json.flag("lstrip", false));
  token.rstrip = KV_TRY(json.flag("rstrip", false));
  token.normalized = KV_TRY(json.flag("normalized", !token.special));
  return token;
}

void TokenFinder::add(const AddedToken& token, std::string as) {
  if (as.empty()) return;
  auto& groups = m_byFirst[static_cast<unsigned char>(as.front())];
  auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.length <= as.size(); });
  if (group == groups.end() || group->length != as.size()) group = groups.insert(group, {as.size(), {}});
  group->tokens[std::move(as)] = &token;
}

const AddedToken* TokenFinder::longestAt(std::string_view text, std::size_t at, std::size_t& end) const {
  const std::string_view rest = text.substr(at);
  for (const Group& group : m_byFirst[static_cast<unsigned char>(text[at])]) {
    if (group.length > rest.size()) continue;
    const auto it = group.tokens.find(rest.substr(0, group.length));
    if (it == group.tokens.end()) continue;
    end = at + group.length;
    return it->second;
  }
  return nullptr;
}

std::vector<Part> TokenFinder::find(std::string_view text) const {
  std::vector<Part> parts;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = at, end = at;
    const AddedToken* found = longestAt(text, at, end);
    if (!found) {
      ++at;
      continue;
    }
    const AddedToken& token = *found;
    at = end;
    if (inWord(token, text, begin, end)) continue;
    if (token.lstrip) begin = std::max(trailingSpace(text.substr(0, begin)), done);
    if (token.rstrip) end += leadingSpace(text.substr(end));
    if (begin < done) continue;  // white space that the token before has taken
    if (begin > done) parts.push_back({done, begin, nullptr});
    parts.push_back({begin, end, &token});
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size()) parts.push_back({done, text.size(), nullptr});
  return parts;
}

}  // namespace kvlab::bpe
