// SPDX-License-Identifier: Apache-2.0
#include "core/model/chat/value.h"

#include <algorithm>

namespace kvlab::chat {
namespace {

void weigh(Value& whole, const Value& part) {
  whole.depth = std::max(whole.depth, part.depth + 1);
  whole.weight = std::min(whole.weight + part.weight, std::int64_t{1} << 40);
}

}  // namespace

Value Value::floating(double x) {
  Value v = of(Kind::Float);
  v.real = x;
  return v;
}

Value Value::string(std::string text) {
  Value v = of(Kind::Text);
  v.weight = 1 + static_cast<std::int64_t>(text.size() / 16);
  v.text = std::make_shared<const std::string>(std::move(text));
  return v;
}

Value Value::undefined(std::string name) {
  Value v;
  v.text = std::make_shared<const std::string>(std::move(name));
  return v;
}

Value Value::function(std::string name) {
  Value v = string(std::move(name));
  v.kind = Kind::Function;
  return v;
}

Value Value::listOf(List items, bool isTuple) {
  Value v = of(Kind::List);
  v.tuple = isTuple;
  for (const Value& item : items) weigh(v, item);
  v.list = std::make_shared<const List>(std::move(items));
  return v;
}

Value Value::dictOf(Dict entries, Kind kind) {
  Value v = of(kind);
  for (const auto& [key, value] : entries) weigh(v, value);
  v.dict = std::make_shared<Dict>(std::move(entries));
  return v;
}

std::optional<Value> Value::fromJson(const nlohmann::ordered_json& json, int depth) {
  if (depth >= kMostDepth / 2) return {};
  if (json.is_null()) return none();
  if (json.is_boolean()) return flag(json.get<bool>());
  if (json.is_number_integer()) return number(json.get<std::int64_t>());
  if (json.is_number()) return floating(json.get<double>());
  if (json.is_string()) return string(json.get<std::string>());
  List items;
  Dict entries;
  for (const auto& [key, item] : json.items()) {
    auto value = fromJson(item, depth + 1);
    if (!value) return {};
    if (json.is_array()) items.push_back(std::move(*value));
    else entries.emplace_back(key, std::move(*value));
  }
  return json.is_array() ? listOf(std::move(items)) : dictOf(std::move(entries));
}

bool Value::truth() const {
  switch (kind) {
    case Kind::Undefined:
    case Kind::None: return false;
    case Kind::Bool:
    case Kind::Int: return integer != 0;
    case Kind::Float: return real != 0;
    case Kind::Text: return !text->empty();
    case Kind::List: return !list->empty();
    case Kind::Dict: return !dict->empty();
    default: return true;
  }
}

Value* entryOf(Dict& dict, std::string_view key) {
  const auto it = std::ranges::find(dict, key, &Dict::value_type::first);
  return it == dict.end() ? nullptr : &it->second;
}

void setEntry(Dict& dict, const std::string& key, Value value) {
  if (Value* known = entryOf(dict, key)) *known = std::move(value);
  else dict.emplace_back(key, std::move(value));
}

std::string typeName(const Value& value) {
  static constexpr const char* kNames[] = {"undefined", "none", "bool", "int",       "float", "str",
                                           "list",      "dict", "loop", "namespace", "macro", "function"};
  return value.tuple ? "tuple" : kNames[static_cast<std::size_t>(value.kind)];
}

bool equal(const Value& a, const Value& b) {
  if (a.isNumber() && b.isNumber()) {
    if (!a.is(Kind::Float) && !b.is(Kind::Float)) return a.integer == b.integer;
    return a.asReal() == b.asReal();
  }
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::Undefined:
    case Kind::None: return true;
    case Kind::Text: return a.str() == b.str();
    case Kind::List:
      return a.tuple == b.tuple && std::equal(a.list->begin(), a.list->end(), b.list->begin(), b.list->end(), equal);
    case Kind::Dict:
      return a.dict->size() == b.dict->size() && std::all_of(a.dict->begin(), a.dict->end(), [&](const auto& e) {
               const Value* other = b.entry(e.first);
               return other && equal(e.second, *other);
             });
    default: return a.dict == b.dict && a.macro == b.macro;
  }
}

std::optional<bool> less(const Value& a, const Value& b) {
  if (a.isNumber() && b.isNumber()) {
    if (!a.is(Kind::Float) && !b.is(Kind::Float)) return a.integer < b.integer;
    return a.asReal() < b.asReal();
  }
  if (a.is(Kind::Text) && b.is(Kind::Text)) return a.str() < b.str();
  if (!a.is(Kind::List) || !b.is(Kind::List) || a.tuple != b.tuple) return {};
  for (std::size_t i = 0; i < std::min(a.list->size(), b.list->size()); ++i)
    if (!equal((*a.list)[i], (*b.list)[i])) return less((*a.list)[i], (*b.list)[i]);
  return a.list->size() < b.list->size();
}

}  // namespace kvlab::chat
