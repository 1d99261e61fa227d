// SPDX-License-Identifier: Apache-2.0
// K and V of one row: as the layer stores them, as a rebuild would compute them, and as the state before held them.
// Keys are as stored: unrotated, or rotated where the session keeps keys at their phases. Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// K and V of a stored row, and the scales of its heads; an empty list of scales where the type has none.
struct StoredRow {
  RowPair values;
  std::vector<float> kScales, vScales;  // [kvHeads]
};
StoredRow storedRow(const RowPool& pool, Slot slot);

/// Turns keys [rows, kvHeads, headDim] of rows, which start at an index of the layer's map: as the model computes them
/// before rotation, or turned to the rows' phases.
void turnKeys(Session& session, CacheLayer layer, std::size_t index, bool rotated, std::span<float> keys);

/// The row at an index of the layer's map as a fresh pass computes and stores it. A pass over the whole context; the
/// session does not change. Errors: broken, out_of_range (a rebuild does not compute the row), cancelled, device.
Result<RowPair> rebuiltRow(Session& session, CacheLayer layer, std::size_t index);

struct EarlierRow {
  Tick tick;                      // tick of the state before
  std::optional<RowPair> values;  // none = the layer did not hold the row
};
/// The row at an index of the layer's map in the state before the last change. Errors: not_kept, device.
Result<EarlierRow> rowBefore(const Session& session, CacheLayer layer, std::size_t index);

}  // namespace kvlab
