// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/chat_template.h"

#include <filesystem>

#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

constexpr std::size_t kMaxChatTemplate = std::size_t{4} << 20;

std::string templateIn(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array())
    for (const auto& one : value)
      if (one.is_object() && one.contains("template") && one.at("template").is_string() &&
          one.value("name", nlohmann::json()) == "default")
        return one.at("template").get<std::string>();
  return {};
}

}  // namespace

Result<std::string> readChatTemplate(const std::string& directory) {
  std::error_code ignored;
  const std::string file = directory + "/chat_template.jinja", config = directory + "/tokenizer_config.json";
  if (std::filesystem::exists(file, ignored)) return readFile(file, "bad_tokenizer", kMaxChatTemplate);
  if (!std::filesystem::exists(config, ignored)) return std::string();
  const auto read = KV_TRY(readJsonFile(config, "bad_tokenizer"));
  return read.is_object() && read.contains("chat_template") ? templateIn(read.at("chat_template")) : std::string();
}

}  // namespace kvlab
