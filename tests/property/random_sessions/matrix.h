// SPDX-License-Identifier: Apache-2.0
// One list of steps in sessions of every layout, row type, residency and use: a policy, a ring with a window, or a
// working context with and without a policy. Nothing is drawn. Values; any thread.
#pragma once
#include "property/random_sessions/sequence.h"

namespace kvlab::random_sessions {

struct MatrixCell {
  Sequence sequence;
  std::string alike;  // cells of the same name differ in their layout only, and end in the same state
};

/// whole: every combination; else each use with every layout, with one row type and residency that change from use to
/// use.
std::vector<MatrixCell> matrixCells(bool whole);

}  // namespace kvlab::random_sessions
