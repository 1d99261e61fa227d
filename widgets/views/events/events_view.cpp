// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/events_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QLineEdit>
#include <QToolButton>

#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/expression_edit.h"
#include "widgets/base/finding_marks.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/save_file.h"
#include "widgets/base/view_registry.h"
#include "widgets/views/events/event_model.h"

namespace kvlab {
namespace {
constexpr int kWide = 640;  // breakpoints are beside the events from this width on
constexpr int kBreaksWide = 230, kBreaksTall = 150, kWhereWide = 150;
}  // namespace

EventsView::EventsView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new EventModel(this)) {
  makeStrip();
  makeBody();
  QAction* save = addViewAction(
      tr("Export trace…"), tr("Save the history as a trace for ui.perfetto.dev"), [this] { askExport(); },
      Qt::CTRL | Qt::Key_E);
  setObstacle(save, [this] { return shown() ? QString() : tr("no session is open"); });
  setHeld({});
}

void EventsView::command(const QString& text, const char* id, const QString& tip) {
  QToolButton* button = stripButton(text, text, tip);
  button->setAutoRaise(true);
  runsCommand(button, context(), id);
}

void EventsView::makeStrip() {
  command(tr("Into"), "step_into", tr("Apply the next pending action, alone (F11)"));
  command(tr("Over"), "step", tr("Run one whole tick (F10)"));
  command(tr("Out"), "step_out", tr("Apply all pending actions without generating (Shift+F11)"));
  command(tr("Back"), "step_back", tr("Go to the previous tick (Shift+F10)"));
  command(tr("Run"), "run", tr("Run until a breakpoint or Stop (F5)"));
  command(tr("Run Back"), "run_back", tr("Go back to the last tick at which a breakpoint held (Ctrl+Shift+F5)"));
  m_summary = stripLabel({}, 1);
  stripTickLimits();
  makeWhere();
  QToolButton* save = stripButton(tr("Export trace…"), tr("Export trace"),
                                  tr("Save the history as a trace for ui.perfetto.dev or chrome://tracing (Ctrl+E)"));
  save->setAutoRaise(true);
  setOwn({save});
  connect(save, &QToolButton::clicked, this, &EventsView::askExport);
}

void EventsView::makeWhere() {
  m_where =
      stripFilter(tr("Ticks where…"), tr("Ticks where a condition held"),
                  tr("A condition, such as evicted(layer==3) or kl > 0.05; Return marks the ticks at which it held, "
                     "and an empty line all of them. The manual's page Expressions lists what can be asked"));
  m_where->setObjectName("where");
  m_where->setFixedWidth(kWhereWide);
  new ExpressionEdit(context(), *m_where);
  connect(m_where, &QLineEdit::returnPressed, this, [this] { askWhere(m_where->text().trimmed()); });
  connect(m_where, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (text.isEmpty() && m_held) setHeld({});
  });
  QAction* next = addViewAction(
      tr("Next Tick That Holds"), tr("Go to the next tick at which the condition held"), [this] { goHeld(true); },
      Qt::Key_N);
  QAction* previous = addViewAction(
      tr("Previous Tick That Holds"), tr("Go to the tick before at which the condition held"),
      [this] { goHeld(false); }, Qt::SHIFT | Qt::Key_N);
  const auto beside = [this](bool behind) {
    if (!m_held) return tr("no condition was asked; type one into Ticks where");
    if (shown() && m_held->beside(shown()->tick, behind)) return QString();
    return behind ? tr("no later tick holds") : tr("no earlier tick holds");
  };
  setObstacle(next, [=] { return beside(true); });
  setObstacle(previous, [=] { return beside(false); });
  connect(&context(), &InspectorContext::commandReplied, this, &EventsView::takeHeld);
  addOption({"where", [this] { return m_held ? m_held->condition.toStdString() : std::string(); },
             [this](const nlohmann::json& value) -> std::string {
               if (!value.is_string()) return "use a condition, or an empty text";
               m_where->setText(QString::fromStdString(value.get<std::string>()));
               askWhere(m_where->text().trimmed());
               return {};
             }});
}

/// A refused condition stays in the line, to be corrected.
void EventsView::askWhere(const QString& condition) {
  if (condition.isEmpty()) return setHeld({});
  context().runCommand(QStringLiteral("ticks_where"), {{"condition", condition.toStdString()}});
}

/// Whoever asked: the line, a script or the palette.
void EventsView::takeHeld(const CommandReply& said) {
  if (said.id != QStringLiteral("ticks_where") || !said.reply || context().history().empty()) return;
  const Snapshot& newest = *context().history().back();
  HeldTicks held{.condition = QString::fromStdString(memberOr(said.args, "condition", std::string())),
                 .upTo = newest.tick,
                 .leaps = newest.leaps};
  for (const nlohmann::json& tick : cellsIn(*said.reply, "tick"))
    if (const Tick one(jsonOr(tick, std::int64_t{-1})); one >= Tick(0)) held.ticks.push_back(one);
  m_where->setText(held.condition);
  setHeld(std::move(held));
}

void EventsView::setHeld(std::optional<HeldTicks> held) {
  m_held = std::move(held);
  m_ticks->setHeld(m_held);
  takeAgain();
}

void EventsView::goHeld(bool behind) {
  if (!m_held || !shown()) return;
  if (const auto tick = m_held->beside(shown()->tick, behind)) clickTick(*tick);
  else emit context().logged(2, behind ? tr("no later tick holds") : tr("no earlier tick holds"));
}

