// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix of attention: a line per query head or per query, a column per row of the context. If columns share a
// pixel, the largest value shows. GUI thread.
#pragma once
#include "core/api/error.h"
#include "widgets/canvas/matrix_canvas.h"
#include "widgets/canvas/matrix_colours.h"

namespace kvlab {

/// A measurement of attention by head: lines of query heads, or of queries of one head, over the rows of a context. A
/// value; any thread.
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
