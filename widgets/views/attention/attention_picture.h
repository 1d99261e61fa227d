// SPDX-License-Identifier: GPL-3.0-or-later
// A measurement of attention by head, as the canvas paints it: lines of query heads, or of queries of one head, over
// the rows of a context. Values and pure functions; any thread.
#pragma once
#include <memory>

#include "core/api/error.h"
#include "core/api/snapshot.h"

namespace kvlab {

struct AttentionPicture {
  SnapshotPtr of;  // the measured state
  CacheLayer layer;
  std::vector<int> heads;      // query heads
  int begin = 0, queries = 0;  // context positions of the queries
  std::vector<float> values;  // [heads][queries][length], one head or one query; NaN: not resident, or a summary's line
  std::vector<float> own;     // [heads][queries] on the query's own row where the layer lacks the row

  bool byQuery() const { return queries > 1; }
  int lines() const { return byQuery() ? queries : static_cast<int>(heads.size()); }
  int length() const { return of->length(); }
  float value(int line, int position) const { return values[at(line) * at(length()) + at(position)]; }
  int headOf(int line) const { return heads[byQuery() ? 0 : at(line)]; }
  int queryOf(int line) const { return begin + (byQuery() ? line : 0); }
  /// Sum over the resident rows and the query's own row; NaN for a line without values.
  double sum(int line) const;
  /// Row with the largest value, -1 without values.
  int strongest(int line) const;
};
using AttentionPicturePtr = std::shared_ptr<const AttentionPicture>;

/// Reads the reply to `attentionMatrix` and finds the tick that it names in the history. Errors: bad_reply.
Result<AttentionPicturePtr> attentionPicture(const nlohmann::json& reply, const std::vector<SnapshotPtr>& history);

}  // namespace kvlab
