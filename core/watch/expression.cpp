// SPDX-License-Identifier: Apache-2.0
#include "core/watch/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace kvlab {
namespace {

// --- from text to a tree whose types fit

struct Operator {
  std::string_view words;
  int rank;  // a higher one binds closer
  Term::Kind kind;
  Compare how = Compare::Equal;
};

/// Longer ones first, where one begins like another.
constexpr std::array<Operator, 15> kOperators = {{{"||", 1, Term::Kind::Or},
                                                  {"or", 1, Term::Kind::Or},
                                                  {"&&", 2, Term::Kind::And},
                                                  {"and", 2, Term::Kind::And},
                                                  {"==", 3, Term::Kind::Compare, Compare::Equal},
                                                  {"!=", 3, Term::Kind::Compare, Compare::NotEqual},
                                                  {">=", 3, Term::Kind::Compare, Compare::GreaterEqual},
                                                  {"<=", 3, Term::Kind::Compare, Compare::LessEqual},
                                                  {">", 3, Term::Kind::Compare, Compare::Greater},
                                                  {"<", 3, Term::Kind::Compare, Compare::Less},
                                                  {"+", 4, Term::Kind::Add},
                                                  {"-", 4, Term::Kind::Subtract},
                                                  {"*", 5, Term::Kind::Multiply},
                                                  {"/", 5, Term::Kind::Divide},
                                                  {"%", 5, Term::Kind::Remainder}}};
constexpr int kCompareRank = 3;

bool isWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string listed(std::span<const CellName> cells) {
  std::string out;
  for (const CellName& one : cells) out.append(one.name).append(", ");
  for (const Fact& one : facts()) out.append(one.name).append(", ");
  return out;
}

const char* words(ValueType type) {
  return type == ValueType::Number ? "a number" : type == ValueType::Flag ? "a condition" : "a text";
}

/// True if it says nothing of a state without the tick that led to it.
bool asksOfTick(const Term& term) {
  return term.kind == Term::Kind::Before || term.kind == Term::Kind::Changed || term.kind == Term::Kind::Cell ||
      (term.fact && term.fact->ofTick) || std::any_of(term.of.begin(), term.of.end(), asksOfTick);
}

/// The error names the character.
Error badExpression(const std::string& text, const std::string& why, std::size_t place) {
  return Error("bad_condition", "the expression was refused",
               why + " (character " + std::to_string(std::min(place, text.size()) + 1) + ")",
               "write for example evicted(ledger==12), rows(layer==3) > 700, kl > 0.05 and length >= 900", "expression",
               text);
}

/// A number that can be a flag becomes one. Error if the term is no condition.
Result<Term> asCondition(Term term, const std::string& text) {
  if (term.kind == Term::Kind::Fact && term.fact->flag) term.type = ValueType::Flag;
  if (term.type == ValueType::Flag) return term;
  return badExpression(text, std::string(words(term.type)) + " stands where a condition is expected: compare it",
                       term.place);
}

class Parser {
 public:
  Parser(const std::string& text, std::span<const CellName> cells) : m_text(text), m_cells(cells) {}

  Result<Term> all() {
    if (m_text.size() > Expression::kLongest)
      return fail("it is longer than " + std::to_string(Expression::kLongest) + " characters", Expression::kLongest);
    Term term = KV_TRY(binary(1));
    skip();
    if (m_at < m_text.size()) return fail("an operator or the end is expected here", m_at);
    return term;
  }

 private:
  Error fail(const std::string& why, std::size_t place) const { return badExpression(m_text, why, place); }

  void skip() {
    while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\t' || m_text[m_at] == '\n')) ++m_at;
  }
  bool take(std::string_view mark) {
    skip();
    if (m_text.compare(m_at, mark.size(), mark) != 0) return false;
    const std::size_t end = m_at + mark.size();
    if (isWord(mark.front()) && end < m_text.size() && isWord(m_text[end])) return false;  // a longer word
    m_at = end;
    return true;
  }
  const Operator* takeOperator(int rank) {
    for (const Operator& one : kOperators)
      if (one.rank >= rank && take(one.words)) return &one;
    return nullptr;
  }

  /// Operators of this rank and above.
  Result<Term> binary(int rank) {
    if (++m_depth > Expression::kDeepest) return fail("it is nested too deeply", m_at);
    Term left = KV_TRY(unary());
    for (;;) {
      const std::size_t place = (skip(), m_at);
      const Operator* found = takeOperator(rank);
      if (!found) break;
      Term right = KV_TRY(binary(found->rank + 1));
      left = KV_TRY(joined(*found, std::move(left), std::move(right), place));
    }
    --m_depth;
    return left;
  }

