// SPDX-License-Identifier: GPL-3.0-or-later
// The places where the focus has been, to go back and forward as in a browser: a shown tick, a layer, a head, a row.
// Places that follow each other within a moment, as while a key is held, are one. Owned by the window. GUI thread.
#pragma once
#include <QElapsedTimer>
#include <vector>

#include "widgets/base/inspector_context.h"

namespace kvlab {

class FocusTrail : public QObject {
  Q_OBJECT
 public:
  static constexpr int kMoment = 400;           // milliseconds
  static constexpr std::size_t kLongest = 200;  // places

  FocusTrail(InspectorContext& context, QObject* parent);
  bool canGoBack() const { return m_here > 0; }
  bool canGoForward() const { return m_here + 1 < m_places.size(); }
  void back() { go(m_here - 1); }
  void forward() { go(m_here + 1); }

 signals:
  void changed();

 private:
  void note();
  void go(std::size_t place);

  InspectorContext& m_context;
  std::vector<Focus> m_places;
  std::size_t m_here = 0;
  QElapsedTimer m_since;  // the last place was noted
  bool m_going = false;
};

}  // namespace kvlab
