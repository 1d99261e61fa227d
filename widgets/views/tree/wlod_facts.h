// SPDX-License-Identifier: GPL-3.0-or-later
// The last edit of a wLOD session, its budget and its ratios as lines of words and bars. Pure; any thread.
#pragma once
#include <QString>
#include <vector>

#include "core/api/wlod_view.h"
#include "widgets/table/data_table.h"

namespace kvlab {

/// One part of a bar; its kind decides colour and pattern.
struct FactShare {
  enum class Of : std::uint8_t { Clean, Temporal, Hierarchical, Both, Token, Gist1, Gist2, Used, Free };
  Of of = Of::Clean;
  double part = 0;  // 0 .. 1
};

struct WlodFact {
  QString key, value, tip;
  Tone tone = Tone::Normal;
  std::vector<FactShare> bar = {};
};

/// Facts in reading order: free budget, effect of the last edit, reasons, cost.
std::vector<WlodFact> wlodFacts(const WlodView& view);
/// "272 of 300 entries (91 %)".
QString budgetText(const WlodView& view);
/// True above nine tenths of the budget.
bool budgetShort(const WlodView& view);

}  // namespace kvlab
