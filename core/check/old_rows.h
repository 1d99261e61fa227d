// SPDX-License-Identifier: Apache-2.0
// Recomputes rows that are not new. K and V of the first layer follow from a row's token alone, whatever was edited; in
// the layers behind, those of a row that is labelled exact follow from the stored rows that it sees. A full check takes
// some rows that the last commit wrote and some others to the first layer, and one row through all layers; a cheap one
// takes one row to the first layer. A row that came from a file, or was converted, may differ by the rounding of all
// types that it has passed through (core/state/rounding.h). The tick chooses the rows. Engine thread.
#pragma once
#include "core/check/checks.h"
#include "core/check/findings.h"

namespace kvlab {

void checkOldRows(const CheckInput& input, Findings& findings);

}  // namespace kvlab
