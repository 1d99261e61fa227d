// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/messages.h"

#include <vector>

namespace kvlab::chat {
namespace {

using nlohmann::ordered_json;

constexpr int kMostDepth = 64;
constexpr std::size_t kMostKeys = 4096;  // looking for a key walks through its object

/// Stops a parse that goes too deep or meets too many keys.
class Watch {
 public:
  bool operator()(int depth, ordered_json::parse_event_t event, const ordered_json&) {
    using Event = ordered_json::parse_event_t;
    if (event == Event::object_start) m_keys.push_back(0);
    else if (event == Event::object_end && !m_keys.empty()) m_keys.pop_back();
    const bool many = event == Event::key && !m_keys.empty() && ++m_keys.back() > kMostKeys;
    if (many) m_why = "has more than " + std::to_string(kMostKeys) + " keys in an object";
    if (depth > kMostDepth) m_why = "is nested deeper than " + std::to_string(kMostDepth);
    return m_why.empty();
  }
  const std::string& why() const { return m_why; }

 private:
  std::vector<std::size_t> m_keys;  // keys of the open objects
  std::string m_why;
};

Error badMessage(std::size_t number, const std::string& why) {
  return {"bad_messages", "cannot make a chat of the messages", "message " + std::to_string(number) + " " + why,
          "give each message as an object with a role and a content, or as the JSON of such an object", "messages"};
}

}  // namespace

Result<ordered_json> orderedMessages(const nlohmann::json& list) {
  ordered_json out = ordered_json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) {
      out.push_back(ordered_json(list[i]));
      continue;
    }
    Watch watch;
    const auto watched = [&](int depth, ordered_json::parse_event_t event, ordered_json& part) {
      return watch(depth, event, part);
    };
    auto message = ordered_json::parse(list[i].get_ref<const std::string&>(), watched, false);
    if (!watch.why().empty()) return badMessage(i, watch.why());
    if (message.is_discarded()) return badMessage(i, "is a text that is not JSON");
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace kvlab::chat
