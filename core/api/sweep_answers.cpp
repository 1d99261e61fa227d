// SPDX-License-Identifier: Apache-2.0
#include "core/api/sweep_table.h"

#include <cmath>

namespace kvlab {

using Json = nlohmann::ordered_json;

namespace {

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json answerJson(const SweepAnswer& answer) {
  Json out{{"story", answer.story}, {"question", answer.question}};
  if (answer.depth) out["depth"] = *answer.depth;
  out.update({{"wanted", answer.wanted},
              {"text", answer.text},
              {"ids", answer.ids},
              {"score", finite(answer.score)},
              {"part", finite(answer.part)}});
  if (answer.nll) out["nll"] = finite(*answer.nll);
  if (!answer.kept.empty()) out["kept"] = answer.kept;
  return out;
}

bool isNumber(const Json& from, const char* key) { return from.contains(key) && from[key].is_number(); }

/// A list whose entries have the type that `is` asks for.
bool isListOf(const Json& from, const char* key, bool (Json::*is)() const noexcept) {
  if (!from.contains(key) || !from[key].is_array()) return false;
  for (const Json& one : from[key])
    if (!(one.*is)()) return false;
  return true;
}

std::optional<double> numberIn(const Json& from, const char* key) {
  return isNumber(from, key) ? std::optional(from[key].get<double>()) : std::nullopt;
}

/// Empty = the answer was read.
std::string readAnswer(const Json& from, SweepAnswer& out) {
  if (!from.is_object()) return "is no object";
  for (const char* key : {"story", "question"})
    if (!from.contains(key) || !from[key].is_number_integer()) return std::string("has no whole number ") + key;
  for (const char* key : {"score", "part"})
    if (!isNumber(from, key)) return std::string("has no number ") + key;
  if (!from.contains("text") || !from["text"].is_string()) return "has no text";
  if (!isListOf(from, "wanted", &Json::is_string)) return "has no list of texts wanted";
  if (!isListOf(from, "ids", &Json::is_number_integer)) return "has no list of tokens ids";
  if (from.contains("kept") && !isListOf(from, "kept", &Json::is_number)) return "has a list kept without numbers";
  out.story = from["story"].get<int>();
  out.question = from["question"].get<int>();
  out.depth = numberIn(from, "depth");
  out.wanted = from["wanted"].get<std::vector<std::string>>();
  out.text = from["text"].get<std::string>();
  out.ids = from["ids"].get<std::vector<std::int32_t>>();
  out.score = from["score"].get<double>();
  out.part = from["part"].get<double>();
  out.nll = numberIn(from, "nll");
  if (from.contains("kept")) out.kept = from["kept"].get<std::vector<double>>();
  return {};
}

}  // namespace

Json answersJson(const SweepRow& row) {
  Json out = Json::array();
  for (const SweepAnswer& answer : row.answers) out.push_back(answerJson(answer));
  return out;
}

std::string answerLines(const SweepRow& row) {
  std::string out;
  for (const SweepAnswer& answer : row.answers) {
    Json line{{"index", row.index}, {"id", row.id}, {"prompts", row.prompts}, {"seed", row.seed}};
    line["axes"] = Json::object();
    for (const auto& [name, label] : row.axes) line["axes"][name] = label;
    if (row.budget) line["budget"] = {{row.budget->ratio ? "ratio" : "tokens", row.budget->value}};
    line.update(answerJson(answer));
    out += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return out;
}

Result<std::vector<SweepAnswer>> sweepAnswers(const Json& json, const std::string& place) {
  std::vector<SweepAnswer> out;
  const auto bad = [&](const std::string& why) {
    return Error("bad_results", "the answers were not read", place + " " + why, "open a folder that kvlab sweep wrote");
  };
  if (json.is_null()) return out;
  if (!json.is_array()) return bad("has answers that are no list");
  for (const Json& one : json) {
    SweepAnswer answer;
    const std::string why = readAnswer(one, answer);
    if (!why.empty()) return bad("has answer " + std::to_string(out.size()) + ", which " + why);
    out.push_back(std::move(answer));
  }
  return out;
}

}  // namespace kvlab
