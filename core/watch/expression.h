// SPDX-License-Identifier: Apache-2.0
// One small language for breakpoints and watches: numbers, texts, comparison, arithmetic, and, or, not, the facts of
// facts.h, before(x) and changed(x). Every expression has a type and a value at every moment: nothing loops, nothing
// fails, nothing is changed. "length >= 900 and not evicted(layer==3)", "changed(rows(layer==0))",
// "read(ledger==12) > 0.2", "exactness(ledger==12) != 'exact'". Pure; engine thread.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "core/api/error.h"
#include "core/watch/facts.h"

namespace kvlab {

using WatchValue = std::variant<double, bool, std::string>;

/// A name that stands for a cell of the table whose rows are asked (Sight::cells).
struct CellName {
  std::string_view name;
  ValueType type = ValueType::Number;
  std::size_t column = 0;
};

/// A node of the tree that an expression is.
struct Term {
  enum class Kind : std::uint8_t {
    Number,
    Text,
    Fact,
    Cell,
    Before,
    Changed,
    Not,
    Negate,
    And,
    Or,
    Compare,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder
  };
  Kind kind = Kind::Number;
  ValueType type = ValueType::Number;
  double number = 0;
  std::string text = {};
  const Fact* fact = nullptr;
  std::size_t column = 0;  // column of a cell
  Where where = {};
  Compare how = Compare::Equal;
  std::size_t place = 0;  // place of its first character
  std::vector<Term> of = {};
};

class Expression {
 public:
  static constexpr std::size_t kLongest = 400;
  static constexpr int kDeepest = 32;

  /// Error bad_condition: why, at which character, and what could stand there. A name of a cell goes before a fact of
  /// the same name, which brackets bring back: brightness and brightness(ledger==3).
  static Result<Expression> parse(const std::string& text, std::span<const CellName> cells = {});
  /// The same; it must be a condition, that is, a flag.
  static Result<Expression> condition(const std::string& text, std::span<const CellName> cells = {});

  const std::string& text() const { return m_text; }
  const Term& root() const { return m_root; }
  ValueType type() const { return m_root.type; }
  /// The same expression about one row: every fact of rows that names no row means this one, and every fact of layers
  /// that names none of the layer of the model, if one is given.
  Expression about(LedgerId row, std::optional<Layer> layer = {}) const;
  /// True if it asks a fact; else cells alone decide.
  bool asksFacts() const;
  bool asksCell(std::size_t column) const;
  WatchValue value(const Sight& at) const;
  /// Value of a condition.
  bool holds(const Sight& at) const;
  bool needs(Need need) const;
  /// True if it says nothing of a state without the tick that led to it.
  bool ofTick() const;
  /// Error bad_condition if it names a layer or a slot that a session of so many layers and slots has not, or no fact
  /// at all: it would never change.
  Status fits(std::int32_t layers, std::int64_t slots) const;

 private:
  Expression(std::string text, Term root) : m_text(std::move(text)), m_root(std::move(root)) {}

  std::string m_text;
  Term m_root;
};

}  // namespace kvlab
