// SPDX-License-Identifier: Apache-2.0
#include "core/watch/expression.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {

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
    case Term::Kind::Cell:
      return at.cells[term.column].is_number() ? at.cells[term.column].get<double>() : std::nan("");
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
  if (term.kind == Term::Kind::Cell)
    return at.cells[term.column].is_string() ? at.cells[term.column].get<std::string>() : std::string();
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
    case Term::Kind::Cell: return at.cells[term.column].is_boolean() && at.cells[term.column].get<bool>();
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
  if (earlier && need == Need::KlBefore) need = Need::Kl;
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
  Term root = KV_TRY(parseTerm(text, cells));
  return Expression(text, std::move(root));
}

Result<Expression> Expression::condition(const std::string& text, std::span<const CellName> cells) {
  Term root = KV_TRY(parseTerm(text, cells));
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
