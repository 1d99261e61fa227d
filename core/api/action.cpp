// SPDX-License-Identifier: Apache-2.0
#include "core/api/action.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::string_view kNames[] = {"replace_pair", "replace", "add",    "delete",
                                       "insert",       "evict",   "expand", "collapse"};
static_assert(std::size(kNames) == std::variant_size_v<Action>);

/// The fields of an action, for both directions: `see` is a reader, a writer or a list of names. A member has one name
/// in all actions.
template <class AnyAction, class See>
void fieldsOf(AnyAction& a, See&& see) {
  if constexpr (requires { a.originalPos1; })
    see("original_pos1", a.originalPos1), see("original_pos2", a.originalPos2);
  if constexpr (requires { a.positions; }) see("positions", a.positions);
  if constexpr (requires { a.position; }) see("position", a.position);
  if constexpr (requires { a.layer; }) see("layer", a.layer), see("kv_head", a.kvHead), see("ledger", a.ledger);
  if constexpr (requires { a.node; }) see("node", a.node);
  if constexpr (requires { a.tokenId; }) see("token_id", a.tokenId);
  if constexpr (requires { a.tokenIds; }) see("token_ids", a.tokenIds);
  if constexpr (requires { a.newTokenIds; }) see("new_token_ids", a.newTokenIds);
}

struct Writer {
  template <class Value>
  void operator()(const char* field, const Value& value) {
    out[field] = value;
  }
  template <class Id>
  void operator()(const char* field, const std::optional<Id>& id) {
    if (id) out[field] = *id;
  }
  json out;
};

/// Reads the fields of one action and keeps the first error.
class Reader {
 public:
  Reader(const json& object, int place) : m_object(object), m_place(place) {}

  template <class Id>
  void operator()(const char* field, Id& id) {
    if (const json* value = find(field)) id = convert<Id>(field, *value);
  }
  template <class Id>
  void operator()(const char* field, std::vector<Id>& list) {
    const json* value = find(field);
    if (!value) return;
    if (!value->is_array()) return fail(field, *value, "is not a list");
    for (std::size_t i = 0; i < value->size(); ++i)
      list.push_back(convert<Id>(field, (*value)[i], " at place " + std::to_string(i)));
    if (list.empty()) fail(field, *value, "is empty");
  }
  template <class Id>
  void operator()(const char* field, std::optional<Id>& id) {
    if (m_object.contains(field)) (*this)(field, id.emplace());
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
    if (value.is_number_integer() && !tooBig && std::in_range<Rep>(value.get<std::int64_t>()))
      return Id(static_cast<Rep>(value.get<std::int64_t>()));
    fail(field, value, "is not an integer in range" + place);
    return Id{};
  }

  const json& m_object;
  int m_place;
  std::optional<Error> m_error;
};

/// Refuses fields that the action does not have: a misspelt name must not pass unseen.
void refuseOthers(Action& action, const json& object, Reader& in) {
  for (const auto& [key, value] : object.items()) {
    bool known = key == "action";
    const auto see = [&](const char* field, auto&) { known = known || key == field; };
    std::visit([&](auto& one) { fieldsOf(one, see); }, action);
    if (!known) in.fail(key.c_str(), value, "is not a field of this action");
  }
}

/// The action with this place in kNames.
template <std::size_t I = 0>
Action emptyAction(std::size_t index) {
  if constexpr (I + 1 < std::variant_size_v<Action>)
    if (index != I) return emptyAction<I + 1>(index);
  return std::variant_alternative_t<I, Action>{};
}

}  // namespace

std::size_t newTokens(const Action& action) {
  std::size_t count = 0;
  const auto see = [&]<class Field>(const char*, const Field& field) {
    if constexpr (std::is_same_v<Field, TokenId>) ++count;
    else if constexpr (std::is_same_v<Field, std::vector<TokenId>>) count += field.size();
  };
  std::visit([&](auto one) { fieldsOf(one, see); }, action);
  return count;
}

json toJson(const Action& action) {
  Writer writer{{{"action", kNames[action.index()]}}};
  std::visit([&](auto one) { fieldsOf(one, writer); }, action);
  return std::move(writer.out);
}

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
  const auto* const name = std::ranges::find(kNames, kind->get_ref<const std::string&>());
  if (name == std::end(kNames)) {
    std::string known;
    for (const std::string_view one : kNames) known.append(known.empty() ? "" : ", ").append(one);
    in.fail("action", *kind, "is none of " + known);
    return *in.error();
  }
  Action action = emptyAction(static_cast<std::size_t>(name - kNames));
  refuseOthers(action, object, in);
  std::visit([&](auto& one) { fieldsOf(one, in); }, action);
  if (in.error()) return *in.error();
  return action;
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
