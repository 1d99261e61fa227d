// SPDX-License-Identifier: Apache-2.0
#include "core/api/action.h"

#include <limits>

namespace kvlab {
namespace {

using nlohmann::json;

template <class Id>
json ids(const std::vector<Id>& list) {
  json out = json::array();
  for (Id id : list) out.push_back(id.value());
  return out;
}

/// Reads the fields of one action and keeps the first error.
class Reader {
 public:
  Reader(const json& object, int place) : m_object(object), m_place(place) {}

  template <class Id>
  Id id(const char* field) {
    const json* value = find(field);
    return value ? convert<Id>(field, *value) : Id{};
  }

  template <class Id>
  std::vector<Id> list(const char* field) {
    std::vector<Id> out;
    const json* value = find(field);
    if (!value) return out;
    if (!value->is_array()) {
      fail(field, *value, "is not a list");
      return out;
    }
    for (std::size_t i = 0; i < value->size(); ++i)
      out.push_back(convert<Id>(field, (*value)[i], " at place " + std::to_string(i)));
    if (out.empty()) fail(field, *value, "is empty");
    return out;
  }

  bool has(const char* field) const { return m_object.contains(field); }

  /// Refuses fields that the action does not have: a misspelt name must not pass unseen.
  void only(std::initializer_list<const char*> fields) {
    for (const auto& [key, value] : m_object.items()) {
      bool known = key == "action";
      for (const char* field : fields) known = known || key == field;
      if (!known) fail(key.c_str(), value, "is not a field of this action");
    }
  }

  void fail(const char* field, const json& value, const std::string& why) {
    if (m_error) return;
    m_error = Error("bad_action", "action " + std::to_string(m_place) + " was refused", std::string(field) + " " + why,
                    "correct the field and send the list again", m_place, field, value);
  }

  const std::optional<Error>& error() const { return m_error; }

 private:
  const json* find(const char* field) {
    const auto it = m_object.find(field);
    if (it != m_object.end()) return &*it;
    fail(field, nullptr, "is missing");
    return nullptr;
  }

  template <class Id>
  Id convert(const char* field, const json& value, const std::string& place = "") {
    using Rep = typename Id::rep;
    const bool tooBig = value.is_number_unsigned() &&
        value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Rep>::max());
    if (!value.is_number_integer() || tooBig) {
      fail(field, value, "is not an integer in range" + place);
      return Id{};
    }
    const auto number = value.get<std::int64_t>();
    if (number < std::numeric_limits<Rep>::min() || number > std::numeric_limits<Rep>::max()) {
      fail(field, value, "is not an integer in range" + place);
      return Id{};
    }
    return Id(static_cast<Rep>(number));
  }

