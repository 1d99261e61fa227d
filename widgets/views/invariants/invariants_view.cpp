// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/invariants/invariants_view.h"

#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <algorithm>

#include "core/api/read_json.h"
#include "widgets/base/alignment_lamp.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
InvariantLine* lineOf(std::vector<InvariantLine>& lines, std::string_view id) {
  const auto at = std::ranges::find(lines, id, [](const InvariantLine& line) { return line.state.id; });
  return at == lines.end() ? nullptr : &*at;
}

QString tickText(Tick tick) {
  return tick.value() < 0 ? QStringLiteral("never") : QStringLiteral("tick %1").arg(tick.value());
}
/// A check that looks at a part of it may pass in the tick in which another one fails.
QString lastPassText(const InvariantState& state) {
  const bool both = state.firstFailure && state.lastPass >= *state.firstFailure;
  return both ? QStringLiteral("%1, in part").arg(tickText(state.lastPass)) : tickText(state.lastPass);
}

/// Shows a lamp in column 0, chosen by the model's kBadRole; a ring where the tone of the text is faint, because
/// nothing is known.
class LampDelegate : public DataDelegate {
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (index.column() != 0) return DataDelegate::paint(painter, option, index);
    const auto theme = Theme::current();
    const bool bad = index.data(kBadRole).toBool();
    if (bad) painter->fillRect(option.rect, Theme::mix(theme->surface, theme->error, 0.16));
    if (option.state & QStyle::State_Selected)
      painter->fillRect(option.rect, bad ? Theme::mix(theme->selection, theme->error, 0.3) : theme->selection);
    const QPointF centre(option.rect.left() + 14, option.rect.center().y() + 0.5);
    if (index.data(kToneRole).toInt() == static_cast<int>(Tone::Faint)) paintRing(*painter, centre, *theme);
    else paintLamp(*painter, centre, 6, !bad, *theme);
    painter->setFont(theme->ui);
    painter->setPen(bad ? theme->error : theme->muted);
    painter->drawText(option.rect.adjusted(26, 0, 0, 0), Qt::AlignVCenter, index.data().toString());
  }
};

QPixmap lamp(bool good, const Theme& theme, qreal dpr) {
  QPixmap picture(QSize(18, 18) * dpr);
  picture.setDevicePixelRatio(dpr);
  picture.fill(Qt::transparent);
  QPainter painter(&picture);
  paintLamp(painter, {9, 9}, 6.5, good, theme);
  return picture;
}

/// "The checks of the last tick, at level cheap, took 46.6 µs of 555 µs."; empty where nothing was measured.
QString costText(const Snapshot& snapshot) {
  if (!snapshot.report || !snapshot.settings) return {};
  const nlohmann::json& check = member(snapshot.settings->manifest, "check");
  const QString level = QString::fromStdString(memberOr(check, "level", std::string("cheap")));
  if (level == "off") return InvariantsView::tr("At level off no tick is checked.");
  double tickUs = 0, us = 0;
  for (const Event& event : snapshot.report->events) {
    if (event.depth > 0) continue;
    tickUs = std::max(tickUs, event.startUs + event.us);
    if (event.name == "verify") us += event.us;
  }
  if (us == 0) return {};
  return InvariantsView::tr("The checks of the last tick, at level %1, took %2 of %3.")
      .arg(level, formatMicroseconds(us), formatMicroseconds(tickUs));
}

/// What a check leaves out where a device computes; empty if it looks at the same.
QString leftOutText(const Snapshot& snapshot, std::string_view id) {
  if (!snapshot.info || !snapshot.info->backend.starts_with("cuda")) return {};
  if (id == "exact_rows") return InvariantsView::tr("On a device the newest row is looked at by level full alone.");
  if (id == "gate_scores") return InvariantsView::tr("On a device no score of a gate is computed again.");
  if (id == "next_logits") return InvariantsView::tr("On a device logits of a query pass are not computed again.");
  if (id == "policy_scores")
    return InvariantsView::tr("On a device scores that follow from stored keys are not computed again.");
  return {};
}
}  // namespace

QString passedText(const InvariantState& state) {
  if (state.since) return QStringLiteral("It broke %1.").arg(QString::fromStdString(intervalText(*state.since)));
  if (state.allPassed.value() < 0) return QStringLiteral("No check has looked at all of it yet.");
  return QStringLiteral("All of it has passed since tick %1.").arg(state.allPassed.value());
}

QString detailText(const InvariantLine& line) {
  return QString::fromStdString(line.state.detail.empty() && line.violation ? line.violation->detail
                                                                            : line.state.detail);
}

