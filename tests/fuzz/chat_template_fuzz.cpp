// SPDX-License-Identifier: Apache-2.0
// Input: a chat template, optionally a NUL and the messages as JSON.
#include <string>

#include "core/model/chat/render.h"
#include "core/model/tokens/utf8.h"
#include "fuzz.h"

using namespace kvlab;

namespace {

constexpr const char* kMessages =
    R"([{"role":"system","content":" S "},{"role":"user","content":"u\n"},{"role":"assistant","content":"<think>x</think>a",)"
    R"("tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":[1,2.5,null,true]}}}]},{"role":"tool","content":"t"}])";

void render(const chat::Template& parsed, const nlohmann::ordered_json& messages) {
  for (const bool prompt : {false, true}) {
    chat::Conversation in{.messages = messages, .addGenerationPrompt = prompt, .bos = "<s>", .eos = "</s>", .now = 0};
    const auto out = parsed.render(in);
    if (!out) fuzz::checkError(out.error());
    else fuzz::require(invalidUtf8At(*out) == std::string::npos, "rendered to no UTF-8");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text(data, size);
  const auto split = input.find('\0');
  const auto parsed = chat::Template::parse(std::string(input.substr(0, split)));
  if (!parsed) {
    fuzz::checkError(parsed.error());
    return 0;
  }
  render(*parsed, nlohmann::ordered_json::parse(kMessages));
  if (split == std::string_view::npos) return 0;
  const auto given = nlohmann::ordered_json::parse(input.substr(split + 1), nullptr, false);
  if (!given.is_discarded()) render(*parsed, given);
  return 0;
}