  const json& m_object;
  int m_place;
  std::optional<Error> m_error;
};

Action readPair(Reader& in) {
  in.only({"original_pos1", "original_pos2", "new_token_ids"});
  return ReplacePair{in.id<Position>("original_pos1"), in.id<Position>("original_pos2"),
                     in.list<TokenId>("new_token_ids")};
}
Action readReplace(Reader& in) {
  in.only({"positions", "new_token_ids"});
  return Replace{in.list<Position>("positions"), in.list<TokenId>("new_token_ids")};
}
Action readAdd(Reader& in) {
  in.only({"token_id"});
  return Add{in.id<TokenId>("token_id")};
}
Action readDelete(Reader& in) {
  in.only({"position"});
  return Delete{in.id<Position>("position")};
}
Action readInsert(Reader& in) {
  in.only({"position", "token_ids"});
  return Insert{in.id<Position>("position"), in.list<TokenId>("token_ids")};
}
Action readEvict(Reader& in) {
  in.only({"layer", "kv_head", "ledger"});
  Evict evict{in.id<Layer>("layer"), std::nullopt, in.list<LedgerId>("ledger")};
  if (in.has("kv_head")) evict.kvHead = in.id<Head>("kv_head");
  return evict;
}
Action readExpand(Reader& in) {
  in.only({"node"});
  return Expand{in.id<NodeId>("node")};
}
Action readCollapse(Reader& in) {
  in.only({"node"});
  return Collapse{in.id<NodeId>("node")};
}

struct Form {
  const char* name;
  Action (*read)(Reader&);
};
constexpr Form kForms[] = {{"replace_pair", readPair}, {"replace", readReplace},  {"add", readAdd},
                           {"delete", readDelete},     {"insert", readInsert},    {"evict", readEvict},
                           {"expand", readExpand},     {"collapse", readCollapse}};

struct Writer {
  json operator()(const ReplacePair& a) const {
    return {{"action", "replace_pair"},
            {"original_pos1", a.originalPos1.value()},
            {"original_pos2", a.originalPos2.value()},
            {"new_token_ids", ids(a.newTokenIds)}};
  }
  json operator()(const Replace& a) const {
    return {{"action", "replace"}, {"positions", ids(a.positions)}, {"new_token_ids", ids(a.newTokenIds)}};
  }
  json operator()(const Add& a) const { return {{"action", "add"}, {"token_id", a.tokenId.value()}}; }
  json operator()(const Delete& a) const { return {{"action", "delete"}, {"position", a.position.value()}}; }
  json operator()(const Insert& a) const {
    return {{"action", "insert"}, {"position", a.position.value()}, {"token_ids", ids(a.tokenIds)}};
  }
  json operator()(const Evict& a) const {
    json out{{"action", "evict"}, {"layer", a.layer.value()}, {"ledger", ids(a.ledger)}};
    if (a.kvHead) out["kv_head"] = a.kvHead->value();
    return out;
  }
  json operator()(const Expand& a) const { return {{"action", "expand"}, {"node", a.node.value()}}; }
  json operator()(const Collapse& a) const { return {{"action", "collapse"}, {"node", a.node.value()}}; }
};

}  // namespace

std::size_t newTokens(const Action& action) {
  struct Count {
    std::size_t operator()(const ReplacePair& a) { return a.newTokenIds.size(); }
    std::size_t operator()(const Replace& a) { return a.newTokenIds.size(); }
    std::size_t operator()(const Insert& a) { return a.tokenIds.size(); }
    std::size_t operator()(const Add&) { return 1; }
    std::size_t operator()(const Delete&) { return 0; }
    std::size_t operator()(const Evict&) { return 0; }
    std::size_t operator()(const Expand&) { return 0; }
    std::size_t operator()(const Collapse&) { return 0; }
  };
  return std::visit(Count(), action);
}

json toJson(const Action& action) { return std::visit(Writer{}, action); }

Result<Action> actionFromJson(const json& object, int place) {
  static const json nothing = json::object();
  Reader in(object.is_object() ? object : nothing, place);
  if (!object.is_object()) {
    in.fail("action", object, "is not an object");
    return *in.error();
  }
  const auto kind = object.find("action");
  if (kind == object.end() || !kind->is_string()) {
    in.fail("action", kind == object.end() ? json() : *kind, "does not name an action");
    return *in.error();
  }
  for (const Form& form : kForms) {
    if (kind->get_ref<const std::string&>() != form.name) continue;
    Action action = form.read(in);
    if (in.error()) return *in.error();
    return action;
  }
  std::string known;
  for (const Form& form : kForms) known += (known.empty() ? "" : ", ") + std::string(form.name);
  in.fail("action", *kind, "is none of " + known);
  return *in.error();
}

Result<std::vector<Action>> actionsFromJson(const json& list) {
  if (!list.is_array())
    return Error("bad_action", "the action list was refused", "it is not a list", "send a list of action objects",
                 "actions", list);
  std::vector<Action> actions;
  for (std::size_t i = 0; i < list.size(); ++i) actions.push_back(KV_TRY(actionFromJson(list[i], static_cast<int>(i))));
  return actions;
}

}  // namespace kvlab
