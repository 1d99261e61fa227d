// SPDX-License-Identifier: Apache-2.0
// Values of a chat template: the values of Jinja, which are the values of Python. All but namespaces are immutable and
// shared. Any thread, but a namespace belongs to one rendering.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvlab::chat {

struct Statement;

enum class Kind : std::uint8_t {
  Undefined,
  None,
  Bool,
  Int,
  Float,
  Text,
  List,
  Dict,
  Loop,
  Namespace,
  Macro,
  Function
};

struct Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;

/// The value of a key; null = none.
Value* entryOf(Dict& dict, std::string_view key);
/// Gives a key another value, or adds it behind the others.
void setEntry(Dict& dict, const std::string& key, Value value);

struct Value {
  Kind kind = Kind::Undefined;
  bool tuple = false;        // the list is a tuple
  int depth = 0;             // levels of lists and dicts inside each other
  std::int64_t weight = 1;   // steps that looking at all of it takes
  std::int64_t integer = 0;  // and of Bool
  double real = 0;
  std::shared_ptr<const std::string> text;  // also the name of what is undefined, and of a function
  std::shared_ptr<const List> list;
  std::shared_ptr<Dict> dict;  // for Dict, Loop and Namespace
  const Statement* macro = nullptr;

  static constexpr int kMostDepth = 64;

  static Value none() { return of(Kind::None); }
  static Value flag(bool b) { return of(Kind::Bool, b); }
  static Value number(std::int64_t n) { return of(Kind::Int, n); }
  static Value floating(double x);
  static Value string(std::string text);
  static Value undefined(std::string name = {});
  static Value function(std::string name);
  static Value listOf(List items, bool isTuple = false);
  static Value dictOf(Dict entries, Kind kind = Kind::Dict);
  /// Nothing where lists and objects are deeper than kMostDepth.
  static std::optional<Value> fromJson(const nlohmann::ordered_json& json, int depth = 0);

  bool is(Kind k) const { return kind == k; }
  bool isNumber() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool; }
  double asReal() const { return kind == Kind::Float ? real : static_cast<double>(integer); }
  /// Truth of the value as a condition.
  bool truth() const;
  /// The entry of a dict, loop or namespace; null = none.
  const Value* entry(std::string_view key) const { return dict ? entryOf(*dict, key) : nullptr; }
  const std::string& str() const { return *text; }

 private:
  static Value of(Kind kind, std::int64_t n = 0) {
    Value v;
    v.kind = kind;
    v.integer = n;
    return v;
  }
};

/// "str", "list", ... as Python names them.
std::string typeName(const Value& value);
/// As Python's str() and repr().
std::string textOf(const Value& value);
std::string reprOf(const Value& value);
bool equal(const Value& a, const Value& b);
/// a < b; nothing where they have no order.
std::optional<bool> less(const Value& a, const Value& b);

/// Python's json.dumps. indent < 0: one line.
struct JsonStyle {
  int indent = -1;
  bool ascii = false, sorted = false;
  std::string item = ", ", key = ": ";
};
/// Nothing where a value has no JSON (undefined, a macro).
std::optional<std::string> jsonOf(const Value& value, const JsonStyle& style, int level = 0);

}  // namespace kvlab::chat
