// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/sweep/sweep_model.h"

#include <QCoreApplication>
#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/base/theme.h"

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

}  // namespace kvlab