void EventsView::makeBody() {
  m_ticks = new TickStrip(this);
  connect(m_ticks, &TickStrip::picked, this, &EventsView::clickTick);
  auto* all = new QWidget(this);
  auto* column = tightColumn(all);
  column->addWidget(m_ticks);
  auto* content = new TurningSplitter(
      kWide, [](int width) { return width - kBreaksWide; },
      [](int height) { return std::max(height - kBreaksTall, height / 2); }, all);
  m_tree = new TimelineTree(content);
  m_tree->setModel(m_model);
  m_tree->setAccessibleName(tr("Events of the tick"));
  auto* copy = new QAction(tr("Copy rows"), m_tree);
  connect(copy, &QAction::triggered, this, &EventsView::copySelection);
  m_tree->addAction(copy);
  m_tree->setContextMenuPolicy(Qt::ActionsContextMenu);
  settleBars(m_tree);
  m_tree->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);  // keeps the width of the time axis constant
  setColumns();
  content->addWidget(m_tree);
  content->addWidget(new BreakPanel(context(), content));
  content->setStretchFactor(0, 1);
  content->setStretchFactor(1, 0);
  column->addWidget(content, 1);
  setContent(all);
  setMainControl(m_tree);
}

void EventsView::setColumns() {
  TimelineHeader& header = m_tree->timeline();
  header.setStretchLastSection(true);
  header.setMinimumSectionSize(60);
  for (const int column : {EventModel::Duration, EventModel::Bytes, EventModel::Rate})
    header.resizeSection(column, column == EventModel::Rate ? 70 : 84);
}

QString EventsView::summary() const {
  const auto& report = shown()->report;
  const qint64 bytes = tickBytes(*report);
  QString text = tr("tick %1 · %2 · %3")
                     .arg(report->tick.value())
                     .arg(formatMicroseconds(tickMicroseconds(*report)), formatBytes(bytes));
  if (!report->actions.empty())
    text += QStringLiteral(" · ") + counted(static_cast<qint64>(report->actions.size()), tr("action"), tr("actions"));
  if (report->token) text += tr(" · wrote “%1”").arg(QString::fromStdString(report->text).trimmed());
  if (m_held)
    text = tr("%1 where %2, up to tick %3 · ")
               .arg(counted(std::ssize(m_held->ticks), tr("tick"), tr("ticks")), m_held->condition)
               .arg(m_held->upTo.value()) +
        text;
  return text;
}

/// Findings of checks, by layers of the model.
std::map<Layer, QString> EventsView::foundInLayers() const {
  std::map<Layer, QString> out;
  if (!shown() || !shown()->info) return out;
  const FindingMarks findings(*shown());
  for (const FindingMark& one : findings.all())
    if (one.layer) {
      QString& text = out[shown()->info->cacheLayers.layerOf(*one.layer)];
      text += (text.isEmpty() ? QString() : QStringLiteral("\n")) + QStringLiteral("✕ ") + one.text;
    }
  return out;
}

void EventsView::onSession() {
  m_where->clear();
  setHeld({});
}

void EventsView::onSnapshot() {
  if (m_held && !context().history().empty() && context().history().back()->leaps != m_held->leaps)
    return setHeld({});  // the held ticks belong to another branch; the condition stays in the line
  const bool any = hasTicks();
  if (any) setEmpty({});
  else if (!shown()) setEmpty(tr("What each tick did, and how long it took"), noSessionHow());
  else
    setEmpty(tr("No tick has run yet"),
             tr("Step (F10) to see its steps, actions and operations with their times and bytes."));
  for (QToolButton* button : strip()->parentWidget()->findChildren<QToolButton*>())
    button->setEnabled(shown() != nullptr);
  m_summary->setText(any ? summary() : QString());
  m_ticks->show(context().historyInLimits(), shown() ? shown()->tick : Tick(-1),
                shown() ? shown()->alignment.findings : std::vector<Finding>());
  m_model->setTree(any ? EventTree::of(*shown()->report) : EventTree(), foundInLayers());
  m_tree->timeline().axis.setFull(0, any && m_model->tree().endUs > 0 ? m_model->tree().endUs : 1);
  m_tree->expandToDepth(1);
}

void EventsView::onTheme() {
  if (!m_tree) return;
  m_tree->timeline().setFont(theme()->small);
  update();
}

QString EventsView::dump() const {
  if (!hasTicks()) return tr("events: no tick\n");
  return QStringLiteral("events: %1\n").arg(summary()) + m_model->tsv();
}

void EventsView::copySelection() {
  if (hasTicks()) QGuiApplication::clipboard()->setText(m_model->tsv(m_tree->selectionModel()->selectedRows()));
}

Status EventsView::exportTrace(const QString& path) const {
  return saveFile(path,
                  QByteArray::fromStdString(
                      chromeTrace(context().history()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
                  "the trace");
}

void EventsView::askExport() {
  askSaveFile(tr("Export trace"), QStringLiteral("kvlab-trace.json"), tr("Traces (*.json)"),
              [this](const QString& path) {
                const Status status = exportTrace(path);
                if (!status) emit context().failed(status.error());
                else emit context().logged(2, tr("Trace written to %1; open it in ui.perfetto.dev").arg(path));
              });
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(EventsView)
