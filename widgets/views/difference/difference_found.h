// SPDX-License-Identifier: GPL-3.0-or-later
// A difference of two states as the engine answers it, read for tables. Values and pure functions; any thread.
#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// One row of a layer that is not alike in both states.
struct DifferentRow {
  enum class What : std::uint8_t { OnlyThen, OnlyNow, Differs, ExactnessOnly };
  What what = What::Differs;
  LedgerId row;       // OnlyThen: its id in the other state
  QString text = {};  // OnlyThen, where the shown ledger has another token under the id
  double phaseThen = 0, phaseNow = 0;
  double k = 0, v = 0;     // |now - then| / max(|now|, |then|)
  QString exactness = {};  // "exact to context-edited"; empty = the same
  int position = -1;       // in the shown context; -1 = none
};

struct DifferentLayer {
  CacheLayer layer;
  QString typeThen, typeNow;
  int onlyThen = 0, onlyNow = 0, changed = 0, moved = 0, same = 0;
  double worstK = 0, worstV = 0;
  std::vector<DifferentRow> rows = {};  // rows that left, rows that came, then the others, each by ledger id
};

struct DifferenceFound {
  Tick then, now;
  bool alike = true;
  std::optional<double> kl = {};
  QString edit = {};                        // that lies between both, where the engine has named it
  int tokensThen = 0, tokensNow = 0;        // in the context of one state only
  std::vector<DifferentLayer> layers = {};  // [cache layers]
};

/// Reads the reply to `difference` and its siblings. Error: bad_reply.
Result<DifferenceFound> differenceFound(const nlohmann::json& reply);

}  // namespace kvlab
