// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/watches/watches_view.h"

#include <QLineEdit>
#include <QPainter>
#include <QPainterPath>
#include <QToolButton>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/api/read_json.h"
#include "core/api/table.h"
#include "widgets/base/expression_edit.h"
#include "widgets/base/format.h"
#include "widgets/base/theme.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double numberOf(const decltype(WatchView::value)& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return kUnknown;
}

/// The least and the largest value; NaN where there is none.
std::pair<double, double> endsOf(const auto& course) {
  double least = kUnknown, most = kUnknown;
  for (const double one : course) least = std::fmin(least, one), most = std::fmax(most, one);
  return {least, most};
}

/// Null: the snapshot has no such watch.
const WatchView* watchIn(const Snapshot& s, const WatchView& watch) {
  if (!s.watches) return nullptr;
  const auto found = std::ranges::find_if(
      *s.watches, [&](const WatchView& one) { return one.id == watch.id && one.expression == watch.expression; });
  return found == s.watches->end() ? nullptr : &*found;
}

/// The value of a watch in a tick: as it was watched, else as it was asked for later; null = not known.
const decltype(WatchView::value)* valueIn(const Snapshot& s, const WatchView& watch, const WatchPast& past) {
  if (const WatchView* there = watchIn(s, watch)) return &there->value;
  const auto asked = past.find(watch.id);
  if (asked == past.end()) return nullptr;
  const auto found = asked->second.find(s.tick);
  return found == asked->second.end() ? nullptr : &found->second;
}

WatchLine lineOf(const WatchView& watch, const std::vector<SnapshotPtr>& history, const SnapshotPtr& shown,
                 const WatchPast& past) {
  WatchLine out{.now = watch, .shown = {}, .course = {}};
  if (const auto* there = shown ? valueIn(*shown, watch, past) : nullptr) out.shown = watchText(*there);
  const std::size_t first = history.size() - std::min(history.size(), WatchModel::kTicks);
  for (std::size_t i = first; i < history.size(); ++i) {
    const auto* there = valueIn(*history[i], watch, past);
    out.course.push_back(there ? numberOf(*there) : kUnknown);
  }
  return out;
}

decltype(WatchView::value) valueOf(const nlohmann::json& cell) {
  if (cell.is_boolean()) return jsonOr(cell, false);
  if (cell.is_number()) return jsonOr(cell, 0.0);
  if (cell.is_string()) return jsonOr(cell, std::string());
  return {};
}
}  // namespace

WatchesView::WatchesView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new WatchModel(this)), m_ask(context, this, "watches") {
  m_edit =
      stripFilter(tr("Watch…, e.g. rows(layer==3)"), tr("Expression to watch"),
                  tr("An expression: kl, rows(layer==3), brightness(ledger==12), exactness(ledger==12); Return adds "
                     "it. The manual's page Expressions lists what can be asked"),
                  1);
  new ExpressionEdit(context, *m_edit);
  m_add = stripButton(tr("Add"), tr("Add watch"), tr("Watch this expression (Return)"), "watch_add");
  m_remove = stripButton(tr("Remove"), tr("Remove watch"), tr("Remove the selected watch (Del)"), "watch_remove");
  m_fill = stripTool(tr("Fill in the past"),
                     tr("Ask all watches about the last 256 ticks, too. Ticks whose states history has dropped are "
                        "executed again, beside the session"));
  connect(m_fill, &QToolButton::clicked, this, &WatchesView::fillPast);
  connect(m_edit, &QLineEdit::returnPressed, this, &WatchesView::addTyped);
  connect(m_edit, &QLineEdit::textChanged, this, &WatchesView::buttons);
  connect(m_add, &QToolButton::clicked, this, &WatchesView::addTyped);
  connect(m_remove, &QToolButton::clicked, this, &WatchesView::removeSelected);
  m_table = new DataTable(this, m_model, tr("Watches"),
                          tr("Expressions and their values; Del removes the selected one, the menu has more"));
  m_table->stretch({"expression", "course"});
  m_table->setItemDelegateForColumn(m_table->columnOf("course"), new CourseDelegate(m_table));
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &WatchesView::buttons);
  setContent(m_table);
  setMainControl(m_table);
  setWordField(m_edit);
  QAction* remove = addViewAction(
      tr("Remove"), tr("Remove the selected watch"), [this] { removeSelected(); }, QKeySequence::Delete);
  QAction* stops =
      addViewAction(tr("Break when it changes"), tr("Stop a run when the selected watch has another value"),
                    [this] { breakOnChange(); });
  for (QAction* one : {remove, stops})
    setObstacle(one, [this] { return selected() ? QString() : tr("no watch is chosen"); });
  buttons();
}

const WatchView* WatchesView::selected() const {
  const int row = m_table->selectionModel()->hasSelection() ? m_table->currentIndex().row() : -1;
  return row < 0 || row >= m_model->rowCount() ? nullptr : &m_model->lines()[at(row)].now;
}

void WatchesView::buttons() {
  m_add->setEnabled(shown() && !m_edit->text().trimmed().isEmpty());
  m_remove->setEnabled(selected() != nullptr);
  m_fill->setEnabled(m_model->rowCount() > 0);
}

void WatchesView::fillPast() {
  const SnapshotPtr newest = context().history().empty() ? nullptr : context().history().back();
  if (!newest || !newest->watches || newest->watches->empty()) return;
  const std::vector<WatchView> asked = *newest->watches;
  nlohmann::json columns{"tick"};
  for (const WatchView& one : asked) columns.push_back(one.expression);
  const std::int64_t since = newest->tick.value() - static_cast<std::int64_t>(WatchModel::kTicks);
  m_ask.query("table", tableArgs("ticks", {{"since", std::max<std::int64_t>(0, since)}}, columns),
              [this, asked](const Result<nlohmann::json>& reply) {
                if (!reply) return emit context().failed(reply.error());
                takePast(asked, *reply);
              });
}

