// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/sweep/sweep_view.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QHeaderView>
#include <QLineEdit>
#include <QToolButton>
#include <algorithm>

#include "core/api/sweep_table.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/save_file.h"
#include "widgets/base/theme.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
const QString kNone = QStringLiteral("–");
constexpr int kAsked = 12;  // rank of requested columns, which are hidden last

QString figure(const std::optional<double>& value) { return value ? formatNumber(*value) : kNone; }
QString share(const std::optional<double>& value) {
  return value ? QString::number(*value * 100, 'f', 1) + QStringLiteral(" %") : kNone;
}
QString bytes(const std::optional<double>& value) {
  return value ? formatBytes(static_cast<qint64>(*value + 0.5)) : kNone;
}

/// The error of a failed cell, else the column's text.
ColumnSpec<const SweepRow&>::Text orError(ColumnSpec<const SweepRow&>::Text said) {
  return [said = std::move(said)](const SweepRow& row) {
    return row.error ? QString::fromStdString(row.error->text()) : said(row);
  };
}

QString recallTip(const SweepRow& row) {
  if (!row.measure("recall")) return {};
  return SweepModel::tr("%1 of %2 questions; 95 %: %3 to %4 (Wilson)")
      .arg(figure(row.measure("right")), figure(row.measure("questions")), share(row.measure("recall_low")),
           share(row.measure("recall_high")));
}

QString klTip(const SweepRow& row) {
  if (!row.measure("kl_mean")) return {};
  return SweepModel::tr("median %1, 99th percentile %2 nats")
      .arg(figure(row.measure("kl_median")), figure(row.measure("kl_p99")));
}

constexpr int kCellsBeside = 900;  // cells are beside the plot from this width on

QString promptsOf(const SweepPoint& point) { return QString::fromStdString(point.prompts + ", asked " + point.ask); }

QString percent(double value) { return QString::number(value * 100, 'f', 1); }
}  // namespace

bool partOf(const SweepRow& row, const SweepPoint& point) {
  return row.prompts == point.prompts && row.ask == point.ask && row.series() == point.series &&
      row.budget == point.budget;
}

QString budgetText(const std::optional<SweepBudget>& budget) {
  if (!budget) return QStringLiteral("–");
  return budget->ratio ? formatNumber(budget->value)
                       : QCoreApplication::translate("kvlab::SweepModel", "%1 tokens").arg(budget->value, 0, 'f', 0);
}

SweepModel::SweepModel(QObject* parent) : LineModel(parent) {
  using Row = const SweepRow&;
  withLines(kBadRole, [](Row row) { return row.error.has_value(); });
  withLines(Qt::ToolTipRole,
            [](Row row) { return row.error ? QVariant(QString::fromStdString(row.error->text())) : QVariant(); });
  add("series", tr("Series"), {}, QString(16, 'x'), [](Row row) { return QString::fromStdString(row.series()); })
      .in(Tone::Normal)
      .words()
      .tips(orError([](Row row) { return tr("cell %1, %2").arg(row.index).arg(QString::fromStdString(row.id)); }))
      .with(kSwatchRole, [this](Row row) { return swatch(row); });
  addNumber("budget", tr("Budget"), {}, {"0.05 x", 11}, [](Row row) { return budgetText(row.budget); });
  addNumber("seed", tr("Seed"), {}, {"Seed", 9}, [](Row row) { return QString::number(row.seed); });
  add("prompts", tr("Prompts"), {}, {QString(16, 'x'), 2}, [](Row row) {
    return QString::fromStdString(row.prompts + ", " + row.ask);
  }).words();
  addMeasure("recall", tr("Recall"), "100.0 %", "recall", share, 0).in(Tone::Normal).tips(orError(recallTip));
  addMeasure("kl", tr("KL"), "0.00001", "kl_mean", figure, 10).in(Tone::Normal).tips(orError(klTip));
  addMeasure("kl_answer", tr("KL, answer"), "0.00001 x", "kl_answer", figure, 3);
  addMeasure("top1", tr("Top 1"), "100.0 %", "top1", share, 5);
  addMeasure("attention", tr("Attention"), "100.0 % x", "attention_kept", share, 6);
  addMeasure("needles", tr("Needles"), "100.0 %", "needle_survival", share, 8);
  addMeasure("rows", tr("Rows"), "1024.5", "rows_kept", figure, 4);
  addMeasure("bytes", tr("Bytes"), "999 KiB", "bytes_live", bytes, 7);
  add("problem", tr("Problem"), {}, {QString(12, 'x'), 1}, [](Row row) {
    return row.error ? QString::fromStdString(row.error->code) : QString();
  }).in(Tone::Error);
  withTone([](Row) { return Tone::Muted; });
  m_fixed = std::ssize(columns()) - 1;  // the problem is the last one
}

