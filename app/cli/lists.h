// SPDX-License-Identifier: GPL-3.0-or-later
// The lists of `kvlab list` and of the manual's pages, made from the program's own tables. Values; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kvlab {

/// A column of a list in Markdown. inText: also printed on a terminal.
struct ListColumn {
  std::string field, title;
  bool inText = true;
};

struct NamedList {
  std::string name;  // "verbs"
  nlohmann::json (*rows)();
  std::vector<ListColumn> columns;  // the first column names the row
};

const std::vector<NamedList>& lists();
/// Null if there is no such list.
const NamedList* listNamed(const std::string& name);
/// "verbs, manifest or errors"
std::string listNames();

/// Pads columns to their widest cell, except the last. One line per row.
std::string textTable(const NamedList& list, const nlohmann::json& rows);
/// A table in GitHub's Markdown.
std::string markdownTable(const NamedList& list, const nlohmann::json& rows);

}  // namespace kvlab
