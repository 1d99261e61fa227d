// SPDX-License-Identifier: GPL-3.0-or-later
// K and V of one row as the engine reports them, by KV head, and their numbers as a table. Values and pure functions;
// any thread.
#pragma once
#include <QString>
#include <memory>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct RowTensor {
  QString type;                        // "int8"
  std::vector<float> data, other;      // [heads][dim]; other: the row to compare with, or empty
  std::vector<float> norms, relative;  // [heads]; NaN = not finite; relative is empty without other
  std::vector<float> scales;           // [heads]; empty where the type has none

  float value(int i) const { return data[at(i)]; }
  float apart(int i) const { return data[at(i)] - other[at(i)]; }
};

struct RowPicture {
  int heads = 0, dim = 0;
  RowTensor k, v;
  QString with;  // "rebuild", "before" or empty
  Tick otherTick;
  bool there = true;  // the layer held the other row

  const RowTensor& of(bool keys) const { return keys ? k : v; }
  bool compares() const { return !k.other.empty(); }
};
using RowPicturePtr = std::shared_ptr<const RowPicture>;

/// Reads the reply to `row {which: "both"}`. Errors: bad_reply.
Result<RowPicturePtr> rowPicture(const nlohmann::json& reply);

struct RowNumber {
  int dimension = 0;
  float k = 0, v = 0;
  std::optional<float> otherK = {}, otherV = {};
};

/// The numbers of one KV head of a row: a line per dimension. GUI thread.
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
