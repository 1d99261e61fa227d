// SPDX-License-Identifier: GPL-3.0-or-later
// The last edit of a wLOD session, its budget and its ratios in words: one line per fact, some with a bar. The facts
// are pure functions of a report; any thread. The list scrolls if there is no room; owned by WlodTreeView, GUI thread.
#pragma once
#include <QScrollArea>
#include <QString>
#include <vector>

#include "core/api/wlod_view.h"
#include "widgets/table/data_table.h"

class QGridLayout;
class QLabel;

namespace kvlab {

/// One part of a bar; its kind decides colour and pattern.
struct FactShare {
  enum class Of : std::uint8_t { Clean, Temporal, Hierarchical, Both, Token, Gist1, Gist2, Used, Free };
  Of of = Of::Clean;
  double part = 0;  // 0 .. 1
};

struct WlodFact {
  QString key, value, tip;
  Tone tone = Tone::Normal;
  std::vector<FactShare> bar = {};
};

/// Facts in reading order: free budget, effect of the last edit, reasons, cost.
std::vector<WlodFact> wlodFacts(const WlodView& view);
/// "272 of 300 entries (91 %)".
QString budgetText(const WlodView& view);
/// True above nine tenths of the budget.
bool budgetShort(const WlodView& view);

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
