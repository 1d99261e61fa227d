// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of the lanes, one line per lane, the reference first, as a table and as text. Models: owned by their
// view, GUI thread. Texts: pure functions; any thread.
#pragma once
#include "core/api/lanes_view.h"
#include "widgets/table/column_model.h"

namespace kvlab {

/// A lane and its index.
struct LaneLine {
  const LaneView& lane;
  int place = 0;
  const LaneView* operator->() const { return &lane; }
};

class LanesModel : public ColumnModel<LaneLine> {
  Q_OBJECT
 public:
  explicit LanesModel(QObject* parent);
  void show(LanesViewPtr view);

 private:
  int count() const override { return m_view ? static_cast<int>(m_view->lanes.size()) : 0; }
  LaneLine line(int row) const override { return {m_view->lanes[at(row)], row}; }
  void addFigure(const char* id, const QString& title, const QString& tip, const char* width, int gives,
                 QString (*text)(LaneLine), QString (*said)(LaneLine) = nullptr);

  LanesViewPtr m_view;
};

/// "left after tick 12: why", or empty.
QString exitText(const LaneView& lane);

// The Lanes view as text, a line per lane.

/// Numbers of tokens in each state, layer by layer.
QString cellLines(const LanesView& view);
/// Measured tokens, mean and extremes of the losses (of lane 0) and of the differences to lane 0 (of the others).
QString lossLines(const LanesView& view);

}  // namespace kvlab
