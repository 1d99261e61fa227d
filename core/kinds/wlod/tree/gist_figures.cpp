// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/gist_net.h"

#include <cmath>
#include <cstdio>

#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::pair<const char*, double GistLosses::*> kWays[] = {{"full", &GistLosses::full},
                                                                  {"trained", &GistLosses::trained},
                                                                  {"mean", &GistLosses::mean},
                                                                  {"truncation", &GistLosses::truncation},
                                                                  {"nothing", &GistLosses::nothing}};

std::optional<GistLosses> lossesFrom(const json& object) {
  if (!object.is_object() || object.size() != std::size(kWays)) return std::nullopt;
  GistLosses out;
  for (const auto& [name, member] : kWays) {
    const json value = object.value(name, json());
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < -1e-3) return std::nullopt;
    out.*member = value.get<double>();
  }
  return out;
}

std::optional<GistFigures> figuresFrom(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const json level = object.value("level", json()), tokens = object.value("tokens", json());
  const auto nll = lossesFrom(object.value("nll", json())), kl = lossesFrom(object.value("kl", json()));
  const auto within = [](const json& v, std::int64_t most) {
    return v.is_number_integer() && v.get<std::int64_t>() >= 1 && v.get<std::int64_t>() <= most;
  };
  if (!within(level, kTopLevel) || !within(tokens, std::int64_t{1} << 40) || !nll || !kl) return std::nullopt;
  return GistFigures{level.get<int>(), tokens.get<std::int64_t>(), *nll, *kl};
}

}  // namespace

Result<std::vector<GistFigures>> readGistFigures(std::string_view text, const std::string& file) {
  const auto bad = [&](const std::string& why) {
    return Error("bad_gist_net", "the gist network was refused", file + ": measured " + why,
                 "let kvlab train gists write the file", "measured");
  };
  const Result<json> list =
      parseJson(text, file, "bad_gist_net", {.depth = 8, .bytes = std::size_t{1} << 16, .uniqueKeys = true});
  if (!list) return bad("is no JSON: " + list.error().why);
  if (!list->is_array()) return bad("is no list");
  std::vector<GistFigures> out;
  for (const json& one : *list) {
    const std::optional<GistFigures> figures = figuresFrom(one);
    if (!figures || figures->level != static_cast<int>(out.size()) + 1)
      return bad("lacks the level, tokens, nll or kl of level " + std::to_string(out.size() + 1));
    out.push_back(*figures);
  }
  return out;
}

std::string gistNotice(const GistNet& net) {
  if (net.name() == "mean")
    return "mean gists are hardly better than as many of the last tokens for the demo model, and far worse for "
           "SmolLM2; trained gists may be better (wlod.gist)";
  if (net.figures().empty())
    return "nobody has measured whether these gists are better than as many of the last tokens; kvlab train gists "
           "measures it";
  std::string out;
  for (const GistFigures& level : net.figures()) {
    if (level.nll.trained < level.nll.truncation) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%sgists of LOD%d cost %.3f nats per token, as many of the last tokens %.3f",
                  out.empty() ? "" : "; ", level.level, level.nll.trained, level.nll.truncation);
    out += text;
  }
  return out;
}

}  // namespace kvlab
