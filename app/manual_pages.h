// SPDX-License-Identifier: GPL-3.0-or-later
// The pages of the manual as values: read from the resources folder, found by name, searched. Owned by whoever read
// them. Any thread.
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
  QString plain;  // its words, line by line, without the signs of Markdown
};

struct ManualHit {
  std::size_t page;  // place in all()
  int count;         // how often the words stand on the page
  QString line;      // the first line with the words, without its Markdown signs
};

class ManualPages {
 public:
  /// index.md and the pages that index.md links, in its order. Code no_resources if there is no index.md.
  static Result<ManualPages> read(const QString& folder);

  const QString& folder() const { return m_folder; }
  const std::vector<ManualPage>& all() const { return m_pages; }
  const ManualPage* find(const QString& id) const;
  /// The page of "rings", "rings.md" or "rings#blocks". Code unknown_page, with the nearest names.
  Result<QString> resolve(const QString& name) const;
  /// Pages with `words` in title or text, those with it in the title first; upper and lower case are the same.
  std::vector<ManualHit> search(const QString& words) const;

 private:
  void add(const QString& id, const QString& group);

  QString m_folder;
  std::vector<ManualPage> m_pages;
};

/// The part of a link's address that names a heading: "Five ways to read a ring" gives "five-ways-to-read-a-ring".
QString headingAnchor(const QString& heading);

}  // namespace kvlab
