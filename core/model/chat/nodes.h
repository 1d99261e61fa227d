// SPDX-License-Identifier: Apache-2.0
// The tree of a chat template. Immutable once parsed; any thread.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/api/error.h"
#include "core/model/chat/value.h"

namespace kvlab::chat {

enum class Form : std::uint8_t {
  Literal,    // value
  Name,       // name
  Attribute,  // parts[0].name
  Item,       // parts[0][parts[1]]
  Slice,      // parts[0][parts[1]:parts[2]:parts[3]], each may be null
  Call,       // parts[0](the rest, named)
  Filter,     // parts[0] | name(the rest, named)
  Test,       // parts[0] is name(the rest)
  Sequence,   // list or tuple (name "tuple") of parts
  Mapping,    // keys and values in turn
  Unary,      // name: not - +
  Binary,     // name: and or + - * / // % ** ~ and the comparisons
  Chain,      // a < b < c: parts and operators in named
  Choice,     // parts[0] if parts[1] else parts[2], which may be null
};

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct Expression {
  Form form = Form::Literal;
  int line = 1, depth = 1;
  std::string name;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

enum class Step : std::uint8_t { Data, Output, If, For, Set, SetBlock, Macro, Generation, Break, Continue };

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  Step step = Step::Data;
  int line = 1;
  std::string text;                                               // text of Data; name of a macro; attribute of Set
  std::vector<std::string> targets;                               // names that For and Set give values to
  ExpressionPtr value, condition;                                 // expression of Output, For, Set; filter of For
  std::vector<std::pair<ExpressionPtr, Body>> branches;           // branches of If
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;  // parameters of Macro, each with its default or null
  Body body, otherwise;
};

/// Errors: bad_template.
Result<Body> parse(std::string_view source);

/// Counts calls inside each other.
struct Nesting {
  explicit Nesting(int& count) : m_count(++count) {}
  ~Nesting() { --m_count; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& m_count;
};

}  // namespace kvlab::chat