/// Where several commits have one tick, the last one counts.
void WatchesView::takePast(const std::vector<WatchView>& asked, const nlohmann::json& reply) {
  const nlohmann::json& ticks = cellsIn(reply, "tick");
  for (const WatchView& one : asked) {
    const nlohmann::json& values = cellsIn(reply, one.expression);
    for (std::size_t i = 0; i < std::min(ticks.size(), values.size()); ++i)
      m_past[one.id][Tick(jsonOr(ticks[i], std::int64_t{0}))] = valueOf(values[i]);
  }
  onSnapshot();
}

/// The line is emptied when the engine has taken the expression; a refused one stays, to be corrected.
void WatchesView::addTyped() {
  const QString text = m_edit->text().trimmed();
  if (text.isEmpty()) return;
  context().runCommand(QStringLiteral("watch_add"), {{"expression", text.toStdString()}}, this,
                       [this, text](const Result<nlohmann::json>& reply) {
                         if (!reply) emit context().failed(reply.error());
                         else if (m_edit->text().trimmed() == text) m_edit->clear();
                       });
}

void WatchesView::removeSelected() {
  if (const WatchView* one = selected()) context().runCommand(QStringLiteral("watch_remove"), {{"id", one->id}});
}

void WatchesView::breakOnChange() {
  if (const WatchView* one = selected())
    context().runCommand(QStringLiteral("break_add"), {{"condition", "changed(" + one->expression + ")"}});
}

void WatchesView::onSnapshot() {
  m_model->show(context().history(), shown(), m_past);
  buttons();
  const bool none = m_model->rowCount() == 0;
  setEmpty(none ? tr("Values of expressions, tick by tick") : QString(),
           shown() ? tr("Type an expression above, such as kl or rows(layer==3), and press Return.") : noSessionHow());
}

QString WatchesView::dump() const {
  if (isEmpty()) return QStringLiteral("watches: none\n");
  QString out = QStringLiteral("watches:\n");
  for (const WatchLine& line : m_model->lines())
    out += QStringLiteral("%1\t%2\t%3\n")
               .arg(QString::fromStdString(line.now.expression), watchText(line.now.value), line.shown);
  return out;
}

QString watchText(const decltype(WatchView::value)& value) {
  if (const double* number = std::get_if<double>(&value)) return formatNumber(*number);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? WatchModel::tr("true") : WatchModel::tr("false");
  if (const std::string* text = std::get_if<std::string>(&value)) return QString::fromStdString(*text);
  return QStringLiteral("–");
}

WatchModel::WatchModel(QObject* parent) : LineModel(parent) {
  using Line = const WatchLine&;
  add("expression", tr("Expression"), tr("What is watched; Del removes the selected line"), QString(14, 'x'),
      [](Line line) { return QString::fromStdString(line.now.expression); });
  addNumber("now", tr("Now"), tr("Value in the newest tick; – where it is not known"), "context-edited",
            [](Line line) { return watchText(line.now.value); });
  addNumber("shown", tr("Shown"), tr("Value in the shown tick; empty where it was not watched then"),
            {"context-edited", 1}, [](Line line) { return line.shown; })
      .toned([](Line line) { return line.shown == watchText(line.now.value) ? Tone::Faint : Tone::Accent; });
  add("course", tr("Course"), tr("Values of the last 256 ticks, from the least to the largest; flags are 0 and 1"),
      {QString(12, 'x'), 2}, [](Line) { return QString(); })
      .with(CourseRole,
            [](Line line) { return QVariant::fromValue(QList<double>(line.course.begin(), line.course.end())); })
      .tips([](Line line) {
        const auto [least, most] = endsOf(line.course);
        return std::isnan(least) ? QString() : tr("From %1 to %2").arg(formatNumber(least), formatNumber(most));
      });
}

void WatchModel::show(const std::vector<SnapshotPtr>& history, const SnapshotPtr& shown, const WatchPast& past) {
  std::vector<WatchLine> lines;
  const auto now = history.empty() ? nullptr : history.back()->watches;
  for (const WatchView& watch : now ? *now : std::vector<WatchView>())
    lines.push_back(lineOf(watch, history, shown, past));
  const bool same = std::ranges::equal(
      lines, m_lines, {}, [](const WatchLine& one) { return one.now.id; },
      [](const WatchLine& one) { return one.now.id; });
  replace(std::move(lines), same);
}

void CourseDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  DataDelegate::paint(painter, option, index);
  const auto course = index.data(WatchModel::CourseRole).value<QList<double>>();
  const auto [least, most] = endsOf(course);
  if (std::isnan(least)) return;
  const auto theme = Theme::current();
  const QRectF box = QRectF(option.rect).adjusted(6, 4, -8, -4);
  const auto place = [&](qsizetype i) {
    const double x = course.size() > 1 ? static_cast<double>(i) / static_cast<double>(course.size() - 1) : 1;
    const double y = most > least ? (course[i] - least) / (most - least) : 0.5;
    return QPointF(box.left() + x * box.width(), box.bottom() - y * box.height());
  };
  QPainterPath path;
  for (qsizetype i = 0; i < course.size(); ++i) {
    if (std::isnan(course[i])) continue;
    const bool begins = i == 0 || std::isnan(course[i - 1]);
    begins ? path.moveTo(place(i)) : path.lineTo(place(i));
  }
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(theme->accent, 1.2));
  painter->drawPath(path);
  if (!std::isnan(course.back())) {
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme->accent);
    painter->drawEllipse(place(course.size() - 1), 2.2, 2.2);
  }
  painter->restore();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(WatchesView)
