// SPDX-License-Identifier: GPL-3.0-or-later
// K and V of one row as heat strips: a line per KV head, a cell per dimension; below each line the difference to the
// row that it is compared with. If dimensions share a pixel, the largest magnitude shows. GUI thread.
#pragma once
#include <QString>
#include <array>
#include <memory>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "widgets/canvas/matrix_canvas.h"

namespace kvlab {

/// K and V of one row as the engine reports them, by KV head. Values and pure functions; any thread.
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

class RowCanvas : public MatrixCanvas {
  Q_OBJECT
 public:
  RowCanvas(InspectorContext& context, QWidget* parent);

  /// Null shows nothing.
  void show(RowPicturePtr picture);
  void setScale(const ScaleChoice& choice);
  /// The largest magnitude that K's colours reach.
  float end() const { return m_scales[0].first().high; }
  const RowPicturePtr& picture() const { return m_picture; }
  /// The chosen KV head and dimension.
  void choosePlace(int head, int dimension);
  int head() const { return m_head; }
  int dimension() const { return m_dimension; }
  QString readout() const override;
  QString headText(bool keys, int head) const;

 protected:
  MatrixShape shape() const override;
  int lines() const override { return m_picture ? 2 * m_picture->heads : 0; }
  int items() const override { return m_picture ? m_picture->dim : 0; }
  CanvasCell focusCell() const override { return {focusLine(), m_dimension}; }
  int focusLine() const override { return m_picture ? m_head + (m_keys ? 0 : m_picture->heads) : -1; }
  QString lineName(int line) const override;
  bool lineIsChosen(int line) const override { return headOf(line) == m_head; }
  QString lineWord() const override { return tr("head"); }
  std::vector<LegendEntry> legend(const Theme& theme) const override;
  void choose(CanvasCell cell) override;
  void paintLine(QPainter& painter, const QRectF& box, int line, const Theme& theme) override;
  QRectF cellBox(const MatrixParts& parts, CanvasCell cell) const override;

 private:
  bool keysOf(int line) const { return line < m_picture->heads; }
  int headOf(int line) const { return line % m_picture->heads; }
  /// Scales of the magnitudes of K, of V, and of their differences.
  const ColourScales& scales(bool keys, bool apart) const { return m_scales[(keys ? 0 : 1) + (apart ? 2 : 0)]; }
  void paintCells(QPainter& painter, const QRectF& box, int line, bool apart, const Theme& theme) const;

  RowPicturePtr m_picture;
  ScaleChoice m_choice;
  std::array<ColourScales, 4> m_scales;
  bool m_keys = true;
  int m_head = 0, m_dimension = 0;
};

}  // namespace kvlab
