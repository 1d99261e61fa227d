// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/strip/prose.h"

#include <algorithm>

namespace kvlab {
namespace {
constexpr int kNothing = 6;  // pixels of a token without visible text: it can still be clicked
constexpr int kMostBreaks = 2;

QString rawText(const SessionInfo& info, TokenId token) {
  const bool known = token.value() >= 0 && at(token.value()) < info.tokenTexts.size();
  return known ? QString::fromStdString(info.tokenTexts[at(token.value())]) : QStringLiteral("#%1").arg(token.value());
}
}  // namespace

ProseToken proseToken(const QString& raw, bool control, const QFontMetrics& metrics) {
  ProseToken out;
  out.control = control;
  out.breaks = std::min(kMostBreaks, static_cast<int>(raw.count(QChar('\n'))));
  for (const QChar one : raw)
    if (one == QChar('\t')) out.text += QStringLiteral("    ");
    else if (one != QChar('\n') && one != QChar('\r')) out.text += one;
  out.joins = !control && !out.text.isEmpty() && !out.text.front().isSpace();
  out.width = std::max(kNothing, metrics.horizontalAdvance(out.text));
  if (out.text.startsWith(QChar(' '))) out.lead = metrics.horizontalAdvance(QChar(' '));
  return out;
}

const ProseToken& ProseTokens::of(const SessionInfo& info, TokenId token, const QFontMetrics& text,
                                  const QFontMetrics& control) {
  const auto id = at(std::max(0, token.value()));
  if (id >= m_tokens.size()) m_tokens.resize(std::max(id + 1, info.tokenTexts.size()));
  if (m_tokens[id].width < 0) {
    const bool special = id < info.specialTokens.size() && info.specialTokens[id];
    m_tokens[id] = proseToken(rawText(info, token), special, special ? control : text);
  }
  return m_tokens[id];
}

TokenLines proseLines(int count, const std::function<const ProseToken&(int)>& token, int left, int right) {
  TokenLines out;
  out.places.resize(at(count));
  int x = left, word = 0;  // the first token of the present word
  const auto newLine = [&](int first) { out.first.push_back(first), x = left; };
  const auto put = [&](int i) {
    const ProseToken& one = token(i);
    out.places[at(i)] = {x, static_cast<int>(out.first.size()) - 1, one.width};
    x += one.width;
  };
  bool control = false;  // the token before
  for (int i = 0; i < count; ++i) {
    const ProseToken& one = token(i);
    if (one.control && control && x > left) newLine(i);
    if (!one.joins || out.first.back() == i) word = i;
    if (x + one.width > right && x > left) {
      const int from = word > out.first.back() ? word : i;  // a word wider than the line breaks where it is
      newLine(from);
      x -= token(from).lead;  // the space between the lines
      for (int moved = from; moved < i; ++moved) put(moved);
      word = from;
    }
    control = one.control;
    const int breaks = i + 1 < count ? one.breaks : 0;
    put(i);
    for (int k = 0; k < breaks; ++k) newLine(i + 1);
  }
  return out;
}

}  // namespace kvlab
