// SPDX-License-Identifier: Apache-2.0
// The lists of `kvlab list`, of the Python package and of the manual's pages that are about the engine, and every list
// as text. Values; any thread.
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

/// The lists that need no window.
const std::vector<NamedList>& engineLists();

/// Pads columns to their widest cell, except the last. One line per row.
std::string textTable(const NamedList& list, const nlohmann::json& rows);
/// A table in GitHub's Markdown.
std::string markdownTable(const NamedList& list, const nlohmann::json& rows);

}  // namespace kvlab
