// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/difference/difference_found.h"

#include <QHash>
#include <algorithm>
#include <limits>

#include "core/api/read_json.h"
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

/// A number that is not finite counts as infinitely far.
DifferentRow changedRow(const json& one) {
  const double far = std::numeric_limits<double>::infinity();
  return {.what = What::Differs,
          .row = LedgerId(one.at("ledger").get<std::int32_t>()),
          .phaseThen = one.at("phase").at(0).get<double>(),
          .phaseNow = one.at("phase").at(1).get<double>(),
          .k = jsonOr(one.at("k"), far),
          .v = jsonOr(one.at("v"), far)};
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
  return out;
}

}  // namespace

Result<DifferenceFound> differenceFound(const json& reply) {
  return wholeReply("the difference was not read", "compare again",
                    [&]() -> Result<DifferenceFound> { return read(reply); });
}

}  // namespace kvlab
