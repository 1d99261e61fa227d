// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/quant/quant_model.h"

#include <QStringList>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/table/data_table.h"
#include "widgets/table/sorted_model.h"

namespace kvlab {
namespace {
bool ofKeys(int column) {
  switch (column) {
    case QuantModel::ValueType:
    case QuantModel::ValueWorst:
    case QuantModel::ValueMean:
    case QuantModel::ValueCosine:
    case QuantModel::ValueAtMax:
    case QuantModel::ValueClipped:
    case QuantModel::ValueScale: return false;
    default: return true;
  }
}
bool isBar(int column) {
  return column == QuantModel::KeyWorst || column == QuantModel::ValueWorst || column == QuantModel::LogitWorst;
}
}  // namespace

void QuantModel::show(QuantMeasurePtr measure) {
  beginResetModel();
  m_measure = std::move(measure);
  for (int column = 0; column < kColumns; ++column) {
    int worst = -1;
    for (int row = 0; isBar(column) && rowCount() > 1 && row < rowCount(); ++row)
      if (key(row, column).toDouble() > (worst < 0 ? 0 : key(worst, column).toDouble())) worst = row;
    m_worst[static_cast<std::size_t>(column)] = worst;
  }
  endResetModel();
}

QStringList QuantModel::names() {
  return {"layer",    "k",        "v",        "k_worst",  "v_worst",   "logit",     "k_mean",  "v_mean",
          "k_cosine", "v_cosine", "k_at_max", "v_at_max", "k_clipped", "v_clipped", "k_scale", "v_scale"};
}

int QuantModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !m_measure ? 0 : static_cast<int>(m_measure->layers.size());
}
int QuantModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

/// What the column is ordered by; nothing where there is no figure.
QVariant QuantModel::key(int row, int column) const {
  const QuantTensor& t = layer(row).of(ofKeys(column));
  const auto known = [](double value) { return std::isnan(value) ? QVariant() : QVariant(value); };
  switch (column) {
    case KeyType:
    case ValueType: return t.type;
    case KeyWorst:
    case ValueWorst: return t.worst;
    case LogitWorst: return t.worstLogit;
    case KeyMean:
    case ValueMean: return t.mean;
    case KeyCosine:
    case ValueCosine: return known(t.lowestCosine);
    case KeyAtMax:
    case ValueAtMax: return known(t.shareAtMax);
    case KeyClipped:
    case ValueClipped: return static_cast<qint64>(t.clipped + t.nonFinite);
    case KeyScale:
    case ValueScale: return t.scaled ? QVariant(t.scaleMax) : QVariant();
    default: return row;
  }
}

QString QuantModel::text(int row, int column) const {
  const QVariant value = key(row, column);
  const QuantTensor& t = layer(row).of(ofKeys(column));
  switch (column) {
    case LayerNumber: return layerText(*m_measure->of, row);
    case KeyType:
    case ValueType: return t.type;
    case KeyCosine:
    case ValueCosine: return value.isValid() ? QString::number(t.lowestCosine, 'f', 5) : QStringLiteral("–");
    case KeyAtMax:
    case ValueAtMax: return shareText(t.shareAtMax);
    case KeyClipped:
    case ValueClipped: return QString::number(value.toLongLong());
    case KeyScale:
    case ValueScale:
      return t.scaled ? QStringLiteral("%1 – %2").arg(figureText(t.scaleMin), figureText(t.scaleMax))
                      : QStringLiteral("–");
    default: return figureText(value.toDouble());
  }
}

QString QuantModel::tip(int row, int column) const {
  const QuantTensor& t = layer(row).of(ofKeys(column));
  const auto at = [&](QuantFigure figure) {
    const int worst = worstRow(rowValues(t, figure));
    return worst < 0 ? tr("No row differs from what was computed for it")
                     : tr("Worst at position %1, %2")
                           .arg(worst)
                           .arg(tokenText(*m_measure->of, m_measure->of->context[static_cast<std::size_t>(worst)]));
  };
  switch (column) {
    case KeyWorst:
    case ValueWorst: return at(QuantFigure::Relative);
    case LogitWorst: return at(QuantFigure::Logit);
    case KeyCosine:
    case ValueCosine: return at(QuantFigure::Cosine);
    case KeyClipped:
    case ValueClipped:
      return tr("Since the pool was made: %1 finite values clipped, %2 values not finite")
          .arg(t.clipped)
          .arg(t.nonFinite);
    case KeyScale:
    case ValueScale:
      return t.scaled ? tr("Since the pool was made: %1 to %2, mean %3; %4 at the smallest there is")
                            .arg(figureText(t.scaleMin), figureText(t.scaleMax), figureText(t.scaleMean))
                            .arg(t.floored)
                      : tr("%1 holds values as they are, without a scale").arg(t.type);
    default: return {};
  }
}

/// Of the largest in the column.
double QuantModel::share(int row, int column) const {
  const int worst = worstIn(column);
  return worst < 0 ? 0 : key(row, column).toDouble() / key(worst, column).toDouble();
}

QVariant QuantModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int row = index.row(), column = index.column();
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return text(row, column);
    case SortedModel::kKeyRole: return key(row, column);
    case Qt::ToolTipRole: {
      const QString said = tip(row, column);
      return said.isEmpty() ? QVariant() : QVariant(said);
    }
    case Qt::TextAlignmentRole:
      return int((column == KeyType || column == ValueType ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kMonoRole: return true;
    case kBadRole: return layer(row).spoilt();
    case kBarRole: return isBar(column) ? QVariant(share(row, column)) : QVariant();
    case kToneRole: {
      const bool clipped = (column == KeyClipped || column == ValueClipped) && key(row, column).toLongLong() > 0;
      const bool none = !key(row, column).isValid() || ((column == KeyClipped || column == ValueClipped) && !clipped);
      return static_cast<int>(clipped                      ? Tone::Error
                                  : worstIn(column) == row ? Tone::Warning
                                  : none                   ? Tone::Faint
                                  : column <= LogitWorst   ? Tone::Normal
                                                           : Tone::Muted);
    }
    default: return {};
  }
}

QVariant QuantModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole)
    return QStringList{tr("Layer"),     tr("K"),         tr("V"),        tr("K worst"),  tr("V worst"),  tr("Logit"),
                       tr("K mean"),    tr("V mean"),    tr("K cosine"), tr("V cosine"), tr("K at max"), tr("V at max"),
                       tr("K clipped"), tr("V clipped"), tr("K scale"),  tr("V scale")}
        .value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{
        tr("The layer"),
        tr("Storage type of the keys"),
        tr("Storage type of the values"),
        tr("Largest relative error of a row's keys: |stored − computed| / |computed|"),
        tr("Largest relative error of a row's values: |stored − computed| / |computed|"),
        tr("Largest error of a logit of the newest query: |q · (stored − computed)| / √d, over rows and query heads"),
        tr("Mean relative error of keys"),
        tr("Mean relative error of values"),
        tr("Lowest cosine between stored and computed keys"),
        tr("Lowest cosine between stored and computed values"),
        tr("Share of the keys' codes that are the largest there is"),
        tr("Share of the values' codes that are the largest there is"),
        tr("Numbers of keys that were clipped or not finite, since the pool was made"),
        tr("Numbers of values that were clipped or not finite, since the pool was made"),
        tr("Smallest and largest scale of keys, since the pool was made"),
        tr("Smallest and largest scale of values, since the pool was made")}
        .value(section);
  if (role == Qt::TextAlignmentRole)
    return int((section == KeyType || section == ValueType ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  return {};
}

}  // namespace kvlab
