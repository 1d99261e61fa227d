// SPDX-License-Identifier: GPL-3.0-or-later
// A line beside the menus that offers the tour to somebody new, until it is closed for good. It takes room from
// nothing, so that nothing moves when it goes. Owned by the menu bar. GUI thread.
#pragma once
#include <QWidget>

namespace kvlab {

class TourOffer : public QWidget {
  Q_OBJECT
 public:
  /// `left`: the tour was begun, and the offer is to go on with it.
  TourOffer(bool left, QWidget* parent);
  /// True until somebody has closed the offer, as the settings remember.
  static bool wanted();

 signals:
  void taken();
};

}  // namespace kvlab
