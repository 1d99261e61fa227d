// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/timeline/time_line_view.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QToolButton>
#include <algorithm>

#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
using nlohmann::json;

QString scriptText(const json& value) {
  return QString::fromStdString(value.dump(-1, ' ', false, json::error_handler_t::replace));
}
}  // namespace

TimeLineView::TimeLineView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_line(new TimeStrip(context, this)),
      m_ask(context, this, "timeline"),
      m_rowAsk(context, this, "timeline.row") {
  makeStrip();
  setContent(m_line);
  setMainControl(m_line);
  m_readout = readoutLine();
  m_readout->setAccessibleName(tr("Tick"));
  m_readout->setToolTip(tr("The tick under the pointer, else the shown one"));
  makeActions();
  for (ViewOption& option : m_line->rangeOptions("tick")) addOption(std::move(option));
  connect(m_line, &AxisCanvas::ranged, this, [this] { sayOptions({"from", "to"}); });
  connect(m_line, &TimeStrip::chosen, this, &TimeLineView::go);
  connect(m_line, &TimeStrip::limited, this, &TimeLineView::limit);
  connect(m_line, &AxisCanvas::readoutChanged, this, [this] { m_readout->setText(m_line->readout()); });
}

void TimeLineView::makeStrip() {
  m_where = stripLabel({}, 1);
  stripTickLimits();
  m_rows = stripTool(tr("Row events"), tr("Mark the ticks at which something happened to the focused row"));
  m_rows->setCheckable(true);
  m_rows->setChecked(true);
  addOption("row_events", m_rows, [this] {
    m_row = LedgerId(-1);
    askRow();
  });
}

void TimeLineView::makeActions() {
  QAction* here = addViewAction(
      tr("Go here"), tr("Show this tick in all views, or go to it if it is of another branch (click)"), [this] {
        const CanvasCell cell = m_line->menuCell();
        if (cell.line >= 0) go(cell.line, cell.item < 0 ? m_tree.tick(m_tree.lanes()[at(cell.line)].tip) : cell.item);
      });
  addViewAction(tr("Show row events"), tr("List what happened to the focused row, in Row history"),
                [this] { context().runCommand("show_history", json::object()); });
  QAction* line = addViewAction(tr("Copy script line"), tr("Copy the line of a script that goes to this tick"),
                                [this] { copyLine(); });
  for (QAction* one : {here, line})
    setObstacle(one, [this] { return m_line->menuCell().line < 0 ? tr("no tick is under the pointer") : QString(); });
  QAction* limits =
      addViewAction(tr("Limit to visible ticks"), tr("Show only the ticks in sight in all views over ticks"),
                    [this] { limit(m_line->ticksInSight()); });
  QAction* all = addViewAction(tr("All ticks"), tr("Show all ticks in all views again"),
                               [this] { context().runCommand("all_ticks", json::object()); });
  setObstacle(limits, [this] { return isEmpty() ? tr("there are no ticks") : QString(); });
  setObstacle(all, [this] { return context().tickLimits() ? QString() : tr("all ticks are shown"); });
  QAction* fit = addViewAction(tr("Show all"), tr("Show the whole time line (0, or double click)"), [this] {
    m_line->fit();
    m_line->sayRange();
  });
  m_limit = stripButton(tr("Limit"), limits->text(), limits->toolTip(), "limit_ticks");
  m_limit->setAutoRaise(true);
  connect(m_limit, &QToolButton::clicked, limits, &QAction::trigger);
  connect(stripTool(tr("Fit"), fit->toolTip()), &QToolButton::clicked, fit, &QAction::trigger);
}

void TimeLineView::onSession() {
  m_tree.clear();
  m_ask.forget();
  m_rowAsk.forget();
  m_serial = 0;
  m_late = false;
  m_why.clear();
  m_row = LedgerId(-1);
  m_line->setMarks("row", {});
  refresh();
}

void TimeLineView::onSnapshot() {
  showBreakpoints();
  showNotes();
  refresh();
  ask();
}

void TimeLineView::onFocus() { askRow(); }

void TimeLineView::contextMenuEvent(QContextMenuEvent* event) {
  if (event->reason() != QContextMenuEvent::Mouse) m_line->forgetMenu();
  InspectorView::contextMenuEvent(event);
}

/// One question at a time: while a run goes on, a newer one would take the place of one that waits again and again.
void TimeLineView::ask() {
  const auto& history = context().history();
  const std::uint64_t newest = history.empty() ? 0 : history.back()->serial;
  if (newest == m_serial || history.empty()) return;
  m_late = m_ask.waiting();
  if (m_late) return;
  m_serial = newest;
  m_ask.query("timeline", {{"since", m_tree.size()}, {"packed", true}},
              [this](const Result<json>& reply) { take(reply); });
}

void TimeLineView::take(const Result<json>& reply) {
  const Result<bool> taken = reply ? m_tree.take(*reply) : Result<bool>(reply.error());
  m_why = taken ? QString() : QString::fromStdString(taken.error().text());
  const bool again = taken && !*taken;
  if (again) m_tree.clear();
  if (again || m_late) {
    m_serial = 0;
    m_late = false;
    if (inUse() || again) ask();
  }
  refresh();
}

void TimeLineView::askRow() {
  const SnapshotPtr s = shown();
  const LedgerId row = context().focus().ledger;
  const auto& history = context().history();
  if (!m_rows->isChecked() || !s || !s->ledger.contains(row)) {
    m_row = LedgerId(-1);
    m_rowAsk.forget();
    m_line->setMarks("row", {});
    m_line->setMarksName({});
    return;
  }
  const std::uint64_t newest = history.empty() ? s->serial : history.back()->serial;
  if (row == m_row && newest == m_rowSerial) return;
  m_line->setMarksName(tokenText(*s, row));
  m_row = row;
  m_rowSerial = newest;
  m_rowAsk.query("table", tableArgs("history", {{"ledger", row.value()}}),
                 [this](const Result<json>& reply) { takeRow(reply); });
}

