// SPDX-License-Identifier: Apache-2.0
#include "core/session/edit_words.h"

#include <map>

#include "core/api/tree_node.h"
#include "core/api/visible_text.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::size_t kMostText = 24;  // characters

std::string inQuotes(const std::string& text) { return "“" + shortened(visibleText(text), kMostText) + "”"; }

std::string counted(std::size_t count, const char* one, const char* many) {
  return countedText(static_cast<std::int64_t>(count), one, many);
}

/// Words for an action, with the tokens before and after it.
class ActionWords {
 public:
  ActionWords(const CacheState& before, const Tokenizer& tokenizer) : m_before(before), m_tokenizer(tokenizer) {}

  std::string operator()(const ReplacePair& a) const {
    return "replace " + at({a.originalPos1, a.originalPos2}) + " → " + text(a.newTokenIds);
  }
  std::string operator()(const Replace& a) const { return "replace " + at(a.positions) + " → " + text(a.newTokenIds); }
  std::string operator()(const Add& a) const { return "add " + text({a.tokenId}); }
  std::string operator()(const Delete& a) const { return "delete " + at({a.position}); }
  std::string operator()(const Insert& a) const { return "insert " + text(a.tokenIds); }
  std::string operator()(const Evict& a) const {
    const std::string rows = a.ledger.size() == 1 ? row(a.ledger.front()) : counted(a.ledger.size(), "row", "rows");
    const std::string head = a.kvHead ? ", head " + std::to_string(a.kvHead->value()) : "";
    return "evict " + rows + " from layer " + std::to_string(a.layer.value()) + head;
  }
  std::string operator()(const Expand& a) const { return "expand " + TreeNode::of(a.node).text(); }
  std::string operator()(const Collapse& a) const { return "collapse " + TreeNode::of(a.node).text(); }

  std::string row(LedgerId id) const {
    return m_before.ledger.contains(id) ? text({m_before.ledger[id].token}) : "row " + std::to_string(id.value());
  }

 private:
  std::string text(const std::vector<TokenId>& ids) const {
    std::string out;
    for (const TokenId id : ids) out += m_tokenizer.tokenText(id);
    return inQuotes(out);
  }
  std::string at(const std::vector<Position>& places) const {
    std::vector<TokenId> ids;
    for (const Position place : places)
      if (place.value() >= 0 && place.value() < m_before.length())
        ids.push_back(m_before.ledger[m_before.context[static_cast<std::size_t>(place.value())]].token);
    return text(ids);
  }

  const CacheState& m_before;
  const Tokenizer& m_tokenizer;
};

