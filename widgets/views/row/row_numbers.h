// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of one KV head of a row: a line per dimension. GUI thread.
#pragma once
#include "widgets/table/column_model.h"
#include "widgets/views/row/row_picture.h"

namespace kvlab {

struct RowNumber {
  int dimension = 0;
  float k = 0, v = 0;
  std::optional<float> otherK = {}, otherV = {};
};

class RowNumbers : public LineModel<RowNumber> {
  Q_OBJECT
 public:
  explicit RowNumbers(QObject* parent);
  /// Null shows nothing.
  void show(const RowPicturePtr& picture, int head);
};

/// All heads as TSV, a line per value.
QString rowTsv(const RowPicture& picture);

}  // namespace kvlab
