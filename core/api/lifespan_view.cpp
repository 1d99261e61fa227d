// SPDX-License-Identifier: Apache-2.0
#include "core/api/lifespan_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/api/json_values.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double real(const json& value) { return value.is_number() ? value.get<double>() : kNone; }

void addFigures(const std::vector<std::pair<float, float>>& pairs, HeadLifespans& out) {
  out.r2 = out.bias = kNone;
  if (pairs.size() < 2) return;
  const auto n = static_cast<double>(pairs.size());
  double sum = 0, off = 0, error = 0, spread = 0;
  std::map<int, std::pair<double, CalibrationBin>> bins;
  for (const auto& [predicted, actual] : pairs) {
    sum += actual, off += double(predicted) - actual;
    error += (double(predicted) - actual) * (double(predicted) - actual);
    auto& [total, bin] = bins[static_cast<int>(std::floor(predicted * 2))];
    total += predicted, bin.actual += actual, ++bin.rows;
  }
  for (const auto& [predicted, actual] : pairs) spread += (actual - sum / n) * (actual - sum / n);
  out.bias = off / n;
  if (spread > 0) out.r2 = 1 - error / spread;
  for (auto& [place, entry] : bins) {
    const auto rows = static_cast<float>(entry.second.rows);
    out.bins.push_back({static_cast<float>(entry.first) / rows, entry.second.actual / rows, entry.second.rows});
  }
}

json headToJson(const HeadLifespans& head) {
  json bins = json::array();
  for (const CalibrationBin& bin : head.bins) bins.push_back({bin.predicted, bin.actual, bin.rows});
  return {{"rows", head.rows},
          {"censored", head.censored},
          {"r2", finite(head.r2)},
          {"bias", finite(head.bias)},
          {"bins", bins},
          {"points", {{"predicted", head.predicted}, {"actual", head.actual}, {"censored", head.cut}}}};
}

HeadLifespans headFromJson(const json& given) {
  HeadLifespans head;
  head.rows = given.at("rows").get<std::int32_t>();
  head.censored = given.at("censored").get<std::int32_t>();
  head.r2 = real(given.at("r2"));
  head.bias = real(given.at("bias"));
  for (const json& bin : given.at("bins"))
    head.bins.push_back({bin.at(0).get<float>(), bin.at(1).get<float>(), bin.at(2).get<std::int32_t>()});
  const json& points = given.at("points");
  head.predicted = points.at("predicted").get<std::vector<float>>();
  head.actual = points.at("actual").get<std::vector<float>>();
  head.cut = points.at("censored").get<std::vector<std::uint8_t>>();
  if (head.actual.size() != head.predicted.size() || head.cut.size() != head.predicted.size())
    head.predicted.clear(), head.actual.clear(), head.cut.clear();
  return head;
}

}  // namespace

HeadLifespans headLifespans(std::span<const float> predicted, std::span<const float> actual,
                            std::span<const std::uint8_t> censored, std::size_t mostPoints) {
  HeadLifespans out;
  const std::size_t all = std::min({predicted.size(), actual.size(), censored.size()});
  std::vector<std::size_t> known;
  std::vector<std::pair<float, float>> whole;
  for (std::size_t i = 0; i < all; ++i) {
    if (!std::isfinite(predicted[i])) continue;
    known.push_back(i);
    if (censored[i]) ++out.censored;
    else whole.emplace_back(predicted[i], actual[i]);
  }
  out.rows = static_cast<std::int32_t>(known.size());
  addFigures(whole, out);
  const std::size_t points = std::min(known.size(), mostPoints);
  for (std::size_t k = 0; k < points; ++k) {
    const std::size_t i = known[k * known.size() / points];
    out.predicted.push_back(predicted[i]);
    out.actual.push_back(actual[i]);
    out.cut.push_back(censored[i] ? 1 : 0);
  }
  return out;
}

json toJson(const LifespanView& view) {
  json layers = json::array();
  for (const auto& heads : view.layers) {
    json layer = json::array();
    for (const HeadLifespans& head : heads) layer.push_back(headToJson(head));
    layers.push_back(std::move(layer));
  }
  return {{"serial", view.serial},
          {"tick", view.tick.value()},
          {"rows", view.rows},
          {"threshold", view.threshold},
          {"layers", layers}};
}

Result<LifespanView> lifespanViewFromJson(const json& given) {
  try {
    LifespanView view;
    view.serial = given.at("serial").get<std::uint64_t>();
    view.tick = Tick(given.at("tick").get<std::int64_t>());
    view.rows = given.at("rows").get<std::int32_t>();
    view.threshold = given.at("threshold").get<float>();
    for (const json& layer : given.at("layers")) {
      std::vector<HeadLifespans> heads;
      for (const json& head : layer) heads.push_back(headFromJson(head));
      view.layers.push_back(std::move(heads));
    }
    return view;
  } catch (const json::exception& error) {
    return Error("bad_reply", "lifespans were not shown", error.what(), "measure them again");
  }
}

}  // namespace kvlab