  Result<Term> joined(const Operator& found, Term left, Term right, std::size_t place) {
    const std::string name(found.words);
    if (found.rank < kCompareRank) {
      left = KV_TRY(asCondition(std::move(left), m_text));
      right = KV_TRY(asCondition(std::move(right), m_text));
    } else if (found.kind == Term::Kind::Compare) {
      if (left.kind == Term::Kind::Compare) return fail("a comparison cannot be compared: join two with and", place);
      if (left.type != right.type)
        return fail(name + " compares " + words(left.type) + " with " + words(right.type), place);
      const bool ordered = found.how != Compare::Equal && found.how != Compare::NotEqual;
      if (ordered && left.type != ValueType::Number)
        return fail(name + " compares numbers, not " + std::string(words(left.type)), place);
    } else if (left.type != ValueType::Number || right.type != ValueType::Number) {
      return fail(name + " takes numbers", place);
    }
    Term out{found.kind, found.rank > kCompareRank ? ValueType::Number : ValueType::Flag};
    out.how = found.how;
    out.place = left.place;
    out.of.push_back(std::move(left));
    out.of.push_back(std::move(right));
    return out;
  }

  Result<Term> unary() {
    skip();
    const std::size_t place = m_at;
    const bool negates = m_text.compare(m_at, 2, "!=") != 0 && (take("not") || take("!"));
    if (!negates && !take("-")) return primary();
    if (++m_depth > Expression::kDeepest) return fail("it is nested too deeply", place);
    Term inner = KV_TRY(negates ? binary(kCompareRank) : unary());
    --m_depth;
    if (negates) inner = KV_TRY(asCondition(std::move(inner), m_text));
    else if (inner.type != ValueType::Number) return fail("- takes a number", place);
    Term out{negates ? Term::Kind::Not : Term::Kind::Negate, negates ? ValueType::Flag : ValueType::Number};
    out.place = place;
    out.of.push_back(std::move(inner));
    return out;
  }

  Result<Term> primary() {
    skip();
    const std::size_t place = m_at;
    if (take("(")) {
      Term inner = KV_TRY(binary(1));
      if (!take(")")) return fail(") is expected here", m_at);
      return inner;
    }
    if (m_at >= m_text.size()) return fail("it ends where a fact, a number or a text is expected", place);
    if (isDigit(m_text[m_at])) return numberTerm();
    if (m_text[m_at] == '\'' || m_text[m_at] == '"') return textTerm();
    if (!isWord(m_text[m_at])) return fail("a fact, a number or a text is expected here", place);
    return named();
  }

  Result<double> number() {
    skip();
    double value = 0;
    const char* begin = m_text.data() + m_at;
    const auto read = std::from_chars(begin, m_text.data() + m_text.size(), value);
    if (read.ec != std::errc() || !std::isfinite(value)) return fail("a number is expected here", m_at);
    m_at += static_cast<std::size_t>(read.ptr - begin);
    return value;
  }

  Result<Term> numberTerm() {
    Term out;
    out.place = m_at;
    out.number = KV_TRY(number());
    return out;
  }

  Result<Term> textTerm() {
    Term out{Term::Kind::Text, ValueType::Text};
    out.place = m_at;
    const std::size_t end = m_text.find(m_text[m_at], m_at + 1);
    if (end == std::string::npos) return fail("the text has no end", m_at);
    out.text = m_text.substr(m_at + 1, end - m_at - 1);
    m_at = end + 1;
    return out;
  }

  std::string word() {
    skip();
    const std::size_t begin = m_at;
    while (m_at < m_text.size() && isWord(m_text[m_at])) ++m_at;
    return m_text.substr(begin, m_at - begin);
  }

  /// A cell, a fact, before(x) or changed(x). changed(ledger==3) is the fact, not a comparison.
  Result<Term> named() {
    const std::size_t place = m_at;
    const std::string name = word();
    const bool opens = take("(");
    const auto cell = std::ranges::find(m_cells, name, &CellName::name);
    if (cell != m_cells.end() && !opens) {
      Term out{Term::Kind::Cell, cell->type};
      out.place = place;
      out.column = cell->column;
      return out;
    }
    if (opens && (name == "before" || (name == "changed" && !key()))) return earlier(name, place);
    Term out{Term::Kind::Fact};
    out.place = place;
    out.fact = findFact(name);
    if (!out.fact)
      return fail("there is no fact \"" + name + "\"; there are " + listed(m_cells) + "before(..) and changed(..)",
                  place);
    out.type = out.fact->type();
    if (opens) out.where = KV_TRY(where(*out.fact));
    return out;
  }

  Result<Term> earlier(const std::string& name, std::size_t place) {
    Term inner = KV_TRY(binary(1));
    if (!take(")")) return fail(") is expected here", m_at);
    if (asksOfTick(inner)) return fail(name + "(..) takes facts of a state, not of a tick", place);
    const bool changed = name == "changed";
    Term out{changed ? Term::Kind::Changed : Term::Kind::Before, changed ? ValueType::Flag : inner.type};
    out.place = place;
    out.of.push_back(std::move(inner));
    return out;
  }

