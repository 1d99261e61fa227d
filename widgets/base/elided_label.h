// SPDX-License-Identifier: GPL-3.0-or-later
// A label of one line that ends in "…" if it lacks room. The tool tip then shows the whole text, unless the label has
// its own tool tip. text() always returns the whole text. GUI thread.
#pragma once
#include <QLabel>

namespace kvlab {

class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  using QLabel::QLabel;
  QSize minimumSizeHint() const override;
  /// True if a part of the text is hidden.
  bool elided() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

}  // namespace kvlab
