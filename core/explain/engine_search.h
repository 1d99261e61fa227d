// SPDX-License-Identifier: Apache-2.0
// Explanations that are run: rows that an edit left behind, and the faults of engine_hypotheses.h. Each is computed in
// this engine and compared with what is left over. Engine thread.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/explain/engine_hypotheses.h"

namespace kvlab {

/// How well rows of a trial explain the file.
struct TrialFit {
  double wrong = 1;   // share of row-heads above their bound
  double median = 0;  // of all row-heads in the layers that were wrong
};

struct FoundTrial {
  std::string kind;
  EngineTrial trial;
  TokenRows rows;  // of all layers
  TrialFit fit;
  std::vector<std::int32_t> kept = {};  // of stale rows: keptTokens(); else empty
};

struct EngineSearch {
  const HypothesisRoom& room;
  bool ofRows = false;  // only faults of rows by themselves (EngineHypothesis::rows), or only the others
  TrialFit plain;       // fit of the exact rows
  /// Fit of rows, in the first `layers` layers.
  std::function<TrialFit(const TokenRows& rows, int layers)> fit;
  std::function<bool()> late;  // no time for another trial
  Progress progress;
};

/// Trials that leave clearly less over than exact rows do, the best first.
Result<std::vector<FoundTrial>> searchEngine(const EngineSearch& search);

/// An edit that keeps rows behind it: `before` was computed whole, its tokens that keptTokens() names keep their rows
/// at their new positions, the others are computed at last.
struct KeptPass {
  TokenPass pass;                  // tokens of `before`, then those that were computed at last
  std::vector<std::int32_t> rows;  // [tokens of the text] index in pass.ids
};
/// Rows were computed from the right tokens. Keys that were turned once more were rounded once more, so that those of
/// the lowest layer may be off by twice their bound.
bool lowestRight(const LeftSignature& left);
KeptPass keptPass(const HypothesisRoom& room, const std::vector<std::int32_t>& kept);
/// Rows of the text that such an edit leaves, in the first layers. Errors: as tokenRows().
Result<TokenRows> keptRows(const HypothesisRoom& room, const std::vector<std::int32_t>& kept, int layers,
                           const Progress& progress);

}  // namespace kvlab