  /// The key that a comparison in brackets begins with, without taking it.
  std::optional<Key> key() {
    skip();
    for (std::size_t i = 0; i < kKeyNames.size(); ++i) {
      const std::size_t kept = m_at;
      const bool found = take(kKeyNames[i]);
      m_at = kept;
      if (found) return static_cast<Key>(i);
    }
    return std::nullopt;
  }

  Result<Where> where(const Fact& fact) {
    Where out;
    if (fact.need == Need::Stage) return stage();
    do {
      const std::optional<Key> found = key();
      if (!found || !fact.takes(*found))
        return fail(*fact.keys ? std::string(fact.name) + " takes comparisons of " + fact.keys
                               : std::string(fact.name) + " takes no brackets",
                    m_at);
      word();
      const std::size_t place = (skip(), m_at);
      const Operator* how = takeOperator(kCompareRank);
      if (!how || how->rank != kCompareRank) return fail("==, !=, >, >=, < or <= is expected here", place);
      const double limit = KV_TRY(number());
      out.add({*found, how->how, limit});
    } while (take(","));
    if (!take(")")) return fail(", or ) is expected here", m_at);
    return out;
  }

  Result<Where> stage() {
    Where out;
    const std::size_t place = (skip(), m_at);
    const std::string name = word();
    const auto found = std::find(std::begin(kStages), std::end(kStages), name);
    if (found == std::end(kStages)) return fail("a tick has no stage \"" + name + "\"", place);
    out.add({Key::ByStage, Compare::Equal, static_cast<double>(found - std::begin(kStages))});
    if (!take(")")) return fail(") is expected here", m_at);
    return out;
  }

  const std::string& m_text;
  const std::span<const CellName> m_cells;
  std::size_t m_at = 0;
  int m_depth = 0;
};

// --- from a tree to values

double numberOf(const Term& term, const Sight& at);
std::string textOf(const Term& term, const Sight& at);
bool flagOf(const Term& term, const Sight& at);

/// The moment before, as if it were now.
Sight earlier(const Sight& at) { return {{}, at.before, nullptr, {}}; }

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool differs(const Term& term, const Sight& at) {
  if (!at.before.state) return false;
  const Sight then = earlier(at);
  if (term.type == ValueType::Number) return !same(numberOf(term, then), numberOf(term, at));
  if (term.type == ValueType::Text) return textOf(term, then) != textOf(term, at);
  return flagOf(term, then) != flagOf(term, at);
}

/// A number that is not finite is unknown, and so is every value that is computed from it.
double knownOnly(double value) { return std::isfinite(value) ? value : std::nan(""); }

double numberOf(const Term& term, const Sight& at) {
  const auto of = [&](std::size_t i) { return numberOf(term.of[i], at); };
  switch (term.kind) {
    case Term::Kind::Number: return term.number;
    case Term::Kind::Cell: return at.cells[term.column].number().value_or(std::nan(""));
    case Term::Kind::Fact: return knownOnly(term.fact->number(at, term.where));
    case Term::Kind::Before: return at.before.state ? numberOf(term.of[0], earlier(at)) : std::nan("");
    case Term::Kind::Negate: return -of(0);
    case Term::Kind::Add: return knownOnly(of(0) + of(1));
    case Term::Kind::Subtract: return knownOnly(of(0) - of(1));
    case Term::Kind::Multiply: return knownOnly(of(0) * of(1));
    case Term::Kind::Divide: return knownOnly(of(0) / of(1));
    case Term::Kind::Remainder: return knownOnly(std::fmod(of(0), of(1)));
    default: return std::nan("");
  }
}

std::string textOf(const Term& term, const Sight& at) {
  if (term.kind == Term::Kind::Text) return term.text;
  if (term.kind == Term::Kind::Cell) return std::string(at.cells[term.column].text().value_or(std::string_view()));
  if (term.kind == Term::Kind::Before) return at.before.state ? textOf(term.of[0], earlier(at)) : std::string();
  return term.fact->text(at, term.where);
}

bool compared(const Term& term, const Sight& at) {
  if (term.of[0].type == ValueType::Number)
    return compares(numberOf(term.of[0], at), term.how, numberOf(term.of[1], at));
  const bool equal = term.of[0].type == ValueType::Text ? textOf(term.of[0], at) == textOf(term.of[1], at)
                                                        : flagOf(term.of[0], at) == flagOf(term.of[1], at);
  return equal == (term.how == Compare::Equal);
}

bool flagOf(const Term& term, const Sight& at) {
  switch (term.kind) {
    case Term::Kind::Fact: return term.fact->flag(at, term.where);
    case Term::Kind::Cell: return at.cells[term.column].flag().value_or(false);
    case Term::Kind::Before: return at.before.state && flagOf(term.of[0], earlier(at));
    case Term::Kind::Changed: return differs(term.of[0], at);
    case Term::Kind::Not: return !flagOf(term.of[0], at);
    case Term::Kind::And: return flagOf(term.of[0], at) && flagOf(term.of[1], at);
    case Term::Kind::Or: return flagOf(term.of[0], at) || flagOf(term.of[1], at);
    case Term::Kind::Compare: return compared(term, at);
    default: return false;
  }
}

/// The last layer's attention is there in any case.
bool needed(const Term& term, Need need) {
  const bool earlier = term.kind == Term::Kind::Before || term.kind == Term::Kind::Changed;
  if (earlier)
    for (const Need now : {Need::Kl, Need::Errors})
      if (need == before(now)) need = now;
  const auto meant = [&](const Fact& fact) {
    if (need == Need::Slots && term.where.names(Key::BySlot)) return true;
    return fact.need == need && (need != Need::Attention || term.where.names(Key::ByLayer));
  };
  return (term.fact && meant(*term.fact)) ||
      std::any_of(term.of.begin(), term.of.end(), [&](const Term& one) { return needed(one, need); });
}

template <class Is>
bool anyOf(const Term& term, const Is& is) {
  return is(term) || std::any_of(term.of.begin(), term.of.end(), [&](const Term& one) { return anyOf(one, is); });
}

/// True if some whole number from 0 to below the end meets all comparisons of a key.
bool possible(const Where& where, Key key, std::int64_t end) {
  std::vector<double> tried{0, static_cast<double>(end - 1)};
  for (const Where::Test& test : where.tests())
    if (test.key == key)
      for (const double by : {-1.0, 0.0, 1.0}) tried.push_back(std::floor(test.value) + by);
  return std::any_of(tried.begin(), tried.end(), [&](double value) {
    return value >= 0 && value < static_cast<double>(end) && where.meets(key, value);
  });
}

Status fit(const Term& term, const std::string& text, std::int32_t layers, std::int64_t slots) {
  if (!possible(term.where, Key::ByLayer, layers))
    return badExpression(text, "no layer is meant: layers are 0 to " + std::to_string(layers - 1), term.place);
  if (!possible(term.where, Key::BySlot, slots))
    return badExpression(text, "no slot is meant: slots are 0 to " + std::to_string(slots - 1), term.place);
  if (!possible(term.where, Key::ByLedger, std::numeric_limits<std::int32_t>::max()))
    return badExpression(text, "no row is meant: ledger ids are whole numbers from 0 on", term.place);
  for (const Term& one : term.of) KV_TRY(fit(one, text, layers, slots));
  return ok();
}

void narrow(Term& term, Key key, std::int32_t value) {
  if (term.fact && term.fact->takes(key) && !term.where.names(key))
    term.where.add({key, Compare::Equal, static_cast<double>(value)});
  for (Term& one : term.of) narrow(one, key, value);
}

}  // namespace

