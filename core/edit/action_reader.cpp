// SPDX-License-Identifier: Apache-2.0
#include "core/edit/action_reader.h"

namespace kvlab {

void ActionReader::readAll(const std::vector<Action>& actions) {
  for (std::size_t i = 0; i < actions.size() && !m_error; ++i) {
    m_place = static_cast<int>(i);
    std::visit([this](const auto& action) { read(action); }, actions[i]);
  }
}

void ActionReader::fail(std::string code, std::string field, nlohmann::json value, std::string why,
                        std::string remedy) {
  if (m_error) return;
  m_error = Error(std::move(code), "action " + std::to_string(m_place) + " was refused", std::move(why),
                  std::move(remedy), m_place, std::move(field), std::move(value));
}

void ActionReader::checkTokens(const std::vector<TokenId>& tokens, const char* field) {
  if (tokens.empty())
    fail("empty_tokens", field, nlohmann::json::array(), std::string(field) + " is empty", "give at least one token");
  for (const TokenId token : tokens)
    if (token.value() < 0 || token.value() >= m_vocab)
      fail("bad_token", field, token.value(),
           "token " + std::to_string(token.value()) + " is outside the vocabulary of " + std::to_string(m_vocab),
           "give a token of the vocabulary");
}

void ActionReader::replace(std::vector<Position> positions, const std::vector<TokenId>& tokens) {
  const std::int32_t anchor = positions.front().value();
  m_changes.push_back({m_place, anchor, false, RowState::Replaced, Source::Replacement, std::move(positions), tokens});
}

void ActionReader::read(const ReplacePair& a) {
  if (!hasToken(a.originalPos1, "original_pos1") || !hasToken(a.originalPos2, "original_pos2")) return;
  if (a.originalPos1 >= a.originalPos2)
    return fail("bad_order", "original_pos2", a.originalPos2.value(), "original_pos2 is not above original_pos1");
  checkTokens(a.newTokenIds, "new_token_ids");
  replace({a.originalPos1, a.originalPos2}, a.newTokenIds);
}

void ActionReader::read(const Replace& a) {
  if (a.positions.empty())
    return fail("empty_positions", "positions", nlohmann::json::array(), "positions is empty",
                "name at least one position");
  for (std::size_t i = 0; i < a.positions.size(); ++i) {
    if (!hasToken(a.positions[i], "positions")) return;
    if (i && a.positions[i - 1] >= a.positions[i])
      return fail("bad_order", "positions", a.positions[i].value(), "positions are not strictly ascending",
                  "sort them");
  }
  checkTokens(a.newTokenIds, "new_token_ids");
  replace(a.positions, a.newTokenIds);
}

void ActionReader::read(const Add& a) {
  checkTokens({a.tokenId}, "token_id");
  m_adds.push_back({m_place, m_length, true, RowState::Live, m_addSource, {}, {a.tokenId}});
}

void ActionReader::read(const Delete& a) {
  if (!hasToken(a.position, "position")) return;
  m_changes.push_back({m_place, a.position.value(), false, RowState::Deleted, Source::User, {a.position}, {}});
}

void ActionReader::read(const Insert& a) {
  if (a.position.value() != m_length && !hasToken(a.position, "position")) return;
  checkTokens(a.tokenIds, "token_ids");
  m_changes.push_back({m_place, a.position.value(), true, RowState::Live, Source::Insertion, {}, a.tokenIds});
}

}  // namespace kvlab
