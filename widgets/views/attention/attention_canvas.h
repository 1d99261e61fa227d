// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix of attention: a line per query head or per query, a column per row of the context. If columns share a
// pixel, the largest value shows. GUI thread.
#pragma once
#include "widgets/canvas/matrix_canvas.h"
#include "widgets/canvas/matrix_colours.h"
#include "widgets/views/attention/attention_picture.h"

namespace kvlab {

class AttentionCanvas : public MatrixCanvas {
  Q_OBJECT
 public:
  AttentionCanvas(InspectorContext& context, QWidget* parent);

  /// Null shows nothing.
  void show(AttentionPicturePtr picture);
  void setScale(const ScaleChoice& choice);
  const MatrixColours& colours() const { return m_colours; }
  const AttentionPicturePtr& picture() const { return m_picture; }
  QString readout() const override;
  QString lineText(int line) const;

 protected:
  MatrixShape shape() const override;
  int lines() const override { return m_picture ? m_picture->lines() : 0; }
  int items() const override { return m_picture ? m_picture->length() : 0; }
  SnapshotPtr of() const override { return m_picture ? m_picture->of : nullptr; }
  Cells cells(const Theme& theme) const override;
  /// The line of the focused head, or of the chosen query.
  int focusLine() const override;
  QString cellText(CanvasCell cell) const override;
  CacheLayer layerOf(int) const override { return m_picture->layer; }
  QString lineName(int line) const override;
  QString lineWord() const override { return m_picture->byQuery() ? tr("query") : tr("head"); }
  QString hint() const override { return tr("click a cell to focus its row and head"); }
  void choose(CanvasCell cell) override;

 private:
  AttentionPicturePtr m_picture;
  MatrixColours m_colours;
  int m_query = -1;  // chosen line of a matrix of queries
};

}  // namespace kvlab