std::string actionWords(const std::string& verb, const json& args, const ActionWords& words) {
  if (!args.contains("pending") || args["pending"].empty()) return {};
  if (verb == "stepAction") return "one pending action";
  const Result<std::vector<Action>> actions = actionsFromJson(args["pending"]);
  if (!actions || actions->empty()) return verb;
  const std::size_t more = actions->size() - 1;
  return std::visit(words, actions->front()) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string textOf(const json& args, const char* key) {
  return args.contains(key) && args[key].is_string() ? args[key].get<std::string>() : std::string();
}

void say(std::string& all, const std::string& more) { all += (all.empty() || more.empty() ? "" : ", ") + more; }

/// Words for the keys that all layers have, or some.
std::string storageWords(const json& keys) {
  std::string out;
  const std::string layout = textOf(keys, "layout");
  if (!layout.empty()) say(out, "layout " + layout);
  const json kv = keys.value("kv", json::object());
  std::string types;
  for (const auto& [name, title] : {std::pair("k", "K "), std::pair("v", "V ")})
    if (const std::string type = textOf(kv, name); !type.empty()) say(types, title + type);
  if (!types.empty()) say(out, "format " + types);
  const json policy = keys.value("policy", json());
  const std::string name = policy.is_object() ? textOf(policy, "name") : textOf(keys, "policy");
  if (!name.empty()) say(out, "policy " + name);
  return out;
}

std::string settingsWords(const json& args) {
  std::string out = storageWords(args), rules;
  if (args.contains("capacity")) say(out, "capacity " + args["capacity"].dump());
  for (const json& one : args.value("layers", json::array())) {
    const json match = one.value("match", json());
    say(out, storageWords(one) + " of layer " + (match.is_string() ? match.get<std::string>() : match.dump()));
  }
  for (const auto& [key, value] : args.items())
    if (key != "layout" && key != "kv" && key != "policy" && key != "capacity" && key != "layers") say(rules, key);
  if (!rules.empty()) say(out, "rule " + rules);
  return out;
}

std::string lastMessage(const json& args) {
  const json messages = args.value("messages", json::array());
  json last = messages.empty() ? json::object() : messages.back();
  if (last.is_string()) last = json::parse(last.get<std::string>(), nullptr, false);
  return last.is_object() ? textOf(last, "content") : std::string();
}

std::string fileName(const json& args) {
  const std::string path = textOf(args, "path");
  return path.substr(path.find_last_of('/') + 1);
}

std::string tokensOf(const json& args, const char* key) {
  return counted(args.value(key, json::array()).size(), "token", "tokens");
}

LedgerId ledgerOf(const json& args) { return LedgerId(static_cast<std::int32_t>(args.value("ledger", -1.0))); }

using Says = std::string (*)(const json& args, const ActionWords& words);

/// By verb. Verbs that generate say nothing beside their ticks.
const std::map<std::string_view, Says>& sayings() {
  static const std::map<std::string_view, Says> kSays = {
      {"prompt", [](const json& a, const ActionWords&) { return "prompt " + inQuotes(textOf(a, "text")); }},
      {"score", [](const json& a, const ActionWords&) { return "prompt " + inQuotes(textOf(a, "text")); }},
      {"promptIds", [](const json& a, const ActionWords&) { return "prompt of " + tokensOf(a, "ids"); }},
      {"prefill", [](const json& a, const ActionWords&) { return "prompt of " + tokensOf(a, "ids"); }},
      {"scoreIds", [](const json& a, const ActionWords&) { return "prompt of " + tokensOf(a, "ids"); }},
      {"endPrefill", [](const json&, const ActionWords&) { return std::string("end of the prompt"); }},
      {"chat", [](const json& a, const ActionWords&) { return "message " + inQuotes(lastMessage(a)); }},
      {"settings", [](const json& a, const ActionWords&) { return settingsWords(a); }},
      {"setBrightness", [](const json& a, const ActionWords& w) { return "brightness of " + w.row(ledgerOf(a)); }},
      {"pin",
       [](const json& a, const ActionWords& w) {
         return (a.value("on", true) ? "pin " : "unpin ") + w.row(ledgerOf(a));
       }},
      {"loadCache", [](const json& a, const ActionWords&) { return "load " + fileName(a); }},
      {"fault", [](const json& a, const ActionWords&) { return "fault " + textOf(a, "kind"); }},
      {"setLensScores", [](const json&, const ActionWords&) { return std::string("scores of the lens"); }},
      {"speculate", [](const json& a, const ActionWords&) { return "draft of " + tokensOf(a, "tokens"); }},
      {"accept", [](const json&, const ActionWords&) { return std::string("accept the draft"); }},
      {"rollback", [](const json&, const ActionWords&) { return std::string("roll the draft back"); }},
  };
  return kSays;
}

bool generates(std::string_view verb) { return verb == "step" || verb == "run" || verb == "stepAction"; }

}  // namespace

std::string wordsOf(const std::string& verb, const json& args, const CacheState& before, const Tokenizer& tokenizer) {
  json given = json::object();
  if (args.is_object())
    for (const auto& [key, value] : args.items())
      if (!value.is_null()) given[key] = value;  // null is an argument that was left out
  const ActionWords words(before, tokenizer);
  const auto says = sayings().find(verb);
  if (says != sayings().end()) return says->second(given, words);
  const std::string actions = actionWords(verb, given, words);
  return actions.empty() && !generates(verb) ? verb : actions;
}

std::string editTitle(const Timeline& timeline, int last) {
  const Timeline::Entry &end = timeline.entry(last), &first = timeline.entry(end.edit);
  if (!generates(first.verb)) return first.words;
  const std::string ticks = countedText(end.depth - first.depth + 1, "tick", "ticks");
  if (!first.words.empty()) return first.verb == "stepAction" ? first.words : first.words + " and " + ticks;
  return first.verb == "run" ? "run of " + ticks : ticks;
}

std::vector<Edit> editsBack(const Timeline& timeline, std::size_t most) {
  std::vector<Edit> out;
  for (int id = timeline.currentId(); id > 0 && out.size() < most; id = timeline.beforeEdit(id))
    out.push_back({editTitle(timeline, id), id});
  return out;
}

std::vector<Edit> editsAhead(const Timeline& timeline, std::size_t most) {
  std::vector<Edit> out;
  for (int id = timeline.redoTarget(); id >= 0 && out.size() < most;
       id = timeline.along(timeline.entry(id).depth + 1)) {
    id = timeline.editEnd(id);
    out.push_back({editTitle(timeline, id), id});
  }
  return out;
}

}  // namespace kvlab
