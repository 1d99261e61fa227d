// SPDX-License-Identifier: GPL-3.0-or-later
// The last edit of a wLOD session, its budget and its shares as lines of words and bars. Pure; any thread.
#pragma once
#include <QString>
#include <vector>

#include "core/api/wlod_view.h"
#include "widgets/table/data_table.h"

namespace kvlab {

/// A part of a bar: what it stands for decides how it looks.
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

/// In the order in which people ask: is there room, what did the last edit do, why, and what did it cost.
std::vector<WlodFact> wlodFacts(const WlodView& view);
/// "272 of 300 entries (91 %)".
QString budgetText(const WlodView& view);
/// True above nine tenths of the budget.
bool budgetShort(const WlodView& view);

}  // namespace kvlab
