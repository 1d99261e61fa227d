// SPDX-License-Identifier: GPL-3.0-or-later
// The tour: the reader's place in it, and the line beside the menus that offers it. GUI thread.
#pragma once
#include <QWidget>

namespace kvlab {

/// Counts the captions of a running tour, skips those that were read before, and keeps the place for another day. Owned
/// by the main window.
class TourPlace {
 public:
  /// `kept`: the place is read from the settings, and written to them.
  explicit TourPlace(bool kept) : m_kept(kept) {}

  /// The caption where the tour was left, from 1; 0 = it was not begun, or read to its end.
  int left() const;
  /// The tour begins; captions before `first` are passed. captions: all that it has.
  void begin(int first, int captions);
  int captions() const { return m_captions; }
  /// Another caption has come; true if it is to be passed. Captions of other scripts never are.
  bool passes();
  /// The caption that is shown, from 1; 0 outside of a tour.
  int shown() const { return m_running ? m_shown : 0; }
  /// The reader wants the caption before. The script has to run again from its begin: see again().
  void back() { m_again = m_shown - 1; }
  /// The script has ended, with its last caption or before it.
  void end(bool whole);
  /// The caption to begin at anew, once; 0 = none.
  int again();

 private:
  void keep(int caption) const;

  bool m_kept;
  bool m_running = false;
  int m_shown = 0, m_first = 1, m_again = 0, m_captions = 0;
};

/// Offers the tour to somebody new, until it is closed for good. It takes room from nothing, so that nothing moves when
/// it goes. Owned by the menu bar.
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
