// SPDX-License-Identifier: GPL-3.0-or-later
// The result of a quantisation measurement in a fixture snapshot.
#include <algorithm>
#include <cmath>

#include "fixture_session.h"

namespace kvlab::fixture {

namespace {
/// The loss of a type: a row's relative error lies between `least` and `least + more`; scales, 0 = the type has none.
struct Loss {
  double least, more, scale;
};
Loss lossOf(const std::string& type) {
  if (type == "int8") return {0.0032, 0.0034, 0.011};
  if (type == "fp8-e4m3") return {0.021, 0.009, 0.0034};
  return {type == "f32" ? 0 : 1.6e-4, type == "f32" ? 0 : 5e-5, 0};
}

nlohmann::json tensorLoss(const std::string& type, const std::vector<bool>& here, const Snapshot& s,
                          std::uint64_t layer, bool keys, std::size_t bad) {
  const Loss loss = lossOf(type);
  std::vector<float> relative, cosine, scale;
  std::vector<std::int32_t> atMax;
  double worst = 0, sum = 0;
  for (std::size_t p = 0; p < here.size(); ++p) {
    const std::uint64_t id = static_cast<std::uint64_t>(s.context[p].value()), salt = 2 * layer + keys;
    const double outlier = p == bad ? (keys ? 26 : 4) : keys && p == 0 ? 2.4 : 1;
    const double error = (loss.least + loss.more * noise(41, id, salt)) * (loss.scale > 0 ? outlier : 1);
    relative.push_back(here[p] ? static_cast<float>(error) : NAN);
    cosine.push_back(here[p] ? static_cast<float>(1 - error * error / 2) : NAN);
    scale.push_back(!here[p]             ? NAN
                        : loss.scale > 0 ? static_cast<float>(loss.scale * (0.6 + 0.8 * noise(43, id, salt)) * outlier)
                                         : 1);
    atMax.push_back(here[p] && loss.scale > 0 ? 2 + static_cast<std::int32_t>(2.4 * noise(47, id, salt)) : 0);
    if (here[p]) worst = std::max(worst, error), sum += error;
  }
  const auto rows = std::count(here.begin(), here.end(), true);
  const double mean = loss.scale > 0 ? loss.scale : 0;
  return {{"type", type},
          {"relative", relative},
          {"cosine", cosine},
          {"scale", scale},
          {"atMax", atMax},
          {"worst", worst},
          {"mean", rows ? sum / static_cast<double>(rows) : 0},
          {"counts",
           {{"scales", loss.scale > 0 ? 2 * rows : 0},
            {"nonFinite", 0},
            {"clipped", layer == 3 && !keys ? 3 : 0},
            {"atMax", 0},
            {"floored", 0},
            {"scale", {{"min", mean * 0.4}, {"mean", mean * 0.8}, {"max", mean * 1.5}}}}}};
}
}  // namespace

nlohmann::json quantisation(const Snapshot& s) {
  nlohmann::json out = nlohmann::json::array();
  const std::size_t worstLayer = std::min<std::size_t>(2, s.layers.size() - 1), worstRow = s.context.size() * 3 / 5;
  for (std::size_t layer = 0; layer < s.layers.size(); ++layer) {
    std::vector<bool> there(s.ledger.size());
    for (const LedgerId id : s.layers[layer]->ledger.span().subspan(static_cast<std::size_t>(s.layers[layer]->first)))
      there[static_cast<std::size_t>(id.value())] = true;
    std::vector<bool> here;
    for (const LedgerId id : s.context) here.push_back(there[static_cast<std::size_t>(id.value())]);
    const std::size_t bad = layer == worstLayer ? worstRow : here.size();
    nlohmann::json k = tensorLoss(s.storage[layer]->k, here, s, layer, true, bad),
                   v = tensorLoss(s.storage[layer]->v, here, s, layer, false, bad);
    std::vector<float> logit;
    float worst = 0;
    for (std::size_t p = 0; p < here.size(); ++p) {
      logit.push_back(k["relative"][p].get<float>() * static_cast<float>(3.1 * noise(53, p, layer)));
      worst = std::fmax(worst, logit.back());
    }
    out.push_back({{"tick", s.tick.value()}, {"k", k}, {"v", v}, {"logit", logit}, {"worstLogit", worst}});
  }
  return out;
}

}  // namespace kvlab::fixture
