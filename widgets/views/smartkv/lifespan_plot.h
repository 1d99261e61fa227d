// SPDX-License-Identifier: GPL-3.0-or-later
// Predicted against actual lifespans of one layer's rows, in log4 of tokens: a disc per row, a triangle for rows still
// in use at the end of the recording, the diagonal of a perfect gate, and the mean for each prediction. Hides
// QCustomPlot. GUI thread.
#pragma once
#include <QWidget>
#include <memory>

#include "core/api/lifespan_view.h"

namespace kvlab {

class LifespanPlot : public QWidget {
  Q_OBJECT
 public:
  explicit LifespanPlot(QWidget* parent);
  ~LifespanPlot() override;
  /// head < 0: all heads together.
  void show(const std::vector<HeadLifespans>& heads, int head);
  void follow();  // takes colours and fonts of the theme in use
  int points() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Parts;
  std::unique_ptr<Parts> m_parts;
};

}  // namespace kvlab
