// SPDX-License-Identifier: Apache-2.0
// Statements.
#include "core/model/chat/interpreter.h"

#include <algorithm>

namespace kvlab::chat {
namespace {

constexpr std::int64_t kMostSteps = 16'000'000, kMostWeight = 1 << 21;
constexpr std::size_t kMostOutput = std::size_t{16} << 20;
constexpr int kMostCalls = 32;

}  // namespace

Status Interpreter::spend(std::int64_t steps) {
  m_steps += steps;
  if (m_steps <= kMostSteps) return ok();
  return badTemplate(m_line, "it needs more than " + std::to_string(kMostSteps) + " steps for these messages",
                     "give fewer or shorter messages");
}

Result<Value> Interpreter::made(Value value) {
  if (value.depth > Value::kMostDepth) return bad("lists stand too deep inside each other");
  if (value.weight > kMostWeight) return bad("a list or a text becomes too large");
  KV_TRY(spend(value.is(Kind::List) ? 8 * static_cast<std::int64_t>(value.list->size() + 1) : value.weight));
  return value;
}

Status Interpreter::emit(std::string& out, const std::string& text) {
  KV_TRY(spend(1 + static_cast<std::int64_t>(text.size() / 16)));
  if (out.size() + text.size() > kMostOutput)
    return badTemplate(m_line, "the text becomes longer than 16 MiB", "give fewer or shorter messages");
  out += text;
  return ok();
}

Result<Flow> Interpreter::run(const Body& body, std::string& out) {
  for (const Statement& s : body) {
    m_line = s.line;
    KV_TRY(spend(1));
    const Flow flow = KV_TRY(run(s, out));
    if (flow != Flow::On) return flow;
  }
  return Flow::On;
}

Result<Flow> Interpreter::run(const Statement& s, std::string& out) {
  switch (s.step) {
    case Step::Data: KV_TRY(emit(out, s.text)); break;
    case Step::Output: {
      const Value shown = KV_TRY(value(*s.value));
      KV_TRY(spend(shown.weight));
      KV_TRY(emit(out, textOf(shown)));
      break;
    }
    case Step::If: return runIf(s, out);
    case Step::For: return runFor(s, out);
    case Step::Generation: return run(s.body, out);
    case Step::Set:
    case Step::SetBlock: KV_TRY(set(s)); break;
    case Step::Macro: {
      Value macro = Value::function(s.text);
      macro.kind = Kind::Macro;
      macro.macro = &s;
      m_scopes.back()[s.text] = std::move(macro);
      break;
    }
    case Step::Break: return Flow::Break;
    case Step::Continue: return Flow::Continue;
  }
  return Flow::On;
}

Result<Flow> Interpreter::runIf(const Statement& s, std::string& out) {
  for (const auto& [condition, body] : s.branches) {
    const Value truth = KV_TRY(value(*condition));
    if (truth.truth()) return run(body, out);
  }
  return run(s.otherwise, out);
}

/// The members that the loop's condition lets pass.
Result<List> Interpreter::chosen(const Statement& s) {
  const Value whole = KV_TRY(value(*s.value));
  List all = KV_TRY(members(whole));
  if (!s.condition) return all;
  List out;
  m_scopes.emplace_back();
  for (Value& one : all) {
    KV_TRY(setTargets(s.targets, one));
    const Value keep = KV_TRY(value(*s.condition));
    if (keep.truth()) out.push_back(std::move(one));
  }
  m_scopes.pop_back();
  return out;
}

Value Interpreter::loopOf(const List& items, std::size_t i) const {
  const auto n = static_cast<std::int64_t>(items.size()), at = static_cast<std::int64_t>(i);
  return Value::dictOf({{"index", Value::number(at + 1)},
                        {"index0", Value::number(at)},
                        {"first", Value::flag(i == 0)},
                        {"last", Value::flag(at + 1 == n)},
                        {"length", Value::number(n)},
                        {"revindex", Value::number(n - at)},
                        {"revindex0", Value::number(n - at - 1)},
                        {"previtem", i > 0 ? items[i - 1] : Value::undefined("there is no previous item")},
                        {"nextitem", at + 1 < n ? items[i + 1] : Value::undefined("there is no next item")},
                        {"depth", Value::number(1)},
                        {"depth0", Value::number(0)}},
                       Kind::Loop);
}

Result<Flow> Interpreter::runFor(const Statement& s, std::string& out) {
  const List items = KV_TRY(chosen(s));
  bool ended = false;  // some turn has come to its end: Jinja leaves the else out then, and only then
  for (std::size_t i = 0; i < items.size(); ++i) {
    m_scopes.emplace_back();
    KV_TRY(spend(16));
    m_scopes.back()["loop"] = loopOf(items, i);
    KV_TRY(setTargets(s.targets, items[i]));
    const Flow flow = KV_TRY(run(s.body, out));
    m_scopes.pop_back();
    if (flow == Flow::Break) break;
    ended = ended || flow == Flow::On;
  }
  if (ended || s.otherwise.empty()) return Flow::On;
  m_scopes.emplace_back();
  const Flow flow = KV_TRY(run(s.otherwise, out));
  m_scopes.pop_back();
  return flow;
}

Status Interpreter::setTargets(const std::vector<std::string>& targets, Value value) {
  if (targets.size() == 1) return m_scopes.back()[targets.front()] = std::move(value), ok();
  const List parts = KV_TRY(members(value));
  if (parts.size() != targets.size())
    return bad(std::to_string(parts.size()) + " values do not go into " + std::to_string(targets.size()) + " names");
  for (std::size_t i = 0; i < parts.size(); ++i) m_scopes.back()[targets[i]] = parts[i];
  return ok();
}

Status Interpreter::set(const Statement& s) {
  Value result;
  if (s.step == Step::SetBlock) {
    std::string inner;
    m_scopes.emplace_back();
    KV_TRY(run(s.body, inner));
    m_scopes.pop_back();
    result = KV_TRY(text(std::move(inner)));
  } else {
    result = KV_TRY(value(*s.value));
  }
  if (s.text.empty()) return setTargets(s.targets, std::move(result));
  const Value* space = find(s.targets.front());
  if (!space || !space->is(Kind::Namespace)) return bad("\"" + s.targets.front() + "\" is no namespace");
  if (result.is(Kind::Namespace)) return bad("a namespace inside a namespace is not implemented");
  KV_TRY(spend(static_cast<std::int64_t>(space->dict->size())));
  setEntry(*space->dict, s.text, std::move(result));
  return ok();
}

Result<Value> Interpreter::callMacro(const Statement& macro, Arguments given) {
  if (m_calls >= kMostCalls) return bad("macros call each other too deep");
  if (given.placed.size() > macro.parameters.size()) return bad("the macro " + macro.text + " gets too many arguments");
  for (const auto& [key, value] : given.named)
    if (std::none_of(macro.parameters.begin(), macro.parameters.end(), [&](const auto& p) { return p.first == key; }))
      return bad("the macro " + macro.text + " has no parameter " + key);
  const std::size_t base = std::exchange(m_base, m_scopes.size());
  const int line = m_line;
  ++m_calls;
  m_scopes.emplace_back();
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& [name, otherwise] = macro.parameters[i];
    Value argument = Value::undefined(name);
    if (i < given.placed.size()) argument = std::move(given.placed[i]);
    else if (Value* found = entryOf(given.named, name)) argument = std::move(*found);
    else if (otherwise) argument = KV_TRY(value(*otherwise));
    m_scopes.back()[name] = std::move(argument);
  }
  std::string out;
  KV_TRY(run(macro.body, out));
  m_scopes.pop_back();
  --m_calls;
  m_base = base;
  m_line = line;
  return text(std::move(out));
}

const Value* Interpreter::find(std::string_view name) const {
  for (std::size_t i = m_scopes.size(); i-- > m_base;)
    if (const auto it = m_scopes[i].find(name); it != m_scopes[i].end()) return &it->second;
  const auto it = m_scopes.front().find(name);
  return it == m_scopes.front().end() ? nullptr : &it->second;
}

}  // namespace kvlab::chat
