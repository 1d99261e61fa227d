// SPDX-License-Identifier: Apache-2.0
// What an explanation leaves over as maps in SVG: a cell for each layer and row, the worst head of it, and one for each
// layer and head, the worst row of it. Cells of one class are one path, whose colour the style sheet of
// core/explain/html_report.cpp gives. Pure functions; any thread.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/explain/explain.h"

namespace kvlab {

/// A class of cells: its name in style sheets, and what it says.
struct LeftClass {
  std::string_view name;  // "l3"
  std::string_view text;  // "0.1 to 0.5"
  double most;            // relative L2, exclusive; classes in front of those of figures have 0
};
/// Of rows that are no rows of the text, of rows within their bound, then by figure, ascending.
std::span<const LeftClass> leftClasses();

std::string rowsMap(const Explanation& explanation, Side side);
std::string headsMap(const Explanation& explanation, Side side);

}  // namespace kvlab
