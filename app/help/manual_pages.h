// SPDX-License-Identifier: GPL-3.0-or-later
// The pages of the manual as values: read from the resources folder, found by name, searched. Owned by their reader.
// Any thread.
#pragma once
#include <QString>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

struct ManualPage {
  QString id;     // file name without .md: "rings"
  QString title;  // the first heading
  QString group;  // the heading of index.md under which the page stands; empty for index
  QString text;   // Markdown without comments and without pictures that do not exist
  QString plain;  // the words, line by line, without Markdown signs
};

struct ManualHit {
  std::size_t page;  // index in all()
  int count;         // number of occurrences on the page
  QString line;      // first line with the words, without Markdown signs
};

class ManualPages {
 public:
  /// index.md and the pages that index.md links, in that order. Errors: no_resources if there is no index.md.
  static Result<ManualPages> read(const QString& folder);

  const QString& folder() const { return m_folder; }
  const std::vector<ManualPage>& all() const { return m_pages; }
  const ManualPage* find(const QString& id) const;
  /// The page of "rings", "rings.md" or "rings#blocks". Error unknown_page suggests similar names.
  Result<QString> resolve(const QString& name) const;
  /// Pages with `words` in title or text, title matches first; ignores case.
  std::vector<ManualHit> search(const QString& words) const;

 private:
  void add(const QString& id, const QString& group);

  QString m_folder;
  std::vector<ManualPage> m_pages;
};

/// The anchor of a heading: "Five ways to read a ring" gives "five-ways-to-read-a-ring".
QString headingAnchor(const QString& heading);

}  // namespace kvlab
