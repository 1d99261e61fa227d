// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/difference/difference_models.h"

#include <QHash>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/read_reply.h"

namespace kvlab {
namespace {
using nlohmann::json;
using What = DifferentRow::What;

QString textOf(const json& value) { return QString::fromStdString(value.get<std::string>()); }

/// "exact to context-edited" by ledger id.
QHash<int, QString> exactnessOf(const json& reply) {
  QHash<int, QString> out;
  for (const json& one : reply.at("exactness"))
    out[one.at("ledger").get<int>()] = QStringLiteral("%1 to %2").arg(textOf(one.at("then")), textOf(one.at("now")));
  return out;
}

void addIds(DifferentLayer& layer, const json& ids, What what, const json& texts) {
  for (const json& id : ids) {
    DifferentRow row{.what = what, .row = LedgerId(id.get<std::int32_t>())};
    if (const auto text = texts.find(std::to_string(row.row.value())); what == What::OnlyThen && text != texts.end())
      row.text = textOf(*text);
    layer.rows.push_back(std::move(row));
  }
}

constexpr int kMarkAlpha = 60;
constexpr double kFar = std::numeric_limits<double>::infinity();  // stands for a number that is not finite

double typedOf(const json& one) {
  const json& typed = member(one, "typed");
  return typed.is_array() && typed.size() == 2 ? std::max(jsonOr(typed[0], kFar), jsonOr(typed[1], kFar)) : -1;
}

DifferentRow changedRow(const json& one) {
  return {.what = What::Differs,
          .row = LedgerId(one.at("ledger").get<std::int32_t>()),
          .phaseThen = one.at("phase").at(0).get<double>(),
          .phaseNow = one.at("phase").at(1).get<double>(),
          .k = jsonOr(one.at("k"), kFar),
          .v = jsonOr(one.at("v"), kFar),
          .typed = typedOf(one)};
}

double leftOf(const json& figures) {
  return std::max(jsonOr(figures.at("keys"), kFar), jsonOr(figures.at("values"), kFar));
}

bool inRuns(const json& runs, int number) {
  return std::ranges::any_of(
      runs, [number](const json& run) { return run.at(0).get<int>() <= number && number <= run.at(1).get<int>(); });
}

/// "layer 3", "layers 1 to 3, 7"
QString runsText(const json& runs, const QString& one, const QString& several) {
  QStringList parts;
  for (const json& run : runs) {
    const int first = run.at(0).get<int>(), last = run.at(1).get<int>();
    parts << (first == last ? QString::number(first) : DifferenceCauses::tr("%1 to %2").arg(first).arg(last));
  }
  const bool alone = runs.size() == 1 && runs[0].at(0) == runs[0].at(1);
  return (alone ? one : several) + u' ' + parts.join(QStringLiteral(", "));
}

/// reply: the whole answer, which names its layers.
DifferenceReach reachOf(const json& one, const json& reply) {
  DifferenceReach out;
  if (!one.is_object()) return out;
  const json &layers = one.at("layers"), &heads = one.at("heads");
  int number = 0;
  bool whole = true;
  for (const json& layer : reply.at("layers")) {
    const json& part = layer.at("kvHead");
    const bool has = inRuns(layers, layer.at("layer").get<int>()) && (part.is_null() || inRuns(heads, part.get<int>()));
    if (has) out.layers.push_back(CacheLayer(number));
    whole = whole && has;
    ++number;
  }
  for (const json& row : one.at("rows")) out.rows.push_back(LedgerId(row.get<std::int32_t>()));
  const int all = reply.at("explanation").at("heads").get<int>();
  out.kvHead = heads.at(0).at(0).get<int>();
  using Causes = DifferenceCauses;
  out.text = Causes::tr("%1 in %2")
                 .arg(runsText(one.at("tokens"), Causes::tr("token"), Causes::tr("tokens")),
                      whole ? Causes::tr("all layers") : runsText(layers, Causes::tr("layer"), Causes::tr("layers")));
  if (heads.at(0) != json({0, all - 1}))
    out.text += QStringLiteral(", ") + runsText(heads, Causes::tr("KV head"), Causes::tr("KV heads"));
  return out;
}

void readExplanation(const json& one, const json& reply, DifferenceFound& out) {
  using enum DifferenceCause::What;
  out.verdict = textOf(one.at("verdict"));
  for (const json& cause : one.at("causes"))
    out.causes.push_back(
        {Cause, textOf(cause.at("text")), jsonOr(cause.at("without"), kFar), -1, reachOf(cause.at("reach"), reply)});
  const json& left = one.at("left");
  out.causes.push_back({Left, DifferenceCauses::tr("left over by all causes together"), leftOf(left),
                        jsonOr(left.at("wrong"), 1.0), reachOf(one.at("unexplained"), reply)});
  const QString types = textOf(one.at("types").at("keys")) + u'/' + textOf(one.at("types").at("values"));
  out.causes.push_back(
      {Type, DifferenceCauses::tr("exact rows in %1, as the engine computes").arg(types), leftOf(one.at("type"))});
  for (const json& rival : one.at("rivals")) {
    QStringList texts;
    for (const json& cause : rival.at("causes")) texts << textOf(cause.at("text"));
    out.causes.push_back({Rival, texts.join(QStringLiteral("; ")), leftOf(rival.at("left")),
                          jsonOr(rival.at("left").at("wrong"), -1.0)});
  }
}

DifferentLayer layerOf(const json& one, CacheLayer number, const json& texts, const QHash<int, QString>& exactness) {
  DifferentLayer out{.layer = number,
                     .typeThen = textOf(one.at("type").at(0)),
                     .typeNow = textOf(one.at("type").at(1)),
                     .onlyThen = static_cast<int>(one.at("onlyThen").size()),
                     .onlyNow = static_cast<int>(one.at("onlyNow").size()),
                     .changed = static_cast<int>(one.at("changed").size()),
                     .moved = one.at("moved").get<int>(),
                     .same = one.at("same").get<int>()};
  addIds(out, one.at("onlyThen"), What::OnlyThen, texts);
  addIds(out, one.at("onlyNow"), What::OnlyNow, texts);
  for (const json& row : one.at("changed")) {
    out.rows.push_back(changedRow(row));
    out.worstK = std::max(out.worstK, out.rows.back().k), out.worstV = std::max(out.worstV, out.rows.back().v);
  }
  for (DifferentRow& row : out.rows)
    if (row.what != What::OnlyThen) row.exactness = exactness.value(row.row.value());
  return out;
}

/// Rows of which only the exactness differs stand in the last layer, which is the one that it is told of.
void addExactness(DifferentLayer& last, const QHash<int, QString>& exactness) {
  std::vector<int> ids = {exactness.keyBegin(), exactness.keyEnd()};
  std::ranges::sort(ids);
  for (const int id : ids)
    if (std::ranges::none_of(
            last.rows, [id](const DifferentRow& row) { return row.row.value() == id && row.what != What::OnlyThen; }))
      last.rows.push_back({.what = What::ExactnessOnly, .row = LedgerId(id), .exactness = exactness[id]});
}

DifferenceFound read(const json& reply) {
  DifferenceFound out{.then = Tick(reply.at("then").get<std::int64_t>()),
                      .now = Tick(reply.at("now").get<std::int64_t>()),
                      .alike = reply.at("alike").get<bool>(),
                      .edit = QString::fromStdString(memberOr(reply, "edit", std::string())),
                      .tokensThen = static_cast<int>(reply.at("onlyThen").size()),
                      .tokensNow = static_cast<int>(reply.at("onlyNow").size())};
  if (const json& kl = reply.at("kl"); kl.is_number()) out.kl = kl.get<double>();
  const QHash<int, QString> exactness = exactnessOf(reply);
  for (const json& one : reply.at("layers"))
    out.layers.push_back(
        layerOf(one, CacheLayer(static_cast<std::int32_t>(out.layers.size())), reply.at("textsThen"), exactness));
  if (!out.layers.empty()) addExactness(out.layers.back(), exactness);
  if (const json& explanation = member(reply, "explanation"); explanation.is_object())
    readExplanation(explanation, reply, out);
  return out;
}

/// A bar that is full at 1, the largest distance that there is, and short but there for small ones.
double barOf(double apart) { return std::sqrt(std::clamp(std::isfinite(apart) ? apart : 1.0, 0.0, 1.0)); }

QString apartText(double apart) { return std::isfinite(apart) ? QString::number(apart, 'g', 2) : QStringLiteral("∞"); }

QString whatText(What what) {
  switch (what) {
    case What::OnlyThen: return DifferentRows::tr("left");
    case What::OnlyNow: return DifferentRows::tr("came");
    case What::Differs: return DifferentRows::tr("changed");
    case What::ExactnessOnly: return DifferentRows::tr("exactness");
  }
  return {};
}

Tone toneOf(What what) {
  return what == What::OnlyThen ? Tone::Error : what == What::OnlyNow ? Tone::Ok : Tone::Warning;
}

/// A cause that is no part of the reading was not tried by itself.
bool known(const DifferenceCause& one) { return one.what != DifferenceCause::What::Cause || one.left > 0; }

bool paired(const DifferentRow& row) { return row.what == What::Differs; }

/// Background of lines that the chosen cause accounts for.
QVariant fillOf(bool marked) {
  return marked ? QVariant(Theme::faded(Theme::current()->accent, kMarkAlpha)) : QVariant();
}

}  // namespace

bool DifferenceReach::has(CacheLayer layer) const { return std::ranges::binary_search(layers, layer); }

Result<DifferenceFound> differenceFound(const json& reply) {
  return wholeReply("the difference was not read", "compare again",
                    [&]() -> Result<DifferenceFound> { return read(reply); });
}

DifferenceCauses::DifferenceCauses(QObject* parent) : LineModel(parent) {
  using Line = const DifferenceCause&;
  using What = DifferenceCause::What;
  add("what", tr("Line"),
      tr("cause: a part of the smallest explanation; left: what the causes leave; type: what the type of the file "
         "accounts for; rival: another explanation that was tried"),
      "cause",
      [](Line one) {
        switch (one.what) {
          case What::Cause: return tr("cause");
          case What::Left: return tr("left");
          case What::Type: return tr("type");
          case What::Rival: return tr("rival");
        }
        return QString();
      })
      .words()
      .toned([](Line one) {
        return one.what == What::Cause ? Tone::Warning : one.what == What::Left ? Tone::Normal : Tone::Faint;
      });
  add("text", tr("Explanation"), tr("What explains the rows of the other program"), QString(40, 'x'),
      [](Line one) { return one.text; })
      .words()
      .tips([](Line one) { return one.text; })
      .toned([](Line one) { return one.what == What::Cause ? Tone::Normal : Tone::Muted; });
  addNumber("left", tr("Left"),
            tr("Relative L2 difference of the middle row: of a cause what would be left without it, of a rival what it "
               "leaves"),
            "1.2e-05", [](Line one) { return known(one) ? apartText(one.left) : QString(); })
      .with(kBarRole, [](Line one) { return known(one) ? QVariant(barOf(one.left)) : QVariant(); });
  addNumber("wrong", tr("Wrong"), tr("Share of the rows that rounding and arithmetic do not account for"), "100 %",
            [](Line one) { return one.wrong < 0 ? QString() : tr("%1 %").arg(100 * one.wrong, 0, 'g', 3); })
      .toned([](Line one) { return one.wrong > 0 ? Tone::Warning : Tone::Faint; });
}

DifferentLayers::DifferentLayers(QObject* parent) : LineModel(parent) {
  using Line = const DifferentLayer&;
  addNumber("layer", tr("Layer"), tr("The layer"), "99999",
            [this](Line one) { return m_of ? layerText(*m_of, one.layer) : QString::number(one.layer.value()); });
  addCount("left", tr("Left"), tr("Rows that only the other state has"), 5, &DifferentLayer::onlyThen);
  addCount("came", tr("Came"), tr("Rows that only the shown state has"), 5, &DifferentLayer::onlyNow);
  addCount("changed", tr("Changed"), tr("Rows with another phase or other values"), 0, &DifferentLayer::changed);
  addWorst("k", tr("K worst"), tr("Largest relative difference of a row's keys, without rotation"),
           &DifferentLayer::worstK);
  addWorst("v", tr("V worst"), tr("Largest relative difference of a row's values"), &DifferentLayer::worstV);
  addCount("moved", tr("Moved"), tr("Rows with the same values in another slot"), 2, &DifferentLayer::moved);
  addCount("same", tr("Same"), tr("Rows with the same values in the same slot"), 3, &DifferentLayer::same);
  add("type", tr("Types"), tr("Types that K and V are stored in: then, and now where they differ"),
      {"int8/int8 to f16/f16", 1},
      [](Line one) {
        return one.typeThen == one.typeNow ? one.typeNow : tr("%1 to %2").arg(one.typeThen, one.typeNow);
      })
      .toned([](Line one) { return one.typeThen == one.typeNow ? Tone::Faint : Tone::Warning; });
  withLines(kFillRole, [](Line one) { return fillOf(one.marked); });
}

void DifferentLayers::addCount(const char* id, const QString& title, const QString& tip, int gives,
                               int DifferentLayer::*count) {
  using Line = const DifferentLayer&;
  addNumber(id, title, tip, {title + u'↑', gives}, [count](Line one) {
    return QString::number(one.*count);
  }).toned([count](Line one) { return one.*count ? Tone::Normal : Tone::Faint; });
}

void DifferentLayers::addWorst(const char* id, const QString& title, const QString& tip,
                               double DifferentLayer::*worst) {
  using Line = const DifferentLayer&;
  addNumber(id, title, tip, title + u'↑', [worst](Line one) {
    return apartText(one.*worst);
  }).toned([worst](Line one) {
      return one.*worst > 0 ? Tone::Normal : Tone::Faint;
    }).with(kBarRole, [worst](Line one) { return barOf(one.*worst); });
}

void DifferentLayers::show(std::vector<DifferentLayer> layers, SnapshotPtr of) {
  m_of = std::move(of);
  replace(std::move(layers));
}

void DifferentLayers::mark(const DifferenceReach& reach) {
  for (DifferentLayer& one : m_lines) one.marked = reach.has(one.layer);
  changed();
}

DifferentRows::DifferentRows(QObject* parent) : LineModel(parent) {
  using Row = const DifferentRow&;
  add("what", tr("Row"),
      tr("left: only the other state has it; came: only the shown state has it; changed: another "
         "phase or other values; exactness: nothing else differs"),
      "exactness", [](Row row) { return whatText(row.what); })
      .words()
      .toned([](Row row) { return toneOf(row.what); })
      .key([](Row row) { return static_cast<int>(row.what); });
  addNumber("ledger", tr("Ledger"), tr("Ledger id; of a row that left, its id in the other state"), {"Ledger↑", 2},
            [](Row row) { return QString::number(row.row.value()); })
      .key([](Row row) { return row.row.value(); })
      .in(Tone::Muted);
  addNumber("position", tr("Pos"), tr("Position in the shown context"), {"99999", 4}, [](Row row) {
    return row.position < 0 ? QStringLiteral("–") : QString::number(row.position);
  }).key([](Row row) {
      return row.position;
    }).in(Tone::Muted);
  add("token", tr("Token"), tr("Text of the token"), QString(8, 'x'), [this](Row row) { return tokenOf(row); });
  add("phase", tr("Phase"), tr("Phase of the row: then, and now where it differs"), {"1234 to 1234", 3}, [](Row row) {
    if (!paired(row)) return QString();
    const QString then = formatNumber(row.phaseThen), now = formatNumber(row.phaseNow);
    return then == now ? now : tr("%1 to %2").arg(then, now);
  }).toned([](Row row) { return row.phaseThen == row.phaseNow ? Tone::Faint : Tone::Warning; });
  addApart("k", tr("K"), tr("Relative difference of the keys, without rotation: |now − then| / max(|now|, |then|)"),
           &DifferentRow::k);
  addApart("v", tr("V"), tr("Relative difference of the values"), &DifferentRow::v);
  addNumber(
      "typed", tr("Type"),
      tr("What the type of the other program's rows alone explains: the relative difference of exact rows in that "
         "type, the larger of K and V"),
      "1.2e-05", [](Row row) { return row.typed < 0 ? QString() : apartText(row.typed); })
      .key([](Row row) { return row.typed < 0 ? QVariant() : QVariant(row.typed); })
      .in(Tone::Muted);
  add("exactness", tr("Exactness"), tr("How the row compared with a rebuild: then, and now where it differs"),
      {"exact to context-edited", 5}, [](Row row) { return row.exactness; })
      .words()
      .in(Tone::Muted);
  withLines(kFillRole, [](Row row) { return fillOf(row.marked); });
}

void DifferentRows::addApart(const char* id, const QString& title, const QString& tip, double DifferentRow::*apart) {
  using Row = const DifferentRow&;
  addNumber(id, title, tip, "1.2e-05", [apart](Row row) { return paired(row) ? apartText(row.*apart) : QString(); })
      .key([apart](Row row) { return paired(row) ? QVariant(row.*apart) : QVariant(); })
      .toned([apart](Row row) { return row.*apart > 0 ? Tone::Normal : Tone::Faint; })
      .with(kBarRole, [apart](Row row) { return paired(row) ? QVariant(barOf(row.*apart)) : QVariant(); });
}

QString DifferentRows::tokenOf(const DifferentRow& row) const {
  if (!row.text.isEmpty()) return row.text;
  return m_of && m_of->ledger.contains(row.row) ? tokenText(*m_of, row.row) : QString();
}

void DifferentRows::show(std::vector<DifferentRow> rows, SnapshotPtr of) {
  m_of = std::move(of);
  QHash<int, int> places;
  for (int p = 0; m_of && p < m_of->length(); ++p) places[m_of->context[kvlab::at(p)].value()] = p;
  for (DifferentRow& row : rows)
    if (row.what != What::OnlyThen) row.position = places.value(row.row.value(), -1);
  replace(std::move(rows));
}

void DifferentRows::mark(const std::vector<LedgerId>& rows) {
  for (DifferentRow& row : m_lines)
    row.marked = row.what != What::OnlyThen && std::ranges::binary_search(rows, row.row);
  changed();
}

int DifferentRows::lineOf(LedgerId id) const {
  return find([id](const DifferentRow& row) { return row.row == id && row.text.isEmpty(); });
}

}  // namespace kvlab
