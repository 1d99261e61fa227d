// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/quant/quant_model.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/read_reply.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {
namespace {
using nlohmann::json;

QString tr(const char* text) { return QCoreApplication::translate("kvlab::QuantMeasure", text); }

QuantTensor tensorFrom(const json& from, int values) {
  QuantTensor out;
  out.type = QString::fromStdString(from.at("type"));
  out.relative = columnFrom<float>(from.at("relative")), out.cosine = columnFrom<float>(from.at("cosine"));
  out.scale = columnFrom<float>(from.at("scale")), out.atMax = columnFrom<std::int32_t>(from.at("atMax"));
  out.worst = from.at("worst"), out.mean = from.at("mean");
  const json& counts = from.at("counts");
  out.clipped = counts.at("clipped"), out.nonFinite = counts.at("nonFinite"), out.floored = counts.at("floored");
  out.scaleMin = counts.at("scale").at("min"), out.scaleMean = counts.at("scale").at("mean"),
  out.scaleMax = counts.at("scale").at("max");
  out.scaled = out.type == QLatin1String("int8") || out.type.startsWith(QLatin1String("fp8"));
  double atMax = 0;
  std::int64_t rows = 0;
  out.lowestCosine = NAN;
  for (std::size_t i = 0; i < out.relative.size(); ++i) {
    if (std::isnan(out.relative[i])) {
      out.atMax.at(i) = NAN;
      continue;
    }
    out.lowestCosine = std::fmin(out.lowestCosine, double(out.cosine.at(i)));
    atMax += double(out.atMax.at(i));
    ++rows;
  }
  out.shareAtMax = out.scaled && rows && values ? atMax / (double(rows) * values) : NAN;
  out.worstLogit = NAN;
  return out;
}

QString columns(const QStringList& cells, const std::vector<int>& widths) {
  QString out;
  for (qsizetype i = 0; i < cells.size(); ++i) out += cells[i].leftJustified(widths[at(i)]);
  return out.trimmed();
}

Result<QuantMeasure> read(const json& reply, const std::vector<SnapshotPtr>& history) {
  const Tick tick(reply.at(0).at("tick").get<std::int64_t>());
  QuantMeasure out;
  for (const SnapshotPtr& s : history)
    if (s->tick == tick) out.of = s;
  if (!out.of || out.of->context.size() != columnFrom<float>(reply[0].at("logit")).size())
    return Error("not_found", "the measurement is not shown",
                 "tick " + std::to_string(tick.value()) + ", which was measured, is no longer kept", "measure again");
  out.values = out.of->info ? out.of->info->kvHeads * out.of->info->headDim : 0;
  out.tried = memberOr(reply[0], "tried", false);
  for (const json& layer : reply) {
    QuantLayer one{tensorFrom(layer.at("k"), out.values), tensorFrom(layer.at("v"), out.values)};
    one.k.logit = columnFrom<float>(layer.at("logit"));
    one.k.worstLogit = layer.at("worstLogit");
    out.layers.push_back(std::move(one));
  }
  return out;
}

constexpr double kSteps[] = {1, 2, 5};
constexpr double kDecades = 1e4;

/// The nearest 1, 2 or 5 times a power of ten that is at least `value`, or with `down` at most.
double round125(double value, bool down) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9)), lead = value / power;
  if (down) return power * (lead >= 5 - 1e-6 ? 5 : lead >= 2 - 1e-6 ? 2 : 1);
  return power * (lead <= 1 + 1e-6 ? 1 : lead <= 2 + 1e-6 ? 2 : lead <= 5 + 1e-6 ? 5 : 10);
}

QuantSeries series(const QuantTensor& tensor, QuantFigure figure) {
  QuantSeries out;
  out.figure = figure;
  out.values = rowValues(tensor, figure);
  out.worst = worstRow(out.values);
  out.mean = meanOf(out.values);
  return out;
}

double most(const QuantSeries& s) { return s.any() ? double(s.values[at(s.worst)]) : 0; }

double least(const QuantSeries& s) {
  double out = INFINITY;
  for (const float value : s.values)
    if (value > 0) out = std::min(out, double(value));
  return out;
}

ColourScale axisFor(QuantFigure figure, double least, double most) {
  return figure == QuantFigure::AtMax ? linearAxis(most) : logAxis(least, most);
}

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

Result<QuantMeasure> quantMeasure(const json& reply, const std::vector<SnapshotPtr>& history) {
  return wholeReply("the measurement is not shown", "measure again", [&] { return read(reply, history); });
}

bool sameRows(const Snapshot& a, const Snapshot& b) {
  const auto alike = [](const auto& one, const auto& other) { return one->k == other->k && one->v == other->v; };
  return a.tick == b.tick && a.branch == b.branch && a.layers == b.layers &&
      std::equal(a.storage.begin(), a.storage.end(), b.storage.begin(), b.storage.end(), alike);
}

const char* name(QuantFigure figure) {
  static constexpr std::array kNames = {"relative", "cosine", "scale", "at_max", "logit"};
  return kNames[static_cast<std::size_t>(figure)];
}

QString title(QuantFigure figure) {
  static constexpr std::array kTitles = {"relative error", "1 − cosine", "scale", "codes at the largest",
                                         "logit error"};
  return tr(kTitles[static_cast<std::size_t>(figure)]);
}

