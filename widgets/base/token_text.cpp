// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/token_text.h"

#include <QStringList>
#include <algorithm>

#include "core/api/texts.h"

namespace kvlab {

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

}  // namespace kvlab
