// SPDX-License-Identifier: GPL-3.0-or-later
// Time line: all ticks of the session and its branches on one axis, with marks for edits, events of the focused row and
// hits of breakpoints. Chooses the tick that all views show, goes to other branches, and limits the ticks of all views.
// Asks the verb `timeline` for new entries, and `history` for the focused row. GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/views/timeline/time_strip.h"

namespace kvlab {

class TimeLineView : public InspectorView {
  Q_OBJECT
 public:
  TimeLineView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  /// A line for each edit.
  QString tsv() const override;
  bool ready() const override { return InspectorView::ready() && !m_late; }
  const TickTree& tree() const { return m_tree; }
  TimeStrip& line() { return *m_line; }

 protected:
  void onSession() override;
  void onSnapshot() override;
  void onFocus() override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void makeStrip();
  void makeActions();
  void ask();
  void take(const Result<nlohmann::json>& reply);
  void askRow();
  void takeRow(const Result<nlohmann::json>& reply);
  void showBreakpoints();
  void showNotes();
  void refresh();
  /// Shows a tick of a lane while the session stays, if it lies behind the present state; else goes there.
  void go(int lane, std::int64_t tick);
  /// Arguments of the command that goes to a tick of a lane; the branch only where it is another one.
  nlohmann::json placeOf(int lane, std::int64_t tick) const;
  void limit(TickRange range);
  void copyLine();

  TickTree m_tree;
  TimeStrip* m_line;
  QLabel* m_where = nullptr;
  QLabel* m_readout = nullptr;
  QToolButton *m_rows = nullptr, *m_limit = nullptr;
  QString m_why;               // the time line cannot be shown; else empty
  std::uint64_t m_serial = 0;  // serial of the newest snapshot that was asked about
  bool m_late = false;         // a snapshot came while a reply was outstanding
  LedgerId m_row{-1};          // asked about
  std::uint64_t m_rowSerial = 0;
  EngineAsk m_ask, m_rowAsk;
};

}  // namespace kvlab
