// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/tokens.h"

#include <QStringList>
#include <algorithm>

#include "core/api/texts.h"

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

QString visibleText(const QString& text) {
  return QString::fromStdString(visibleText(std::string_view(text.toStdString())));
}

QString textOf(const Snapshot& snapshot, TokenId id) {
  const auto i = at(id.value());
  if (!snapshot.info || id.value() < 0 || i >= snapshot.info->tokenTexts.size())
    return QStringLiteral("#%1").arg(id.value());
  return QString::fromStdString(visibleText(std::string_view(snapshot.info->tokenTexts[i])));
}

QString textOf(const Snapshot& snapshot, const std::vector<TokenId>& ids) {
  QString text;
  for (TokenId id : ids) text += textOf(snapshot, id);
  return text;
}

QString textAt(const Snapshot& snapshot, Position position) {
  if (position.value() < 0 || position.value() >= snapshot.length()) return {};
  const LedgerId id = snapshot.context[at(position.value())];
  if (!snapshot.ledger.contains(id)) return {};
  const QString text = textOf(snapshot, snapshot.ledger[id].token);
  return snapshot.ledger[id].kind == RowKind::Gist ? QChar(0x25C7) + text + QChar(0x2026) : text;
}

QString rawText(const Snapshot& snapshot, LedgerId row) {
  if (!snapshot.info || !snapshot.ledger.contains(row)) return {};
  const auto token = at(snapshot.ledger[row].token.value());
  return token < snapshot.info->tokenTexts.size() ? QString::fromStdString(snapshot.info->tokenTexts[token])
                                                  : QString();
}

QString ranges(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  QStringList parts;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t last = i;
    while (last + 1 < values.size() && values[last + 1] <= values[last] + 1) ++last;
    const QString first = QString::number(values[i]);
    parts << (values[last] == values[i] ? first : first + QChar(0x2013) + QString::number(values[last]));
    i = last + 1;
  }
  return parts.join(QStringLiteral(", "));
}

std::vector<TokenId> tokensOf(const Action& action) { return std::visit(TokensIn{}, action); }

std::vector<Action> withTokens(const Action& action, const std::vector<TokenId>& tokens) {
  return std::visit(TakeTokens{tokens}, action);
}

}  // namespace kvlab