void SweepModel::setExpressions(std::vector<std::string> expressions) {
  beginResetModel();
  m_lines.clear();
  m_expressions = std::move(expressions);
  columns().erase(columns().begin() + m_fixed, columns().end() - 1);
  for (const std::string& text : m_expressions) {
    const QString title = QString::fromStdString(text);
    addNumber(text.c_str(), title, tr("Mean of %1; of a condition, the share of tokens at which it held").arg(title),
              {title + QStringLiteral("  "), kAsked},
              [text](const SweepRow& row) { return figure(row.expression(text)); });
  }
  std::rotate(columns().begin() + m_fixed, columns().begin() + m_fixed + 1, columns().end());
  endResetModel();
}

SweepModel::Column& SweepModel::addMeasure(const char* id, const QString& title, const QString& width,
                                           const char* measure, QString (*text)(const std::optional<double>&),
                                           int gives) {
  const SweepMeasure& known = sweepMeasures()[static_cast<std::size_t>(sweepMeasure(measure))];
  return addNumber(id, title, QStringLiteral("%1 (%2)").arg(wordOf(known.title), wordOf(known.unit)), {width, gives},
                   [measure, text](const SweepRow& row) { return text(row.measure(measure)); });
}

QVariant SweepModel::swatch(const SweepRow& row) const {
  const auto found = std::find(m_series.begin(), m_series.end(), row.series());
  if (found == m_series.end()) return {};
  return seriesColour(static_cast<int>(found - m_series.begin()), Theme::current()->dark);
}

bool SweepModel::show(std::vector<SweepRow> given, std::vector<std::string> series) {
  std::vector<std::string> expressions = sweepExpressions(given);
  const bool others = !given.empty() && expressions != m_expressions;
  if (others) setExpressions(std::move(expressions));
  const bool grew = series == m_series && given.size() > rows().size() &&
      std::equal(rows().begin(), rows().end(), given.begin(),
                 [](const SweepRow& a, const SweepRow& b) { return a.id == b.id; });
  m_series = std::move(series);
  if (!grew) {
    replace(std::move(given));
    return others;
  }
  beginInsertRows({}, rowCount(), static_cast<int>(given.size()) - 1);
  m_lines = std::move(given);
  endInsertRows();
  return others;
}

int SweepModel::rowOf(const SweepPoint& point) const {
  return find([&](const SweepRow& row) { return partOf(row, point); });
}

SweepView::SweepView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_source(SweepSource::of(context)), m_model(new SweepModel(this)) {
  makeStrip();
  makeBody();
  // A hidden view waits for the end of a sweep.
  connect(&m_source, &SweepSource::changed, this, [this] {
    const SweepShownPtr& now = m_source.sweep();
    now && now->running ? takeAgain() : take();
  });
}

void SweepView::makeStrip() {
  m_state = stripLabel({}, 1);
  m_prompts = stripChoice({}, tr("Prompt set"), tr("The prompt set whose cells are shown"));
  m_prompts->setSizeAdjustPolicy(QComboBox::AdjustToContents);  // sets come with the results
  m_filter = stripFilter(tr("Filter"), tr("Filter series"), tr("Show series whose names contain one of these words"));
  m_filter->setFixedWidth(130);
  QToolButton* build = stripButton(tr("New…"), tr("New sweep"), tr("Build the specification of a sweep in a form"));
  QToolButton* open =
      stripButton(tr("Open…"), tr("Open results"),
                  tr("Open the results.jsonl of a sweep, or the journal of a sweep that another program runs"));
  QToolButton* run = stripButton(tr("Run…"), tr("Run a sweep"),
                                 tr("Run a specification; Cancel (Esc) stops the sweep, running it again resumes"));
  m_export = stripButton(tr("SVG…"), tr("Export the plot"), tr("Write the plot of all prompt sets as SVG"));
  connect(m_prompts, &QComboBox::activated, this, [this] {
    refresh();
    sayOption("prompts");
  });
  addOption("filter", m_filter, [this] { refresh(); });
  addOption({"prompts", [this] { return m_prompts->currentText().toStdString(); },
             [this](const nlohmann::json& value) -> std::string {
               onSnapshot();
               const QString wanted = value.is_string() ? QString::fromStdString(value.get<std::string>()) : QString();
               const int found = value.is_string() ? m_prompts->findText(wanted, Qt::MatchStartsWith) : -1;
               if (found < 0) return "name a prompt set of the sweep";
               m_prompts->setCurrentIndex(found);
               refresh();
               return {};
             }});
  runsCommand(build, context(), "new_sweep");
  runsCommand(open, context(), "open_sweep");
  runsCommand(run, context(), "run_sweep");
  setOwn({m_export});
  connect(m_export, &QToolButton::clicked, this, [this] {
    askSaveFile(tr("Export Plot"), QStringLiteral("pareto.svg"), tr("SVG (*.svg)"), [this](const QString& path) {
      if (const Status written = exportSvg(path); !written) emit context().failed(written.error());
    });
  });
}