InvariantModel::InvariantModel(QObject* parent) : LineModel(parent) {
  using Line = const InvariantLine&;
  const auto tone = [](Tone good, Tone bad) { return [=](Line line) { return line.state.ok ? good : bad; }; };
  add("state", tr("State"), tr("Result of the newest check"), "X not checked",
      [](Line line) { return line.state.unchecked() ? tr("not checked")
                          : line.state.ok           ? tr("holds")
                                                    : tr("broken"); })
      .words()
      .toned([](Line line) { return line.state.unchecked() ? Tone::Faint
                                 : line.state.ok           ? Tone::Ok
                                                           : Tone::Error; });
  add("invariant", tr("Invariant"), tr("What must always hold"), QString(20, 'x'), [](Line line) {
    return wordOf(line.state.title);
  }).words();
  add("last_pass", tr("Last pass"), tr("Last tick after which a check looked at the invariant and found nothing"),
      {"tick 100", 1}, [](Line line) { return lastPassText(line.state); })
      .words()
      .in(Tone::Muted);
  add("first_failure", tr("First failure"), tr("First tick after which the invariant was violated"), "tick 100",
      [](Line line) { return line.state.firstFailure ? tickText(*line.state.firstFailure) : QString(); })
      .words()
      .toned(tone(Tone::Muted, Tone::Error));
  add("detail", tr("Detail"), tr("Details of the violation"), "x", detailText)
      .words()
      .toned(tone(Tone::Faint, Tone::Normal));
  withLines(kBadRole, [](Line line) { return !line.state.ok; });
  withLines(Qt::ToolTipRole, [](Line line) {
    return QStringLiteral("%1 (%2)\n%3")
        .arg(wordOf(line.state.title), wordOf(line.state.id), detailText(line))
        .trimmed();
  });
}

/// Broken invariants first. If the order does not change, the selection is kept.
void InvariantModel::order(std::vector<InvariantLine> given) {
  std::stable_sort(given.begin(), given.end(),
                   [](const InvariantLine& a, const InvariantLine& b) { return a.state.ok < b.state.ok; });
  const bool same = std::equal(given.begin(), given.end(), lines().begin(), lines().end(),
                               [](const auto& a, const auto& b) { return a.state.id == b.state.id; });
  replace(std::move(given), same);
}

void InvariantModel::show(const Snapshot& snapshot) {
  std::vector<InvariantLine> lines;
  for (const InvariantState& state : snapshot.invariants) {
    InvariantLine line{state};
    const InvariantLine* before = m_tick == snapshot.tick ? lineOf(m_lines, state.id) : nullptr;
    if (before && before->full) line = *before;  // a full check of this tick has more details
    if (snapshot.report)
      for (const Violation& violation : snapshot.report->violations)
        if (violation.invariant == state.id && !line.violation) line.violation = violation;
    lines.push_back(std::move(line));
  }
  m_tick = snapshot.tick;
  order(std::move(lines));
}

void InvariantModel::showFull(const nlohmann::json& answer, Tick tick) {
  std::vector<InvariantLine> lines = m_lines;
  for (const nlohmann::json& entry : answer) {
    const std::string id = memberOr(entry, "id", std::string());
    InvariantLine* const line = lineOf(lines, id);
    if (!line) continue;
    line->state.ok = memberOr(entry, "ok", true);
    line->state.detail = memberOr(entry, "detail", std::string());
    if (line->state.ok) line->state.since.reset();
    line->full = true;
    if (line->state.ok) line->state.lastPass = line->state.allPassed = tick;
    else if (!line->state.firstFailure) line->state.firstFailure = tick;
  }
  m_fullAt = tick;
  m_tick = tick;
  order(std::move(lines));
}

int InvariantModel::failures() const {
  return static_cast<int>(std::ranges::count(m_lines, false, [](const InvariantLine& line) { return line.state.ok; }));
}

bool InvariantModel::anyFailed() const {
  return std::ranges::any_of(m_lines, [](const InvariantLine& line) { return line.state.firstFailure.has_value(); });
}

QString InvariantModel::summary() const {
  const int bad = failures();
  const auto unknown =
      static_cast<int>(std::ranges::count_if(m_lines, &InvariantState::unchecked, &InvariantLine::state));
  QString text = invariantsText(rowCount(), unknown, bad);
  std::optional<Tick> first;
  for (const InvariantLine& line : m_lines)
    if (!line.state.ok && line.state.firstFailure && (!first || *line.state.firstFailure < *first))
      first = line.state.firstFailure;
  if (bad && first) text += tr(", first at tick %1").arg(first->value());
  if (m_fullAt) text += tr(" · full check at tick %1").arg(m_fullAt->value());
  return text;
}

InvariantsView::InvariantsView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new InvariantModel(this)), m_ask(context, this) {
  makeStrip();
  m_table = new DataTable(this, m_model, tr("Invariants"),
                          tr("Return or a double click on a broken invariant focuses the row that violates it"));
  m_table->setItemDelegate(new LampDelegate(m_table));
  auto* content = new QWidget(this);
  auto* column = tightColumn(content);
  column->addWidget(m_table, 1);
  m_detail = new QLabel(content);
  m_detail->setFont(theme()->small);
  m_detail->setWordWrap(true);
  m_detail->setTextFormat(Qt::PlainText);
  m_detail->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_detail->setContentsMargins(Theme::kLarge, Theme::kMedium, Theme::kLarge, Theme::kMedium);
  m_detail->setBackgroundRole(QPalette::Button);
  m_detail->setAutoFillBackground(true);
  m_detail->setAccessibleName(tr("Detail"));
  column->addWidget(m_detail);
  setContent(content);
  setMainControl(m_table);
  connect(m_table, &QTableView::activated, this, [this](const QModelIndex& index) { jump(index.row()); });
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &InvariantsView::showDetail);
  m_table->setColumnHidden(m_table->columnOf("detail"), true);  // the line below the table shows it
  m_table->stretch({"invariant"});
  m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

