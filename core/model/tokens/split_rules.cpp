// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/split_rules.h"

#include <algorithm>
#include <map>

namespace kvlab::bpe {
namespace {

using nlohmann::json;

#define KVLAB_CONTRACTION R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define KVLAB_WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define KVLAB_REST R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define KVLAB_REST_SLASH R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define KVLAB_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define KVLAB_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define KVLAB_LEAD R"([^\r\n\p{L}\p{N}]?)"

constexpr const char* kLlama3 = KVLAB_CONTRACTION "|" KVLAB_WORD R"(|\p{N}{1,3}|)" KVLAB_REST;
constexpr const char* kQwen2 = KVLAB_CONTRACTION "|" KVLAB_WORD R"(|\p{N}|)" KVLAB_REST;
/// Marks belong to letters.
constexpr const char* kQwen35 = KVLAB_CONTRACTION
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Words by case: "camelCase" is two.
constexpr const char* kGpt4o = KVLAB_LEAD KVLAB_UPPER "*" KVLAB_LOWER "+" KVLAB_CONTRACTION "?|"  //
    KVLAB_LEAD KVLAB_UPPER "+" KVLAB_LOWER "*" KVLAB_CONTRACTION R"(?|\p{N}{1,3}|)" KVLAB_REST_SLASH;
constexpr const char* kTekken = KVLAB_LEAD KVLAB_UPPER "*" KVLAB_LOWER "+|"  //
    KVLAB_LEAD KVLAB_UPPER "+" KVLAB_LOWER R"(*|\p{N}|)" KVLAB_REST_SLASH;

#undef KVLAB_CONTRACTION
#undef KVLAB_WORD
#undef KVLAB_REST
#undef KVLAB_REST_SLASH
#undef KVLAB_UPPER
#undef KVLAB_LOWER
#undef KVLAB_LEAD

json byteLevelStep(bool regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", regex}};
}
json isolated(const char* expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}
json inTurn(json steps) { return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}; }
json digitsStep(bool each) { return {{"type", "Digits"}, {"individual_digits", each}}; }

json bytesOf(const char* expression) { return inTurn(json::array({isolated(expression), byteLevelStep(false)})); }
json gpt2() { return byteLevelStep(true); }
json digitsApart() { return inTurn(json::array({digitsStep(true), byteLevelStep(true)})); }
json falcon() {
  return inTurn(json::array(
      {isolated(R"([\p{P}$+<=>^`|~]+)"), byteLevelStep(true), digitsStep(false), isolated("[0-9][0-9][0-9]")}));
}

SplitRule plain(json step) { return {{}, std::move(step)}; }
SplitRule composed(json step) { return {{{"type", "NFC"}}, std::move(step)}; }
/// A whole token wins, and a text begins with the beginning-of-text token.
SplitRule whole(json step) { return {{}, std::move(step), true, true}; }

const std::map<std::string, SplitRule, std::less<>>& rules() {
  static const std::map<std::string, SplitRule, std::less<>> kRules{
      {"command-r", composed(digitsApart())},
      {"dbrx", plain(bytesOf(kLlama3))},
      {"deepseek-r1-qwen", plain(bytesOf(kQwen2))},
      {"default", plain(gpt2())},
      {"falcon", plain(falcon())},
      {"falcon-h1", whole(bytesOf(kLlama3))},
      {"falcon3", whole(bytesOf(kLlama3))},
      {"gpt-2", plain(gpt2())},
      {"gpt-4o", plain(bytesOf(kGpt4o))},
      {"kanana2", plain(bytesOf(kGpt4o))},
      {"lfm2", whole(bytesOf(kLlama3))},
      {"llama-bpe", whole(bytesOf(kLlama3))},
      {"llama-v3", whole(bytesOf(kLlama3))},
      {"llama3", whole(bytesOf(kLlama3))},
      {"llama4", plain(bytesOf(kGpt4o))},
      {"megrez", plain(bytesOf(kQwen2))},
      {"mpt", composed(gpt2())},
      {"olmo", composed(gpt2())},
      {"phi-2", plain(gpt2())},
      {"pixtral", whole(bytesOf(kLlama3))},
      {"qwen2", composed(bytesOf(kQwen2))},
      {"qwen35", composed(bytesOf(kQwen35))},
      {"refact", plain(digitsApart())},
      {"smaug-bpe", plain(bytesOf(kLlama3))},
      {"smollm", plain(digitsApart())},
      {"starcoder", plain(digitsApart())},
      {"tekken", whole(bytesOf(kTekken))},
  };
  return kRules;
}

}  // namespace

bool splitRule(std::string_view name, SplitRule& out) {
  const auto it = rules().find(name);
  if (it == rules().end()) return false;
  out = it->second;
  return true;
}

std::string splitRuleNames() {
  std::string out;
  for (const auto& [name, rule] : rules()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace kvlab::bpe
