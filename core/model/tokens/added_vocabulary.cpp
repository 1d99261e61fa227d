// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/added_vocabulary.h"

#include <algorithm>

namespace kvlab::bpe {

std::optional<std::int32_t> AddedVocabulary::id(std::string_view token) const {
  const auto it = m_ids.find(token);
  return it == m_ids.end() ? m_idOf(token) : it->second;
}

std::int32_t AddedVocabulary::nextId() const {
  return m_tokens.empty() ? m_size : std::max(m_size, m_tokens.rbegin()->first + 1);
}

bool AddedVocabulary::add(const AddedToken& token) {
  if (token.content.empty()) return true;
  const std::int32_t id = this->id(token.content).value_or(nextId());
  if (id >= BpeModel::kMaxId) return false;
  AddedToken next = token;
  next.id = id;
  if (const auto known = m_tokens.find(id); known != m_tokens.end()) {
    const AddedToken& old = known->second;
    next.special = next.special || old.special;
    // The library looks for a token in the way that its first mention as a special token asks for, and before that
    // mention in the way of every other one.
    next.bothWays = old.bothWays || (!old.special && old.normalized != next.normalized);
    if (old.special) next.normalized = old.normalized;
  }
  m_ids.insert_or_assign(next.content, id);
  m_tokens.insert_or_assign(id, std::move(next));
  return true;
}

std::vector<AddedToken> AddedVocabulary::tokens() const {
  std::vector<AddedToken> out;
  for (const auto& [id, token] : m_tokens) out.push_back(token);
  return out;
}

}  // namespace kvlab::bpe
