// SPDX-License-Identifier: GPL-3.0-or-later
// A measurement of quantisation errors, one line per layer. Owned by its view. GUI thread.
#pragma once
#include <map>
#include <memory>

#include "widgets/base/finding_marks.h"
#include "widgets/table/column_model.h"
#include "widgets/views/quant/quant_measure.h"

namespace kvlab {

using QuantMeasurePtr = std::shared_ptr<const QuantMeasure>;

/// One layer of a measurement.
struct QuantLine {
  const QuantMeasure* measure = nullptr;
  CacheLayer layer;
  const QuantTensor& of(bool keys) const { return measure->layers[at(layer)].of(keys); }
};

class QuantModel : public ColumnModel<QuantLine> {
  Q_OBJECT
 public:
  explicit QuantModel(QObject* parent);
  /// Null shows nothing.
  void show(QuantMeasurePtr measure);
  void setFindings(FindingMarks findings);
  /// The layer with the largest number in a column with bars; -1 if no number is above the others.
  int worstIn(const QString& column) const;

 private:
  using Figure = double QuantTensor::*;
  void addBar(const char* id, const QString& title, const QString& tip, bool keys, Figure figure);
  int count() const override { return m_measure ? static_cast<int>(m_measure->layers.size()) : 0; }
  QuantLine line(int row) const override { return {m_measure.get(), CacheLayer(row)}; }

  QuantMeasurePtr m_measure;
  FindingMarks m_findings;
  std::map<QString, int> m_worst;  // by column id
};

}  // namespace kvlab
