// SPDX-License-Identifier: Apache-2.0
// Tokens added to a vocabulary one after another, as the tokenizers library adds them. A token whose text is known
// keeps its id, whatever id its file states; another gets the next free one. A token that is named again replaces its
// earlier settings. One owner.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/tokens/added_tokens.h"

namespace kvlab::bpe {

class AddedVocabulary {
 public:
  using IdOf = std::function<std::optional<std::int32_t>(std::string_view token)>;

  /// `size` tokens are there already; idOf finds them and must outlive this object.
  AddedVocabulary(std::int32_t size, IdOf idOf) : m_size(size), m_idOf(std::move(idOf)) {}
  /// The id in `token` is not looked at. False where there are too many tokens.
  bool add(const AddedToken& token);
  std::optional<std::int32_t> id(std::string_view token) const;
  /// In order of their ids.
  std::vector<AddedToken> tokens() const;

 private:
  std::int32_t nextId() const;

  std::int32_t m_size;
  IdOf m_idOf;
  std::map<std::int32_t, AddedToken> m_tokens;
  std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> m_ids;
};

}  // namespace kvlab::bpe
