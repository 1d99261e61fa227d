// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/action_tokens.h"

namespace kvlab {
namespace {
struct TokensIn {
  std::vector<TokenId> operator()(const ReplacePair& a) const { return a.newTokenIds; }
  std::vector<TokenId> operator()(const Replace& a) const { return a.newTokenIds; }
  std::vector<TokenId> operator()(const Insert& a) const { return a.tokenIds; }
  std::vector<TokenId> operator()(const Add& a) const { return {a.tokenId}; }
  template <class Other>
  std::vector<TokenId> operator()(const Other&) const {
    return {};
  }
};

struct TakeTokens {
  const std::vector<TokenId>& tokens;
  std::vector<Action> operator()(ReplacePair a) const { return a.newTokenIds = tokens, std::vector<Action>{a}; }
  std::vector<Action> operator()(Replace a) const { return a.newTokenIds = tokens, std::vector<Action>{a}; }
  std::vector<Action> operator()(Insert a) const { return a.tokenIds = tokens, std::vector<Action>{a}; }
  std::vector<Action> operator()(const Add&) const {
    std::vector<Action> out;
    for (TokenId id : tokens) out.push_back(Add{id});
    return out;
  }
  template <class Other>
  std::vector<Action> operator()(const Other& other) const {
    return {other};
  }
};
}  // namespace

std::vector<TokenId> tokensOf(const Action& action) { return std::visit(TokensIn{}, action); }

std::vector<Action> withTokens(const Action& action, const std::vector<TokenId>& tokens) {
  return std::visit(TakeTokens{tokens}, action);
}

}  // namespace kvlab
