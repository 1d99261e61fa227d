// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/strict_json.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unordered_set>

namespace kvlab {
namespace {

using nlohmann::json;

/// Watches a parse: depth, and keys met before in the same object.
class Watch {
 public:
  explicit Watch(const JsonLimits& limits) : m_limits(limits) {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) {
      if (m_limits.uniqueKeys) m_keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      if (m_limits.uniqueKeys && !m_keys.empty()) m_keys.pop_back();
    } else if (event == json::parse_event_t::key && m_limits.uniqueKeys && !m_keys.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!m_keys.back().insert(key).second && !m_twice) m_twice = key;
    }
    if (depth > m_limits.depth) m_deep = true;
    return !m_deep;
  }

  std::string complaint() const {
    if (m_deep) return "nested deeper than " + std::to_string(m_limits.depth);
    if (m_twice) return "key \"" + *m_twice + "\" appears twice";
    return {};
  }

 private:
  const JsonLimits& m_limits;
  std::vector<std::unordered_set<std::string>> m_keys;  // keys of the open objects
  std::optional<std::string> m_twice;
  bool m_deep = false;
};

Error refused(const std::string& code, const std::string& file, const std::string& why) {
  return {code, "cannot read " + file, why, "use an undamaged copy of the file"};
}

}  // namespace

Result<json> parseJson(std::string_view text, const std::string& file, const std::string& code,
                       const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return refused(code, file,
                   "JSON of " + std::to_string(text.size()) + " bytes, the limit is " + std::to_string(limits.bytes));
  Watch watch(limits);
  try {
    json parsed = json::parse(text.begin(), text.end(), std::ref(watch));
    if (const std::string why = watch.complaint(); !why.empty()) return refused(code, file, why);
    return parsed;
  } catch (const json::parse_error& e) {
    return refused(code, file, "not JSON at byte " + std::to_string(e.byte));
  } catch (const json::exception& e) {
    return refused(code, file, std::string("not usable JSON (") + e.what() + ")");
  }
}

Result<std::string> readFile(const std::string& path, const std::string& code, std::size_t limit) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    return Error(code, "cannot read " + path, failure ? failure.message() : "not a file", "check the path");
  const auto size = std::filesystem::file_size(path, failure);
  if (failure) return Error(code, "cannot read " + path, failure.message(), "check the path");
  if (size > limit) return refused(code, path, std::to_string(size) + " bytes, the limit is " + std::to_string(limit));
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(size)))
    return Error(code, "cannot read " + path, std::strerror(errno), "check the file and its permissions");
  return text;
}

Result<json> readJsonFile(const std::string& path, const std::string& code, const JsonLimits& limits) {
  auto text = KV_TRY(readFile(path, code, limits.bytes));
  return parseJson(text, path, code, limits);
}

}  // namespace kvlab
