// SPDX-License-Identifier: Apache-2.0
// Runs the tree of a chat template once. One owner, one thread.
#pragma once
#include <map>

#include "core/model/chat/lexer.h"
#include "core/model/chat/nodes.h"

namespace kvlab::chat {

enum class Flow : std::uint8_t { On, Break, Continue };

class Interpreter {
 public:
  /// Names that the template sees, beside the functions.
  Interpreter(Dict names, std::time_t now) : m_now(now) {
    m_scopes.emplace_back();
    for (auto& [name, value] : names) m_scopes.back()[name] = std::move(value);
  }

  Result<Flow> run(const Body& body, std::string& out);
  Result<Value> value(const Expression& e);

  // For filters, tests and methods.
  int line() const { return m_line; }
  std::time_t now() const { return m_now; }
  Error bad(const std::string& why) const { return badTemplate(m_line, why); }
  /// Steps are counted; an error where there are too many.
  Status spend(std::int64_t steps);
  /// Returns a value that was made, if it is not too large.
  Result<Value> made(Value value);
  Result<Value> text(std::string made) { return this->made(Value::string(std::move(made))); }
  /// The members of an iterable value: characters, entries, keys.
  Result<List> members(const Value& value);
  Result<bool> contains(const Value& whole, const Value& part);
  Result<Value> attribute(const Value& on, const std::string& name);

 private:
  using Scope = std::map<std::string, Value, std::less<>>;
  struct Arguments {
    std::vector<Value> placed;
    Dict named;
  };

  Result<Flow> run(const Statement& s, std::string& out);
  Result<Flow> runIf(const Statement& s, std::string& out);
  Result<Flow> runFor(const Statement& s, std::string& out);
  Status set(const Statement& s);
  Status setTargets(const std::vector<std::string>& targets, Value value);
  Status emit(std::string& out, const std::string& text);
  Result<List> chosen(const Statement& s);
  Value loopOf(const List& items, std::size_t i) const;

  const Value* find(std::string_view name) const;
  Result<Value> named(const Expression& e);
  Result<Value> item(const Value& on, const Value& key);
  Result<Value> slice(const Expression& e);
  Result<Value> sequence(const Expression& e);
  Result<Value> mapping(const Expression& e);
  Result<Value> unary(const Expression& e);
  Result<Value> binary(const Expression& e);
  Result<Value> chain(const Expression& e);
  Result<bool> compare(const std::string& op, const Value& a, const Value& b);
  Result<Value> call(const Expression& e);
  Result<Value> callMacro(const Statement& macro, Arguments arguments);
  Result<Value> filtered(const Expression& e);
  Result<Arguments> arguments(const Expression& e);

  std::vector<Scope> m_scopes;  // the first is the template's
  static constexpr int kMostDeep = 600;

  std::size_t m_base = 0;  // first scope of the macro that runs; those between it and the template's are hidden
  int m_line = 1, m_calls = 0;
  int m_deep = 0;  // expressions and macros inside each other
  std::int64_t m_steps = 0;
  std::time_t m_now;
};

/// A filter, a test, a method of a value, or a function.
struct Call {
  Interpreter& run;
  const std::string& name;
  const Value& on;            // the value that it is applied to; undefined for a function
  std::vector<Value> placed;  // arguments
  Dict named;
  std::vector<const Value*> args = {};  // bound to the parameters; null = left out

  bool has(std::size_t i) const { return i < args.size() && args[i]; }
  const Value& arg(std::size_t i) const { return *args[i]; }
  /// Errors that name the fault.
  Result<std::string> textArg(std::size_t i, std::optional<std::string> otherwise = {}) const;
  Result<std::int64_t> numberArg(std::size_t i, std::optional<std::int64_t> otherwise = {}) const;
  Result<std::string> onText() const;
  Error bad(const std::string& why) const { return run.bad("\"" + name + "\" " + why); }
};

using Function = Result<Value> (*)(Call& call);
struct Callable {
  Function function;
  std::vector<const char*> parameters;  // {"*"}: the function looks at `placed` and `named` itself
  std::size_t needed = 0;               // the first parameters, which no call may leave out
};
using Callables = std::map<std::string, Callable, std::less<>>;

const Callables& filters();
const Callables& tests();
const Callables& textMethods();
const Callables& dictMethods();
const Callables& listMethods();
const Callables& functions();

/// Binds the arguments and calls.
Result<Value> apply(const Callable& callable, Call call);
/// Method of a value; null = none.
const Callable* methodOf(const Value& on, std::string_view name);

/// Each character of UTF-8 text.
std::vector<std::string_view> characters(std::string_view text);
/// Result of an operator between two values. Errors: bad_template.
Result<Value> arithmetic(Interpreter& run, const std::string& op, const Value& a, const Value& b);

}  // namespace kvlab::chat
