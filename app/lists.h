// SPDX-License-Identifier: GPL-3.0-or-later
// The lists that `kvlab list` prints and that pages of the manual hold: each is made from what the program itself goes
// by. Values; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kvlab {

/// A column of a list as Markdown. inText: also on a terminal.
struct ListColumn {
  std::string field, title;
  bool inText = true;
};

struct NamedList {
  std::string name;  // "verbs"
  nlohmann::json (*rows)();
  std::vector<ListColumn> columns;  // the first one names the row
};

const std::vector<NamedList>& lists();
/// Null where there is none.
const NamedList* listNamed(const std::string& name);
/// "verbs, manifest or errors"
std::string listNames();

/// Columns padded to their widest cell; the last is free. One line per row.
std::string textTable(const NamedList& list, const nlohmann::json& rows);
/// A table of the kind that GitHub's Markdown has.
std::string markdownTable(const NamedList& list, const nlohmann::json& rows);

}  // namespace kvlab
