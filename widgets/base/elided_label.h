// SPDX-License-Identifier: GPL-3.0-or-later
// A label of one line that ends in "…" where it has no room and then says the whole text in its tool
// tip, unless it has one of its own. text() is always the whole text. GUI thread.
#pragma once
#include <QLabel>

namespace kvlab {

class ElidedLabel : public QLabel {
  Q_OBJECT
 public:
  using QLabel::QLabel;
  QSize minimumSizeHint() const override;
  /// True while a part of the text is not shown.
  bool elided() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

}  // namespace kvlab
