// SPDX-License-Identifier: Apache-2.0
// The policy whose rule is an expression of the language of breakpoints (core/watch/expression.h) over the figures of a
// row: score:by=received/age,ratio=0.5. A flag counts 1 or 0. semantics.md, section 6, lists the figures.
#include "core/policy/expression_policy.h"

#include <cmath>
#include <limits>
#include <optional>

#include "core/watch/expression.h"

namespace kvlab {
namespace {

/// A figure of every row of a layer by its name.
struct Figure {
  CellName cell;
  unsigned needs = kNoStatistic;
  float (*of)(const LayerRows& rows, std::size_t list, std::size_t row) = nullptr;
  bool ofHead = false;  // differs by KV head
};

float sizeOf(std::span<const float> values, const LayerRows& rows, std::size_t list, std::size_t row) {
  const std::size_t dim = at(rows.headDim);
  const float* const one = values.data() + (row * at(rows.kvHeads) + list) * dim;
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += double(one[i]) * one[i];
  return static_cast<float>(std::sqrt(sum));
}

template <std::span<const float> LayerRows::*List>
float byHead(const LayerRows& rows, std::size_t list, std::size_t row) {
  return (rows.*List)[list * rows.rows() + row];
}
template <std::span<const float> LayerRows::*List>
float byRow(const LayerRows& rows, std::size_t, std::size_t row) {
  return (rows.*List)[row];
}

constexpr auto kNumber = ValueType::Number;
constexpr Figure kFigures[] = {
    {{"received", kNumber}, kReceived, byHead<&LayerRows::received>, true},
    {{"observed", kNumber}, kObserved, byHead<&LayerRows::observed>, true},
    {{"newest", kNumber}, kNewest, byRow<&LayerRows::newest>},
    {{"brightness", kNumber}, kBrightness, byRow<&LayerRows::brightness>},
    {{"gate", kNumber}, kGates, byHead<&LayerRows::gates>, true},
    {{"key_norm", kNumber},
     kKeys,
     [](auto& rows, auto list, auto row) { return sizeOf(rows.keys, rows, list, row); },
     true},
    {{"value_norm", kNumber},
     kValues,
     [](auto& rows, auto list, auto row) { return sizeOf(rows.values, rows, list, row); },
     true},
    {{"position", kNumber}, kNoStatistic, [](auto&, auto, auto row) { return static_cast<float>(row); }},
    {{"age", kNumber}, kNoStatistic, [](auto& rows, auto, auto row) { return static_cast<float>(rows.rows() - row); }},
    {{"rows", kNumber}, kNoStatistic, [](auto& rows, auto, auto) { return static_cast<float>(rows.rows()); }},
    {{"layer", kNumber}, kNoStatistic, [](auto& rows, auto, auto) { return static_cast<float>(rows.layer.value()); }},
    {{"head", kNumber}, kNoStatistic, [](auto&, auto list, auto) { return static_cast<float>(list); }, true}};

std::vector<CellName> cellNames() {
  std::vector<CellName> out;
  for (const Figure& one : kFigures) {
    out.push_back(one.cell);
    out.back().column = out.size() - 1;
  }
  return out;
}

/// Read once as long as a thread asks for the same text.
const Result<Expression>& parsed(const std::string& text) {
  static const std::vector<CellName> kCells = cellNames();
  thread_local std::optional<std::pair<std::string, Result<Expression>>> last;
  if (!last || last->first != text) last.emplace(text, Expression::parse(text, kCells));
  return last->second;
}

/// The value of a term for one row; a flag is 1 or 0.
double valueOf(const Term& term, const LayerRows& rows, std::size_t list, std::size_t row) {
  const auto part = [&](std::size_t i) { return valueOf(term.of[i], rows, list, row); };
  switch (term.kind) {
    case Term::Kind::Number: return term.number;
    case Term::Kind::Cell: return double(kFigures[term.column].of(rows, list, row));
    case Term::Kind::Not: return part(0) == 0;
    case Term::Kind::Negate: return -part(0);
    case Term::Kind::And: return part(0) != 0 && part(1) != 0;
    case Term::Kind::Or: return part(0) != 0 || part(1) != 0;
    case Term::Kind::Compare: return compares(part(0), term.how, part(1));
    case Term::Kind::Add: return part(0) + part(1);
    case Term::Kind::Subtract: return part(0) - part(1);
    case Term::Kind::Multiply: return part(0) * part(1);
    case Term::Kind::Divide: return part(0) / part(1);
    case Term::Kind::Remainder: return std::fmod(part(0), part(1));
    default: return std::numeric_limits<double>::quiet_NaN();  // expressionFault() refuses them
  }
}

bool ofFigures(const Term& term) {
  const bool other = term.kind == Term::Kind::Text || term.kind == Term::Kind::Fact ||
      term.kind == Term::Kind::Before || term.kind == Term::Kind::Changed;
  return !other && std::all_of(term.of.begin(), term.of.end(), ofFigures);
}

template <class Is>
bool anyFigure(const Expression& rule, const Is& is) {
  for (std::size_t i = 0; i < std::size(kFigures); ++i)
    if (is(kFigures[i]) && rule.asksCell(i)) return true;
  return false;
}

Error badScore(const std::string& text, const std::string& why) {
  std::string names;
  for (const Figure& one : kFigures) names.append(names.empty() ? "" : ", ").append(one.cell.name);
  return Error("bad_manifest", "the policy was refused", why, "write an expression over " + names, "by", text);
}

Result<std::vector<float>> expressionScores(const PolicySpec& spec, const LayerRows& rows) {
  const Result<Expression>& rule = parsed(spec.by);
  if (!rule) return rule.error();
  const bool byHeads = anyFigure(*rule, [](const Figure& one) { return one.ofHead; });
  std::vector<float> out;
  for (std::size_t list = 0; list < (byHeads ? at(rows.kvHeads) : 1); ++list)
    for (std::size_t row = 0; row < rows.rows(); ++row)
      out.push_back(static_cast<float>(valueOf(rule->root(), rows, list, row)));
  return out;
}

}  // namespace

Status expressionFault(const std::string& text) {
  const Result<Expression>& rule = parsed(text);
  if (!rule) return badScore(text, rule.error().why);
  if (!ofFigures(rule->root())) return badScore(text, "it asks for a text, a fact of the session, or the state before");
  return ok();
}

unsigned expressionNeeds(const std::string& text) {
  unsigned out = kNoStatistic;
  const Result<Expression>& rule = parsed(text);
  for (std::size_t i = 0; rule && i < std::size(kFigures); ++i)
    if (rule->asksCell(i)) out |= kFigures[i].needs;
  return out;
}

Policy makeScore() { return {kNoStatistic, expressionScores}; }

}  // namespace kvlab