void InvariantsView::makeStrip() {
  m_lamp = stripLabel({});
  m_summary = stripLabel({}, 1);
  m_summary->setFont(theme()->strong);
  m_jump = pushButton(tr("Go to failure"), tr("Show the tick and focus the row of the first failure (Ctrl+J)"), this);
  m_check = pushButton(tr("Check all now"), tr("Run every check in full: all rows, all checksums"), this);
  strip()->addWidget(m_jump);
  strip()->addWidget(m_check);
  m_jump->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_J));
  setCommand(m_check, "check_invariants");
  setOwn({m_jump});
  connect(m_check, &QPushButton::clicked, this, &InvariantsView::checkAll);
  connect(&context(), &InspectorContext::commandReplied, this, &InvariantsView::take);
  connect(m_jump, &QPushButton::clicked, this, [this] { jump(0); });
}

void InvariantsView::checkAll() {
  if (m_ask.waiting()) return;
  m_ask.run(QStringLiteral("check_invariants"), nlohmann::json::object(), [this](const Result<nlohmann::json>& reply) {
    if (!reply) emit context().failed(reply.error());
    refresh();
  });
  refresh();
}

/// Takes the reply to a full check, whoever ran it.
void InvariantsView::take(const CommandReply& command) {
  if (command.id != QLatin1String("check_invariants") || !command.reply) return;
  m_model->showFull(recordsOf(*command.reply), shown() ? shown()->tick : Tick(0));
  refresh();
}

void InvariantsView::focusViolation(const Violation& violation) {
  const std::optional<LedgerId> row = violatedRow(*shown(), violation);
  if (row && violation.layer) clickLedger(*violation.layer, *row);
  else if (row) clickLedger(*row);
  else if (violation.layer) clickLayer(*violation.layer);
}

void InvariantsView::jump(int row) {
  if (row < 0 || row >= m_model->rowCount()) return;
  const InvariantState state = m_model->lines()[at(row)].state;
  if (state.ok) return;
  if (state.firstFailure && shown() && shown()->tick != *state.firstFailure) clickTick(*state.firstFailure);
  for (const InvariantLine& line : m_model->lines())
    if (line.state.id == state.id && line.violation) return focusViolation(*line.violation);
}

void InvariantsView::onSnapshot() {
  m_model->show(shown() ? *shown() : Snapshot());
  refresh();
}

void InvariantsView::onTheme() {
  if (m_detail) refresh();
}

void InvariantsView::showDetail() {
  const int row = std::max(0, m_table->currentIndex().row());
  const bool any = row < m_model->rowCount();
  m_detail->setVisible(any);
  if (!any) return;
  const InvariantLine& line = m_model->lines()[at(row)];
  const QString detail = detailText(line);
  QString text = QStringLiteral("%1 (%2)").arg(wordOf(line.state.title), wordOf(line.state.id));
  text += QLatin1Char('\n') + (detail.isEmpty() ? QString() : detail + QStringLiteral(". ")) + passedText(line.state);
  if (const SnapshotPtr snapshot = shown())
    for (const QString& more : {leftOutText(*snapshot, line.state.id), costText(*snapshot)})
      if (!more.isEmpty()) text += QLatin1Char('\n') + more;
  m_detail->setText(text);
}

void InvariantsView::refresh() {
  const bool any = m_model->rowCount() > 0;
  const bool good = m_model->failures() == 0;
  if (any) setEmpty({});
  else if (!shown()) setEmpty(tr("What must always hold, one line each"), noSessionHow());
  else
    setEmpty(tr("No invariant has been checked yet"),
             tr("“Check all now” runs every check; each tick runs the cheap ones."));
  m_lamp->setVisible(any);
  m_lamp->setPixmap(lamp(good, *theme(), devicePixelRatioF()));
  m_summary->setText(m_ask.waiting() ? tr("checking every row…") : any ? m_model->summary() : QString());
  m_table->setColumnHidden(m_table->columnOf("first_failure"), !m_model->anyFailed());
  showDetail();
  m_jump->setVisible(any);
  m_jump->setEnabled(!good);
  m_check->setEnabled(shown() && !m_ask.waiting());
}

QString InvariantsView::dump() const {
  if (m_model->rowCount() == 0) return QStringLiteral("invariants: none\n");
  return QStringLiteral("invariants: %1\n").arg(m_model->summary()) + m_table->tsv();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(InvariantsView)
