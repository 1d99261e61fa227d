// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/find_rows.h"

#include <algorithm>
#include <functional>

#include "widgets/base/inspector_view.h"
#include "widgets/base/tokens.h"

namespace kvlab {
namespace {

constexpr int kNeighbours = 3;  // tokens shown on either side

std::string folded(QString text) { return text.replace(QChar(0x2581), QLatin1Char(' ')).toCaseFolded().toStdString(); }

}  // namespace

void RowFinder::readWords(const SnapshotPtr& in) {
  if (m_wordsOf == in->info) return;
  m_wordsOf = in->info;
  m_words.clear();
  if (!in->info) return;
  for (const std::string& word : in->info->tokenTexts) m_words.push_back(folded(QString::fromStdString(word)));
}

void RowFinder::read(const SnapshotPtr& in) {
  if (m_of == in) return;
  m_of = in;
  readWords(in);
  m_text.clear();
  m_begins.assign(1, 0);
  m_begins.reserve(in->context.size() + 1);
  m_gone.clear();
  std::vector<bool> present(in->ledger.size());
  std::size_t rows = 0;  // that are present
  const auto wordOf = [&](LedgerId id) -> const std::string* {
    if (!in->ledger.contains(id)) return nullptr;
    const std::size_t token = at(in->ledger[id].token);
    return token < m_words.size() ? &m_words[token] : nullptr;
  };
  for (const LedgerId id : in->context.span()) {
    if (const std::string* word = wordOf(id)) {
      m_text += *word;
      rows += !present[at(id)];
      present[at(id)] = true;
    }
    m_begins.push_back(static_cast<std::uint32_t>(m_text.size()));
  }
  if (rows == in->ledger.size()) return;
  for (const LedgerId id : idRange<LedgerId>(0, in->ledger.size()))
    if (!present[at(id)] && wordOf(id)) m_gone.emplace_back(id, in->ledger[id].token);
}

FoundRow RowFinder::rowAt(int position, int tokens) const {
  FoundRow out{m_of->context[at(position)], position, {}};
  for (int p = std::max(0, position - kNeighbours); p < std::min(m_of->length(), position + tokens + kNeighbours); ++p)
    out.text += textAt(*m_of, Position(p)).replace(QChar(0x00B7), QLatin1Char(' '));
  out.text = out.text.trimmed();
  return out;
}

void RowFinder::findInContext(const std::string& wanted, std::size_t most, Found& found) const {
  const std::boyer_moore_horspool_searcher searcher(wanted.begin(), wanted.end());
  for (auto from = m_text.begin();;) {
    const auto place = std::search(from, m_text.end(), searcher);
    if (place == m_text.end()) return;
    const auto begin = static_cast<std::uint32_t>(place - m_text.begin());
    ++found.all;
    if (found.rows.size() < most) {
      const auto first = std::ranges::upper_bound(m_begins, begin) - m_begins.begin() - 1;
      const auto last = std::ranges::lower_bound(m_begins, begin + wanted.size()) - m_begins.begin();
      found.rows.push_back(rowAt(static_cast<int>(first), static_cast<int>(last - first)));
    }
    from = place + static_cast<std::ptrdiff_t>(wanted.size());
  }
}

void RowFinder::findGone(const std::string& wanted, std::size_t most, Found& found) const {
  if (m_gone.empty()) return;
  std::vector<bool> fits(m_words.size());
  for (std::size_t i = 0; i < m_words.size(); ++i) fits[i] = m_words[i].find(wanted) != std::string::npos;
  for (auto one = m_gone.rbegin(); one != m_gone.rend(); ++one) {
    if (!fits[at(one->second.value())]) continue;
    ++found.all;
    if (found.rows.size() < most) found.rows.push_back({one->first, -1, tokenText(*m_of, one->first)});
  }
}

RowFinder::Found RowFinder::find(const SnapshotPtr& in, const QString& text, std::size_t most) {
  Found found;
  if (!in || text.isEmpty()) return found;
  read(in);
  bool number = false;
  const LedgerId id(text.trimmed().toInt(&number));
  if (number && in->ledger.contains(id)) {
    const auto place = std::find(in->context.begin(), in->context.end(), id);
    found.all = 1;
    found.rows.push_back(place == in->context.end() ? FoundRow{id, -1, tokenText(*in, id)}
                                                    : rowAt(static_cast<int>(place - in->context.begin()), 1));
  }
  const std::string wanted = folded(text);
  findInContext(wanted, most, found);
  findGone(wanted, most, found);
  return found;
}

}  // namespace kvlab