Expression Expression::about(LedgerId row, std::optional<Layer> layer) const {
  Expression out = *this;
  narrow(out.m_root, Key::ByLedger, row.value());
  if (layer) narrow(out.m_root, Key::ByLayer, layer->value());
  return out;
}

bool Expression::asksFacts() const {
  return anyOf(m_root, [](const Term& term) { return term.fact != nullptr; });
}

bool Expression::asksCell(std::size_t column) const {
  return anyOf(m_root, [&](const Term& term) { return term.kind == Term::Kind::Cell && term.column == column; });
}

Result<Expression> Expression::parse(const std::string& text, std::span<const CellName> cells) {
  Term root = KV_TRY(Parser(text, cells).all());
  return Expression(text, std::move(root));
}

Result<Expression> Expression::condition(const std::string& text, std::span<const CellName> cells) {
  Term root = KV_TRY(Parser(text, cells).all());
  root = KV_TRY(asCondition(std::move(root), text));
  return Expression(text, std::move(root));
}

WatchValue Expression::value(const Sight& at) const {
  if (type() == ValueType::Number) return numberOf(m_root, at);
  if (type() == ValueType::Text) return textOf(m_root, at);
  return flagOf(m_root, at);
}

bool Expression::holds(const Sight& at) const { return flagOf(m_root, at); }

bool Expression::needs(Need need) const { return needed(m_root, need); }

bool Expression::ofTick() const { return asksOfTick(m_root); }

Status Expression::fits(std::int32_t layers, std::int64_t slots) const {
  if (!anyOf(m_root, [](const Term& term) { return term.fact || term.kind == Term::Kind::Cell; }))
    return badExpression(m_text, "it asks for no fact, so it never changes", m_root.place);
  return fit(m_root, m_text, layers, slots);
}

}  // namespace kvlab
