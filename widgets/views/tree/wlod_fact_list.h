// SPDX-License-Identifier: GPL-3.0-or-later
// The last edit of a wLOD session in words: one line per fact, some with a bar. Scrolls if there is no room. Owned by
// WlodTreeView. GUI thread.
#pragma once
#include <QScrollArea>
#include <vector>

#include "widgets/views/tree/wlod_facts.h"

class QGridLayout;
class QLabel;

namespace kvlab {

class FactBar;

class WlodFactList : public QScrollArea {
  Q_OBJECT
 public:
  explicit WlodFactList(QWidget* parent);
  void show(std::vector<WlodFact> facts);
  const std::vector<WlodFact>& facts() const { return m_facts; }
  /// Takes the colours of the theme in use.
  void follow();

 private:
  struct Line {
    QLabel *key = nullptr, *value = nullptr;
    FactBar* bar = nullptr;  // null if the fact has no bar
    Tone tone{};
  };
  void build();

  QWidget* m_inner;
  QGridLayout* m_grid;
  std::vector<WlodFact> m_facts;
  std::vector<Line> m_lines;  // [facts]
};

}  // namespace kvlab
