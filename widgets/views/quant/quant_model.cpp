// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/quant/quant_model.h"

#include <cmath>
#include <span>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"

namespace kvlab {
namespace {
using Column = ColumnSpec<QuantLine>;
using Tensor = const QuantTensor&;

const QString kNone = QStringLiteral("–");

QVariant known(double value) { return std::isnan(value) ? QVariant() : QVariant(value); }
qlonglong lost(Tensor t) { return static_cast<qlonglong>(t.clipped + t.nonFinite); }

QString worstAt(QuantLine line, bool keys, QuantFigure figure) {
  const int worst = worstRow(rowValues(line.of(keys), figure));
  if (worst < 0) return QuantModel::tr("All stored rows equal the computed rows");
  const Snapshot& of = *line.measure->of;
  return QuantModel::tr("Worst at position %1, %2").arg(worst).arg(tokenText(of, of.context[at(worst)]));
}

QString worstCosine(QuantLine line, bool keys) { return worstAt(line, keys, QuantFigure::Cosine); }

QString clippedTip(QuantLine line, bool keys) {
  return QuantModel::tr("Since the pool was made, %1 finite values were clipped and %2 values were not finite")
      .arg(line.of(keys).clipped)
      .arg(line.of(keys).nonFinite);
}

QString scaleTip(QuantLine line, bool keys) {
  const QuantTensor& t = line.of(keys);
  if (!t.scaled) return QuantModel::tr("%1 stores values without a scale").arg(t.type);
  return QuantModel::tr("Scales since the pool was made: %1 to %2, mean %3; %4 at the smallest possible scale")
      .arg(figureText(t.scaleMin), figureText(t.scaleMax), figureText(t.scaleMean))
      .arg(t.floored);
}

/// A column for keys and the same column for values; "%1" in its texts is replaced by the name.
struct Pair {
  const char* id;
  QString title, tip, width;
  int gives;  // number of the values' column; the keys' column comes next
  QString (*text)(Tensor);
  QVariant (*key)(Tensor);
  Tone tone = Tone::Muted;  // tone of a cell with a sort key; other cells are faint
  QString (*said)(QuantLine, bool keys) = [](QuantLine, bool) { return QString(); };

