// SPDX-License-Identifier: GPL-3.0-or-later
// A measurement of quantisation errors from the engine: per layer, K and V, by row; and the bands that show it, each
// with bars of one figure, a strip of another, and the axis of the bars. Values and pure functions; any thread.
// semantics.md, section 7. The model has one line per layer. Owned by its view. GUI thread.
#pragma once
#include <QString>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "widgets/base/finding_marks.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/table/column_model.h"

namespace kvlab {

/// One tensor of one layer. Rows that are not resident have NaN.
struct QuantTensor {
  QString type;                     // "int8"
  bool scaled = false;              // codes times a scale; other types store values directly
  std::vector<float> relative;      // [length] |stored - computed| / |computed|, over all heads
  std::vector<float> cosine;        // [length]
  std::vector<float> scale, atMax;  // largest over the heads; number of codes at the largest magnitude
  std::vector<float> logit;         // [length] error of the newest query's attention logits; keys only
  double worst = 0, mean = 0;       // worst and mean of `relative`
  double lowestCosine = 0, shareAtMax = 0, worstLogit = 0;  // NaN if unknown; share of all values
  // Since the pool was made.
  std::int64_t clipped = 0, nonFinite = 0, floored = 0;
  double scaleMin = 0, scaleMean = 0, scaleMax = 0;
};

struct QuantLayer {
  QuantTensor k, v;
  const QuantTensor& of(bool keys) const { return keys ? k : v; }
  /// True if values were clipped or not finite since the pool was made.
  bool spoilt() const { return k.clipped + k.nonFinite + v.clipped + v.nonFinite > 0; }
};

struct QuantMeasure {
  SnapshotPtr of;      // the measured state
  int values = 0;      // values per row, in each tensor
  bool tried = false;  // the types are not those of the stored rows
  std::vector<QuantLayer> layers;
};

/// Reads the reply to `quantisation {rows: true}`, packed or not, and finds the tick that it names in the history.
/// Errors: bad_reply, not_found if that tick was dropped.
Result<QuantMeasure> quantMeasure(const nlohmann::json& reply, const std::vector<SnapshotPtr>& history);
/// True if both have the same rows in the same types.
bool sameRows(const Snapshot& a, const Snapshot& b);

/// The figure that bars show.
enum class QuantFigure : std::uint8_t { Relative, Cosine, Scale, AtMax, Logit };
inline constexpr int kQuantFigures = 5;
const char* name(QuantFigure figure);  // option name, e.g. "at_max"
QString title(QuantFigure figure);     // "relative error"
/// Values have no attention logits: they show the relative error instead.
QuantFigure figureOf(bool keys, QuantFigure chosen);
/// [length], larger is worse: 1 - cosine for Cosine. Empty if the type has no codes.
std::vector<float> rowValues(const QuantTensor& tensor, QuantFigure figure);
/// The first row with the largest value; -1 if no value is above zero.
int worstRow(const std::vector<float>& values);
double meanOf(const std::vector<float>& values);  // mean of the values that are not NaN; NaN if there is none

/// All figures of a row in one line, in columns that align for K and V.
QString rowText(const QuantMeasure& measure, CacheLayer layer, bool keys, int row);

/// One figure of each row, [length], and its scale.
struct QuantSeries {
  QuantFigure figure = QuantFigure::Relative;
  std::vector<float> values;  // empty: this type has no such figure
  ColourScale scale;
  bool any() const { return worst >= 0; }  // true if a value is above zero
  int worst = -1;
  double mean = 0;
};

struct QuantLane {
  bool keys = true;
  QuantSeries bars, strip;
};

/// Bands of K and V. Bars of the same figure share one scale, except scales of rows. The strip shows each row's scale;
/// if the bars show the scale, it shows the relative error.
std::array<QuantLane, 2> quantLanes(const QuantLayer& layer, QuantFigure chosen);

/// A logarithmic axis for values from `least` (above zero) to `most`; both ends are 1, 2 or 5 times a power of ten. It
/// covers at most four powers of ten; smaller values are drawn at the foot.
ColourScale logAxis(double least, double most);
ColourScale linearAxis(double most);
/// Labelled values, ascending, at most `count` and at least two; a linear axis labels its ends.
std::vector<double> axisLabels(const ColourScale& scale, int count);

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
