// SPDX-License-Identifier: GPL-3.0-or-later
// Row history: the events of the focused ledger row as a timeline, with a plot of its attention or score; a click goes
// to the tick. Asks the table that is chosen after each change of focus or snapshot. GUI thread.
#pragma once
#include <QHBoxLayout>

#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"
#include "widgets/views/history/row_course.h"

namespace kvlab {

struct HistoryEvent {
  Tick tick;
  QString event, layer, detail;
  bool first = true;  // first event of its tick
};

class HistoryModel : public LineModel<HistoryEvent> {
  Q_OBJECT
 public:
  enum Role { kFirstOfTick = Qt::UserRole + 100, kShownTick, kEventTone };
  explicit HistoryModel(QObject* parent);
  void set(std::vector<HistoryEvent> events);
  void setShownTick(Tick tick);
  const std::vector<HistoryEvent>& events() const { return lines(); }

 private:
  Tick m_shown;
};

/// A ledger row in two lines: text, state, source and position; parents and children as buttons.
class RowCard : public QWidget {
  Q_OBJECT
 public:
  explicit RowCard(QWidget* parent);
  void showRow(const Snapshot& snapshot, LedgerId id);
  /// The card's lines as text.
  QString text() const { return m_lines.join('\n'); }

 signals:
  void chosen(kvlab::LedgerId ledger);

 private:
  void family(const Snapshot& snapshot, const QString& title, const std::vector<LedgerId>& ids);
  void clearFamily();

  QLabel* m_token;
  QLabel* m_facts;
  QHBoxLayout* m_family;
  QStringList m_lines;
};

class HistoryView : public InspectorView {
  Q_OBJECT
 public:
  HistoryView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return m_table->tsv(); }
  HistoryModel& model() { return *m_model; }
  DataTable& table() { return *m_table; }
  RowCourse& course() { return *m_course; }

 protected:
  void onSession() override { m_asked = LedgerId(-1); }
  void onSnapshot() override;
  void onFocus() override { ask(); }
  void onTheme() override {
    if (m_course) m_course->follow();
    update();
  }

 private:
  void ask();
  void take(const Result<nlohmann::json>& reply);
  void showEvents();

  HistoryModel* m_model;
  RowCard* m_card = nullptr;
  RowCourse* m_course = nullptr;
  DataTable* m_table = nullptr;
  QComboBox* m_which = nullptr;
  std::vector<HistoryEvent> m_events;  // events of all ticks
  bool m_refused = false;              // they tell why there are none
  LedgerId m_asked{-1};
  CacheLayer m_askedLayer;  // layer of the story asked for
  std::uint64_t m_askedSerial = 0;
  EngineAsk m_ask;
};

}  // namespace kvlab