  Column of(bool keys) const {
    const auto value = [keys, cell = key](QuantLine line) { return cell(line.of(keys)); };
    const QString which = keys ? QuantModel::tr("keys") : QuantModel::tr("values");
    Column column({QLatin1String(keys ? "k" : "v") + QLatin1String(id),
                   title.arg(keys ? 'K' : 'V'),
                   tip.arg(which),
                   {width, gives + keys}},
                  [keys, cell = text](QuantLine line) { return cell(line.of(keys)); });
    return column.right()
        .key(value)
        .toned([value, known = tone](QuantLine line) { return value(line).isValid() ? known : Tone::Faint; })
        .tips([keys, cell = said](QuantLine line) { return cell(line, keys); });
  }
};

const std::vector<Pair>& pairs() {
  const auto tr = [](const char* text) { return QuantModel::tr(text); };
  static const std::vector<Pair> kPairs{
      {"_mean", tr("%1 mean"), tr("Mean relative error of %1"), "0.0e-00", 7,
       [](Tensor t) { return figureText(t.mean); }, [](Tensor t) { return QVariant(t.mean); }},
      {"_cosine", tr("%1 cosine"), tr("Lowest cosine between the stored and the computed %1 of a row"), "0.00000", 9,
       [](Tensor t) { return std::isnan(t.lowestCosine) ? kNone : QString::number(t.lowestCosine, 'f', 5); },
       [](Tensor t) { return known(t.lowestCosine); }, Tone::Muted, worstCosine},
      {"_at_max", tr("%1 at max"), tr("Share of the codes of the %1 that are at the largest magnitude"), "100.0 %", 5,
       [](Tensor t) { return shareText(t.shareAtMax); }, [](Tensor t) { return known(t.shareAtMax); }},
      {"_clipped", tr("%1 clipped"),
       tr("Number of values of the %1 that were clipped or not finite since the pool was made"), "99999999", 3,
       [](Tensor t) { return QString::number(lost(t)); },
       [](Tensor t) { return lost(t) ? QVariant(lost(t)) : QVariant(); }, Tone::Error, clippedTip},
      {"_scale", tr("%1 scale"), tr("Smallest and largest scale of the %1 since the pool was made"), "0.0e-00 – 0.0000",
       1,
       [](Tensor t) {
         return t.scaled ? QStringLiteral("%1 – %2").arg(figureText(t.scaleMin), figureText(t.scaleMax)) : kNone;
       },
       [](Tensor t) { return t.scaled ? QVariant(t.scaleMax) : QVariant(); }, Tone::Muted, scaleTip}};
  return kPairs;
}
}  // namespace

QuantModel::QuantModel(QObject* parent) : ColumnModel(parent) {
  addNumber("layer", tr("Layer"), tr("The layer"), "99999",
            [this](QuantLine line) {
              const QString text = layerText(*line.measure->of, line.layer);
              return m_findings.in(line.layer) ? QStringLiteral("✕ ") + text : text;
            })
      .key([](QuantLine line) { return line.layer.value(); })
      .toned([this](QuantLine line) { return m_findings.in(line.layer) ? Tone::Error : Tone::Normal; })
      .tips([this](QuantLine line) { return m_findings.text(line.layer); });
  const auto addBoth = [this](const Pair& pair) { columns().insert(columns().end(), {pair.of(true), pair.of(false)}); };
  addBoth({"", tr("%1"), tr("Storage type of the %1"), "fp8-e4m3", 11, [](Tensor t) { return t.type; },
           [](Tensor t) { return QVariant(t.type); }, Tone::Normal});
  for (Column& type : std::span(columns()).subspan(1)) type.left();
  const QString worst = tr("Largest relative error of a row's %1: |stored − computed| / |computed|");
  addBar("k_worst", tr("K worst"), worst.arg(tr("keys")), true, &QuantTensor::worst);
  addBar("v_worst", tr("V worst"), worst.arg(tr("values")), false, &QuantTensor::worst);
  addBar("logit", tr("Logit"),
         tr("Largest error of a logit of the newest query: |q · (stored − computed)| / √d, over rows and query heads"),
         true, &QuantTensor::worstLogit);
  for (const Pair& pair : pairs()) addBoth(pair);
  withLines(kBadRole, [this](QuantLine line) {
    return line.measure->layers[at(line.layer)].spoilt() || m_findings.in(line.layer);
  });
}

/// Adds a figure with a bar behind it, relative to the largest figure, which is emphasised.
void QuantModel::addBar(const char* id, const QString& title, const QString& tip, bool keys, Figure figure) {
  const QuantFigure shown = figure == &QuantTensor::worstLogit ? QuantFigure::Logit : QuantFigure::Relative;
  const auto value = [keys, figure](QuantLine line) { return line.of(keys).*figure; };
  addNumber(id, title, tip, title.size() > 5 ? title + u'↑' : QStringLiteral("0.0000↑"),
            [value](QuantLine line) { return figureText(value(line)); })
      .key(value)
      .toned([this, id](QuantLine line) { return worstIn(id) == line.layer.value() ? Tone::Warning : Tone::Normal; })
      .tips([keys, shown](QuantLine line) { return worstAt(line, keys, shown); })
      .with(kBarRole, [this, id, value](QuantLine line) {
        const int worst = worstIn(id);
        return worst < 0 ? 0.0 : value(line) / value({line.measure, CacheLayer(worst)});
      });
}

int QuantModel::worstIn(const QString& column) const {
  const auto found = m_worst.find(column);
  return found == m_worst.end() ? -1 : found->second;
}

void QuantModel::setFindings(FindingMarks findings) {
  if (m_findings == findings) return;
  m_findings = std::move(findings);
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

void QuantModel::show(QuantMeasurePtr measure) {
  beginResetModel();
  m_measure = std::move(measure);
  m_worst.clear();
  for (const char* id : {"k_worst", "v_worst", "logit"}) {
    const auto value = [&, column = columnOf(id)](int row) { return index(row, column).data(kKeyRole).toDouble(); };
    for (int row = 0; rowCount() > 1 && row < rowCount(); ++row)
      if (value(row) > (worstIn(id) < 0 ? 0 : value(worstIn(id)))) m_worst[id] = row;
  }
  endResetModel();
}

}  // namespace kvlab
