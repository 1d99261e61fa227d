// SPDX-License-Identifier: Apache-2.0
#include "core/session/edit_words.h"

#include "core/api/read_json.h"
#include "core/api/texts.h"
#include "core/api/tree_node.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::size_t kMostText = 24;  // characters

std::string inQuotes(const std::string& text) { return "“" + shortened(visibleText(text), kMostText) + "”"; }

std::string pendingWords(const json& args, const EditWords& words) {
  const Result<std::vector<Action>> actions = actionsFromJson(args["pending"]);
  if (!actions || actions->empty()) return {};
  const std::size_t more = actions->size() - 1;
  return words.of(actions->front()) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

}  // namespace

std::string quotedText(const json& text) { return inQuotes(jsonOr(text, std::string())); }

std::string tokenCount(const json& ids) { return countedText(ids.is_array() ? std::ssize(ids) : 0, "token", "tokens"); }

std::string EditWords::row(LedgerId id) const {
  return m_before.ledger.contains(id) ? text({m_before.ledger[id].token}) : "row " + std::to_string(id.value());
}

std::string EditWords::row(const json& args, const char* key) const {
  return row(LedgerId(static_cast<std::int32_t>(memberOr(args, key, -1.0))));
}

std::string EditWords::text(const std::vector<TokenId>& ids) const {
  std::string out;
  for (const TokenId id : ids) out += m_tokenizer.tokenText(id);
  return inQuotes(out);
}

std::string EditWords::at(const std::vector<Position>& places) const {
  std::vector<TokenId> ids;
  for (const Position place : places)
    if (place.value() >= 0 && place.value() < m_before.length())
      ids.push_back(m_before.ledger[m_before.context[static_cast<std::size_t>(place.value())]].token);
  return text(ids);
}

std::string EditWords::of(const Action& action) const {
  struct Says {
    const EditWords& words;
    std::string operator()(const ReplacePair& a) const {
      return "replace " + words.at({a.originalPos1, a.originalPos2}) + " → " + words.text(a.newTokenIds);
    }
    std::string operator()(const Replace& a) const {
      return "replace " + words.at(a.positions) + " → " + words.text(a.newTokenIds);
    }
    std::string operator()(const Add& a) const { return "add " + words.text({a.tokenId}); }
    std::string operator()(const Delete& a) const { return "delete " + words.at({a.position}); }
    std::string operator()(const Insert& a) const { return "insert " + words.text(a.tokenIds); }
    std::string operator()(const Evict& a) const {
      const std::string rows =
          a.ledger.size() == 1 ? words.row(a.ledger.front()) : countedText(std::ssize(a.ledger), "row", "rows");
      const std::string head = a.kvHead ? ", head " + std::to_string(a.kvHead->value()) : "";
      return "evict " + rows + " from layer " + std::to_string(a.layer.value()) + head;
    }
    std::string operator()(const Expand& a) const { return "expand " + TreeNode::of(a.node).text(); }
    std::string operator()(const Collapse& a) const { return "collapse " + TreeNode::of(a.node).text(); }
  };
  return std::visit(Says{*this}, action);
}

std::string wordsOf(const CommandKind& kind, const std::string& verb, const json& args, const CacheState& before,
                    const Tokenizer& tokenizer) {
  json given = json::object();
  if (args.is_object())
    for (const auto& [key, value] : args.items())
      if (!value.is_null()) given[key] = value;  // null is an argument that was left out
  const EditWords words(before, tokenizer);
  if (kind.says) return kind.says(given, words);
  const std::string pending = given.contains("pending") ? pendingWords(given, words) : std::string();
  return pending.empty() && kind.sort != EditSort::Ticks ? verb : pending;
}

std::string editTitle(const Timeline& timeline, int last) {
  const Timeline::Entry &end = timeline.entry(last), &first = timeline.entry(end.edit);
  if (first.sort != EditSort::Ticks) return first.words;
  const std::string ticks = countedText(end.depth - first.depth + 1, "tick", "ticks");
  if (!first.words.empty()) return first.words + " and " + ticks;
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
