// SPDX-License-Identifier: GPL-3.0-or-later
// Events: the steps of the shown tick with their durations, as a tree with bars on a common time axis; above it the
// ticks of the history, beside it breakpoints. GUI thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/views/events/break_panel.h"
#include "widgets/views/events/event_model.h"
#include "widgets/views/events/tick_strip.h"
#include "widgets/views/events/timeline.h"

namespace kvlab {

class EventsView : public InspectorView {
  Q_OBJECT
 public:
  EventsView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  void copySelection() override;
  QString tsv() const override { return hasTicks() ? m_model->tsv() : QString(); }
  /// Writes the history as a Chrome trace. Errors: the file cannot be written.
  Status exportTrace(const QString& path) const;

 protected:
  void onSession() override;
  void onSnapshot() override;
  void onTheme() override;

 private:
  void makeStrip();
  void makeBody();
  void makeWhere();
  void askWhere(const QString& condition);
  void takeHeld(const CommandReply& said);
  void setHeld(std::optional<HeldTicks> held);
  void goHeld(bool behind);
  void command(const QString& text, const char* id, const QString& tip);
  void askExport();
  void setColumns();
  bool hasTicks() const { return shown() && shown()->report; }
  QString summary() const;
  std::map<Layer, QString> foundInLayers() const;

  EventModel* m_model;
  TickStrip* m_ticks = nullptr;
  TimelineTree* m_tree = nullptr;
  QLabel* m_summary = nullptr;
  QLineEdit* m_where = nullptr;
  std::optional<HeldTicks> m_held;
};

}  // namespace kvlab