void SweepView::makeBody() {
  auto* split = new TurningSplitter(
      kCellsBeside, [](int width) { return width * 3 / 5; }, [](int height) { return height * 3 / 5; }, this);
  m_plot = new ParetoPlot(split);
  m_table = new DataTable(split, m_model, tr("Cells"), tr("Select a cell to mark its point in the plot"));
  m_table->stretch({"series"});
  split->addWidget(m_plot);
  split->addWidget(m_table);
  setContent(split);
  setMainControl(m_table);
  m_readout = readoutLine();
  connect(m_plot, &ParetoPlot::hovered, this, &SweepView::readOut);
  connect(m_plot, &ParetoPlot::picked, this,
          [this](int point) { m_table->showRow(m_model->rowOf(m_plot->points()[at(point)])); });
  const auto markOf = [this](const QModelIndex& index) {
    const auto& points = m_plot->points();
    const auto found =
        !index.isValid() ? points.end() : std::find_if(points.begin(), points.end(), [&](const SweepPoint& point) {
          return partOf(m_model->rows()[at(index.row())], point);
        });
    m_plot->mark(found == points.end() ? -1 : static_cast<int>(found - points.begin()));
  };
  connect(m_table, &DataTable::chosen, this, markOf);
  connect(m_table, &DataTable::hovered, this, markOf);
  const auto open = [this] {
    const QModelIndex index = m_table->currentIndex();
    if (!index.isValid()) return;
    context().runCommand(QStringLiteral("open_sweep_cell"), {{"cell", m_model->rows()[at(index.row())].index}});
  };
  setObstacle(addViewAction(tr("Open as Session"),
                            tr("Open the chosen cell as a session, where it has answered its first question"), open),
              [this] { return m_table->currentIndex().isValid() ? QString() : tr("no cell of a sweep is chosen"); });
}

bool SweepView::passes(const SweepPoint& point) const {
  if (promptsOf(point) != m_prompts->currentText()) return false;
  const QStringList words = m_filter->text().split(' ', Qt::SkipEmptyParts);
  const QString series = QString::fromStdString(point.series);
  return words.isEmpty() || std::any_of(words.begin(), words.end(), [&](const QString& word) {
           return series.contains(word, Qt::CaseInsensitive);
         });
}

QString SweepView::state() const {
  if (!m_shown) return {};
  const auto failed = std::count_if(m_shown->rows.begin(), m_shown->rows.end(),
                                    [](const SweepRow& row) { return row.error.has_value(); });
  QString text = m_shown->running
      ? tr("%1: %2 of %3 cells")
            .arg(QString::fromStdString(m_shown->name))
            .arg(m_shown->rows.size())
            .arg(m_shown->total)
      : tr("%1: %2").arg(QString::fromStdString(m_shown->name),
                         counted(static_cast<qint64>(m_shown->rows.size()), tr("cell"), tr("cells")));
  if (!m_shown->running && m_shown->total > static_cast<std::int64_t>(m_shown->rows.size()))
    text += tr(" of %1").arg(m_shown->total);
  if (failed) text += tr(", %1 failed").arg(failed);
  if (m_shown->running && m_shown->left >= 0)
    text += tr(", %1 left").arg(formatDuration(static_cast<qint64>(m_shown->left + 0.5)));
  return text;
}

void SweepView::fillPrompts() {
  QStringList names;
  for (const SweepPoint& point : m_points)
    if (!names.contains(promptsOf(point))) names << promptsOf(point);
  const QString before = m_prompts->currentText();
  m_prompts->clear();
  m_prompts->addItems(names);
  m_prompts->setCurrentIndex(std::max(0, static_cast<int>(names.indexOf(before))));
  if (names.isEmpty()) m_prompts->setCurrentIndex(-1);
}