void TimeLineView::takeRow(const Result<json>& reply) {
  std::vector<TimeMark> marks;
  if (reply)
    for (const json& one : recordsOf(*reply)) {
      const QString event = QString::fromStdString(memberOr(one, "event", std::string())).replace('_', ' ');
      const json& layer = member(one, "layer");
      const QString where = layer.is_null() ? QString() : tr(", layer %1").arg(scriptText(layer).remove('"'));
      marks.push_back({memberOr(one, "tick", std::int64_t{0}), sortOfEvent(event), event + where});
    }
  m_line->setMarks("row", std::move(marks));
}

void TimeLineView::showBreakpoints() {
  const auto& history = context().history();
  std::vector<TimeMark> marks;
  if (!history.empty() && history.back()->breakpoints)
    for (const BreakpointView& one : *history.back()->breakpoints)
      if (one.last)
        marks.push_back({one.last->value(), MarkSort::Stop,
                         tr("%1 held, the last of %2")
                             .arg(QString::fromStdString(one.condition), counted(one.hits, tr("time"), tr("times")))});
  m_line->setMarks("breakpoints", std::move(marks));
}

/// Shows the notes on the way to the present state.
void TimeLineView::showNotes() {
  const auto& history = context().history();
  std::vector<TimeMark> marks;
  if (!history.empty() && history.back()->notes)
    for (const NoteView& one : *history.back()->notes)
      if (one.here)
        marks.push_back({one.tick.value(), MarkSort::Written,
                         one.text.empty() ? tr("bookmark") : tr("note: %1").arg(QString::fromStdString(one.text))});
  m_line->setMarks("notes", std::move(marks));
}

void TimeLineView::refresh() {
  const bool any = shown() && m_tree.lastTick() > 0;
  setEmpty((any && m_why.isEmpty()) || m_ask.waiting() ? QString() : tr("All ticks, edits and branches on one axis"),
           !m_why.isEmpty() ? m_why
               : shown()    ? promptHow()
                            : noSessionHow());
  m_limit->setEnabled(any);
  m_line->show(&m_tree, shown() ? shown()->tick.value() : 0);
  m_where->setText(!any ? QString()
                        : tr("tick %1 of %2  ·  %3  ·  %4")
                              .arg(shown()->tick.value())
                              .arg(m_tree.lanes()[at(m_tree.lane())].name,
                                   counted(m_tree.size() - 1, tr("commit"), tr("commits")),
                                   counted(static_cast<qint64>(m_tree.lanes().size()), tr("branch"), tr("branches"))));
}

json TimeLineView::placeOf(int lane, std::int64_t tick) const {
  const int entry = m_tree.entryAt(lane, tick);
  json out{{"tick", m_tree.tick(entry)}};
  if (!m_tree.leadsTo(entry, m_tree.lanes()[at(m_tree.lane())].tip))
    out["branch"] = m_tree.lanes()[at(lane)].name.toStdString();
  return out;
}

void TimeLineView::go(int lane, std::int64_t tick) {
  const int entry = m_tree.entryAt(lane, tick);
  if (m_tree.leadsTo(entry, m_tree.current())) return clickTick(Tick(m_tree.tick(entry)));
  context().runCommand("go_to_tick", placeOf(lane, tick));
}

void TimeLineView::limit(TickRange range) {
  context().runCommand("limit_ticks", {{"first", range.first.value()}, {"last", range.last.value()}});
}

void TimeLineView::copyLine() {
  const CanvasCell cell = m_line->menuCell();
  if (cell.line < 0) return;
  const json place = placeOf(cell.line, cell.item < 0 ? m_tree.tick(m_tree.lanes()[at(cell.line)].tip) : cell.item);
  const QString branch = place.contains("branch") ? ", " + scriptText(member(place, "branch")) : QString();
  QGuiApplication::clipboard()->setText(QString("s.goto(%1%2)").arg(scriptText(member(place, "tick")), branch));
}

QString TimeLineView::dump() const {
  if (isEmpty()) return QStringLiteral("timeline: empty\n");
  QString out = QStringLiteral("timeline: %1\n%2\n").arg(m_where->text(), m_line->readout());
  for (const TickLane& lane : m_tree.lanes()) {
    out += QStringLiteral("%1: tip at tick %2").arg(lane.name).arg(m_tree.tick(lane.tip));
    if (lane.from >= 0)
      out += QStringLiteral(", from tick %1 of %2")
                 .arg(m_tree.tick(lane.from))
                 .arg(m_tree.lanes()[at(m_tree.laneOf(lane.from))].name);
    for (const auto& [first, last] : lane.kept) out += QStringLiteral(", kept %1-%2").arg(first).arg(last);
    out += QLatin1Char('\n');
  }
  return out + tsv();
}

QString TimeLineView::tsv() const {
  QString out = m_tree.edits() ? tsvLine({tr("branch"), tr("tick"), tr("sort"), tr("edit")}) : QString();
  for (const TickLane& lane : m_tree.lanes())
    for (const int entry : lane.edits) {
      const TimeMark edit = m_tree.editOf(entry);
      out += tsvLine({lane.name, QString::number(edit.tick), wordsOf(edit.sort), edit.words});
    }
  return out;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(TimeLineView)
