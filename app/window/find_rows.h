// SPDX-License-Identifier: GPL-3.0-or-later
// Finds tokens of a session by their text: a text in the context may span several tokens; tokens that have left the
// context are searched one by one. Upper and lower case are the same. Keeps the text of the last snapshot, so that the
// next search need not build it again. GUI thread.
#pragma once
#include <QString>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

struct FoundRow {
  LedgerId row;
  int position = -1;  // position of its first token in the context; -1 = it has left
  QString text;       // the token with its neighbours
};

class RowFinder {
 public:
  struct Found {
    std::vector<FoundRow> rows;  // in the order of the context, then those that have left, newest first
    qint64 all = 0;              // the number of all rows found
  };
  /// The first `most` places of a text. A number is also the id of a ledger row, which comes first.
  Found find(const SnapshotPtr& in, const QString& text, std::size_t most);

 private:
  void read(const SnapshotPtr& in);
  void readWords(const SnapshotPtr& in);
  void findInContext(const std::string& wanted, std::size_t most, Found& found) const;
  void findGone(const std::string& wanted, std::size_t most, Found& found) const;
  FoundRow rowAt(int position, int tokens) const;

  SnapshotPtr m_of;
  std::shared_ptr<const SessionInfo> m_wordsOf;
  std::vector<std::string> m_words;                  // [vocab] in lower case
  std::string m_text;                                // text of the context
  std::vector<std::uint32_t> m_begins;               // [length + 1] where its tokens begin
  std::vector<std::pair<LedgerId, TokenId>> m_gone;  // rows that are not in the context
};

}  // namespace kvlab