QuantFigure figureOf(bool keys, QuantFigure chosen) {
  return chosen == QuantFigure::Logit && !keys ? QuantFigure::Relative : chosen;
}

std::vector<float> rowValues(const QuantTensor& tensor, QuantFigure figure) {
  switch (figure) {
    case QuantFigure::Relative: return tensor.relative;
    case QuantFigure::Scale: return tensor.scaled ? tensor.scale : std::vector<float>();
    case QuantFigure::AtMax: return tensor.scaled ? tensor.atMax : std::vector<float>();
    case QuantFigure::Logit: return tensor.logit;
    default: break;
  }
  std::vector<float> out = tensor.cosine;
  for (float& one : out)
    if (!std::isnan(one)) one = std::max(0.0f, 1 - one);
  return out;
}

int worstRow(const std::vector<float>& values) {
  int worst = -1;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] > (worst < 0 ? 0.0f : values[at(worst)])) worst = static_cast<int>(i);
  return worst;
}

double meanOf(const std::vector<float>& values) {
  double sum = 0;
  std::size_t count = 0;
  for (const float value : values)
    if (!std::isnan(value)) sum += double(value), ++count;
  return count ? sum / static_cast<double>(count) : NAN;
}

QString rowText(const QuantMeasure& measure, CacheLayer layer, bool keys, int row) {
  const QuantTensor& t = measure.layers[at(layer)].of(keys);
  const auto i = at(row);
  const QString head = keys ? QStringLiteral("K") : QStringLiteral("V");
  if (row < 0 || i >= t.relative.size()) return head;
  if (std::isnan(t.relative[i]))
    return columns({head, t.type, noValueText(*measure.of, measure.of->context[i], layer, tr("error"))}, {3, 10, 0});
  return columns({head, t.type, tr("error %1").arg(figureText(double(t.relative[i]))),
                  keys ? tr("logit %1").arg(figureText(double(t.logit[i]))) : tr("logit –"),
                  tr("cosine %1").arg(double(t.cosine[i]), 0, 'f', 5),
                  t.scaled ? tr("scale %1").arg(figureText(double(t.scale[i]))) : tr("no scale"),
                  t.scaled ? tr("%1 of %2 at max").arg(t.atMax[i]).arg(measure.values) : QString()},
                 {3, 10, 15, 15, 17, 15, 0});
}

std::array<QuantLane, 2> quantLanes(const QuantLayer& layer, QuantFigure chosen) {
  std::array<QuantLane, 2> lanes;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    QuantLane& lane = lanes[i];
    lane.keys = i == 0;
    lane.bars = series(layer.of(lane.keys), figureOf(lane.keys, chosen));
    lane.strip = series(layer.of(lane.keys), chosen == QuantFigure::Scale ? QuantFigure::Relative : QuantFigure::Scale);
    lane.bars.scale = axisFor(lane.bars.figure, least(lane.bars), most(lane.bars));
    lane.strip.scale = logAxis(least(lane.strip), most(lane.strip));
  }
  QuantSeries &k = lanes[0].bars, &v = lanes[1].bars;
  if (k.any() && v.any() && k.figure == v.figure && k.figure != QuantFigure::Scale)
    k.scale = v.scale = axisFor(k.figure, std::min(least(k), least(v)), std::max(most(k), most(v)));
  return lanes;
}

ColourScale logAxis(double least, double most) {
  ColourScale scale{Quantity::QuantK, 1e-4f, 1, ColourScale::Curve::Log};
  if (!(most > 0)) return scale;
  const double high = round125(most, false), low = round125(std::max(least, high / kDecades), true);
  scale.high = static_cast<float>(high);
  scale.low = static_cast<float>(low < high ? low : round125(high * 0.45, true));
  return scale;
}

ColourScale linearAxis(double most) {
  return {Quantity::QuantK, 0, static_cast<float>(most > 0 ? round125(most, false) : 1), ColourScale::Curve::Linear};
}

std::vector<double> axisLabels(const ColourScale& scale, int count) {
  const double low = double(scale.low), high = double(scale.high);
  if (scale.curve == ColourScale::Curve::Linear) {
    const auto parts = static_cast<int>(high / std::max(1.0, round125(high / 5.5, false)) + 0.5);  // whole numbers
    if (parts >= std::max(2, count)) return {low, high};
    std::vector<double> even;
    for (int i = 0; i <= parts; ++i) even.push_back(high * i / parts);
    return even;
  }
  const auto inside = [&](double value) { return value > low * 0.999 && value < high * 1.001; };
  std::vector<double> all, powers;
  for (double power = std::pow(10, std::floor(std::log10(low) + 1e-6)); power < high * 1.001; power *= 10)
    for (const double step : kSteps) {
      if (!inside(step * power)) continue;
      all.push_back(step * power);
      if (step < 1.5) powers.push_back(power);
    }
  const auto fits = [&](const std::vector<double>& list) {
    return static_cast<int>(list.size()) <= std::max(2, count);
  };
  if (fits(all)) return all;
  for (std::size_t apart = 1; apart < powers.size(); ++apart) {
    std::vector<double> some;
    for (std::size_t i = (powers.size() - 1) % apart; i < powers.size(); i += apart) some.push_back(powers[i]);
    if (fits(some)) return some;
  }
  return {low, high};
}

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