void SweepView::onSnapshot() {
  if (!std::exchange(m_taken, true) || m_shown != m_source.sweep()) take();
}

void SweepView::take() {
  m_shown = m_source.sweep();
  m_points = m_shown ? sweepPoints(m_shown->rows) : std::vector<SweepPoint>();
  fillPrompts();
  refresh();
}

void SweepView::refresh() {
  const bool any = m_shown && !m_shown->rows.empty();
  const QString how = m_shown && m_shown->running ? tr("The first cell is being computed.")
                                                  : tr("Open a results.jsonl that kvlab sweep wrote, or run a "
                                                       "specification: “New…” has a form for one, and “Run…” "
                                                       "begins in the folder of those that come with the program, "
                                                       "such as smartkv.json.");
  setEmpty(any ? QString() : tr("Recall against budget, and KL against bytes, over policies and seeds"), how);
  m_state->setText(state());
  m_state->setToolTip(m_shown ? QString::fromStdString(m_shown->place) : QString());
  for (QWidget* one : std::initializer_list<QWidget*>{m_prompts, m_filter, m_export}) one->setEnabled(any);
  std::vector<std::string> series;
  std::vector<SweepPoint> points;
  std::vector<SweepRow> rows;
  for (const SweepPoint& point : m_points) {
    if (std::find(series.begin(), series.end(), point.series) == series.end()) series.push_back(point.series);
    if (passes(point)) points.push_back(point);
  }
  if (any)
    for (const SweepRow& row : m_shown->rows)
      if (std::any_of(points.begin(), points.end(), [&](const SweepPoint& point) { return partOf(row, point); }))
        rows.push_back(row);
  if (m_model->show(std::move(rows), series)) m_table->takeColumns();
  m_plot->show(std::move(points), std::move(series));
  readOut(-1);
}

void SweepView::readOut(int point) {
  if (point < 0)
    return m_readout->setText(m_plot->points().empty()
                                  ? QString()
                                  : tr("Point at a mark of the plot, or choose a line of the table, to see its cells"));
  const SweepPoint& p = m_plot->points()[at(point)];
  QString text = tr("%1, budget %2").arg(QString::fromStdString(p.series), budgetText(p.budget));
  if (p.asked)
    text += tr(": %1 % right (%2 to %3), %4 of %5 over %6")
                .arg(percent(p.recall), percent(p.low), percent(p.high))
                .arg(p.right)
                .arg(p.asked)
                .arg(counted(p.stories, tr("story"), tr("stories")));
  if (p.answers)
    text += tr("; score %1 % (%2 to %3) of %4")
                .arg(percent(p.score), percent(p.scoreLow), percent(p.scoreHigh),
                     counted(p.answers, tr("answer"), tr("answers")));
  if (p.kl) text += tr("; KL %1").arg(formatNumber(*p.kl));
  if (p.bytes) text += tr("; %1").arg(formatBytes(static_cast<qint64>(*p.bytes + 0.5)));
  if (p.share) text += tr(" (%1 % of the reference)").arg(percent(*p.share));
  if (p.failed) text += tr("; %1 failed").arg(counted(p.failed, tr("cell"), tr("cells")));
  m_readout->setText(text);
}

void SweepView::onTheme() {
  if (!m_plot) return;
  m_plot->follow();
  m_model->followTheme();
}

Status SweepView::exportSvg(const QString& path) const {
  return saveFile(path, QByteArray::fromStdString(paretoSvg(m_shown ? m_shown->name : "", m_points)), "the plot");
}

QString SweepView::tsv() const { return m_model->rowCount() ? m_table->tsv() : QString(); }

QString SweepView::dump() const {
  if (!m_shown) return QStringLiteral("sweep: none\n");
  QString out = QStringLiteral("sweep: %1; %2\n").arg(state(), m_prompts->currentText());
  for (const SweepPoint& p : m_plot->points())
    out += QStringLiteral("%1\t%2\t%3\t%4..%5\t%6\t%7\n")
               .arg(QString::fromStdString(p.series), budgetText(p.budget), percent(p.recall), percent(p.low),
                    percent(p.high), p.kl ? formatNumber(*p.kl) : "-", p.bytes ? formatNumber(*p.bytes) : "-");
  return out;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(SweepView)
