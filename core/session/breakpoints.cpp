// SPDX-License-Identifier: Apache-2.0
#include "core/session/breakpoints.h"

#include <algorithm>
#include <array>
#include <regex>

namespace kvlab {
namespace {

constexpr std::array kRowSubjects = {"evicted", "replaced", "deleted", "changed", "stale", "read"};
constexpr std::array kLayerSubjects = {"evicted", "wrap"};
constexpr std::array kFlags = {"invariant", "error", "wrap"};
constexpr std::array kNumbers = {"kl", "token", "length", "tick"};

template <std::size_t N>
bool among(const std::array<const char*, N>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Error bad(const std::string& text, const std::string& why) {
  return Error{"bad_condition",
               "the breakpoint was refused",
               why,
               "write for example evicted(ledger==12), invariant, kl > 0.05, length >= 900 or stage(plan)",
               std::nullopt,
               "condition",
               text};
}

bool holds(double left, const Breakpoints::Test& test) {
  if (test.compare.empty()) return true;
  if (test.compare == "==") return left == test.value;
  if (test.compare == "!=") return left != test.value;
  if (test.compare == ">") return left > test.value;
  if (test.compare == ">=") return left >= test.value;
  if (test.compare == "<") return left < test.value;
  return left <= test.value;
}

/// The token of some row that satisfies the comparison was replaced or deleted in this tick.
bool removed(const Breakpoints::Condition& c, const CacheState& before, const CacheState& after) {
  const auto meant = [&c](RowState now) {
    return (now == RowState::Replaced && c.subject != "deleted") ||
        (now == RowState::Deleted && c.subject != "replaced");
  };
  for (LedgerId id : before.context)
    if (holds(id.value(), c.test) && after.ledger.contains(id) && meant(after.ledger[id].state) &&
        before.ledger[id].state != after.ledger[id].state)
      return true;
  return false;
}

/// Some row that satisfies the comparison has become stale.
bool wentStale(const Breakpoints::Condition& c, const Breakpoints::Seen& seen) {
  for (std::size_t id = 0; id < seen.staleAfter.size(); ++id)
    if (seen.staleAfter[id] && (id >= seen.staleBefore.size() || !seen.staleBefore[id]) &&
        holds(static_cast<double>(id), c.test))
      return true;
  return false;
}

/// The tick's newest query gave some row that satisfies the comparison more than an equal share in the last layer.
bool wasRead(const Breakpoints::Condition& c, const CacheState& before, const CacheState& after) {
  if (!after.attention || after.attention == before.attention) return false;
  const CacheLayers layers = after.cacheLayers();
  for (const CacheLayer own : layers.of(layers.last())) {
    if (at(own) >= after.attention->mass.size()) return false;
    const std::vector<float>& mass = after.attention->mass[at(own)];
    const ResidencyView& map = *after.attention->maps[at(own)];
    const float equal = 1 / static_cast<float>(map.resident() + 1);  // the query's own row is read as well
    for (auto i = static_cast<std::size_t>(map.first); i < std::min(map.size(), mass.size()); ++i)
      if (mass[i] > equal && holds(map.ledger[i].value(), c.test)) return true;
  }
  return false;
}

/// Some row that satisfies the comparison left a layer that does.
bool left(const Breakpoints::Condition& c, const TickReport& report) {
  const auto meets = [&](const Evict& one) {
    return holds(one.layer.value(), c.layer) &&
        std::any_of(one.ledger.begin(), one.ledger.end(), [&](LedgerId id) { return holds(id.value(), c.test); });
  };
  const auto evicts = [&](const Action& action) {
    const auto* evict = std::get_if<Evict>(&action);
    return evict && meets(*evict);
  };
  return std::any_of(report.left.begin(), report.left.end(), meets) ||
      (report.ok && std::any_of(report.actions.begin(), report.actions.end(), evicts));
}

/// The pointer of a ring passed slot 0 in a layer that satisfies the comparison.
bool wrapped(const Breakpoints::Condition& c, const CacheState& before, const CacheState& after) {
  for (const CacheLayer layer : after.layers()) {
    const std::optional<RingState>&then = before.group(layer).ring, &now = after.group(layer).ring;
    if (holds(after.cacheLayers().layerOf(layer).value(), c.layer) && then && now && now->wraps > then->wraps)
      return true;
  }
  return false;
}

}  // namespace

Result<Breakpoints::Condition> Breakpoints::parse(const std::string& text) {
  static const std::regex kRow(R"(\s*(\w+)\s*\(\s*ledger\s*(==|!=|>=|<=|>|<)\s*(\d{1,9})\s*\)\s*)");
  static const std::regex kLayer(
      R"(\s*(\w+)\s*\(\s*layer\s*(==|!=|>=|<=|>|<)\s*(\d{1,4})\s*(?:,\s*ledger\s*(==|!=|>=|<=|>|<)\s*(\d{1,9})\s*)?\)\s*)");
  static const std::regex kNumber(R"(\s*(\w+)\s*(==|!=|>=|<=|>|<)\s*(-?\d{1,12}(?:\.\d{1,12})?)\s*)");
  static const std::regex kStage(R"(\s*stage\s*\(\s*(\w+)\s*\)\s*)");
  static const std::regex kFlag(R"(\s*(\w+)\s*)");
  if (text.size() > 200) return bad(text, "the condition is longer than 200 characters");
  std::smatch m;
  if (std::regex_match(text, m, kRow) && among(kRowSubjects, m[1]))
    return Condition{text, m[1], {m[2], std::stod(m[3])}};
  if (std::regex_match(text, m, kLayer) && among(kLayerSubjects, m[1]) && (m[1] == "evicted" || !m[4].matched))
    return Condition{text, m[1], m[4].matched ? Test{m[4], std::stod(m[5])} : Test{}, {m[2], std::stod(m[3])}};
  if (std::regex_match(text, m, kStage) &&
      std::find(std::begin(kStages), std::end(kStages), m[1].str()) != std::end(kStages))
    return Condition{text, "stage", {}, {}, m[1]};
  if (std::regex_match(text, m, kNumber) && among(kNumbers, m[1]))
    return Condition{text, m[1], {m[2], std::stod(m[3])}};
  if (std::regex_match(text, m, kFlag) && among(kFlags, m[1])) return Condition{text, m[1]};
  return bad(text, "the condition is unknown");
}

Status Breakpoints::add(const std::string& text) {
  Result<Condition> condition = parse(text);
  if (!condition) return condition.error();
  m_conditions.push_back(condition.take());
  return ok();
}

bool Breakpoints::needs(const char* subject) const {
  return std::any_of(m_conditions.begin(), m_conditions.end(),
                     [&](const Condition& c) { return c.subject == subject; });
}

std::string Breakpoints::hit(Stage stage) const {
  const auto met = [&](const Condition& c) { return c.subject == "stage" && c.stage == name(stage); };
  const auto found = std::find_if(m_conditions.begin(), m_conditions.end(), met);
  return found == m_conditions.end() ? std::string() : found->text;
}

bool Breakpoints::anyStage() const { return needs("stage"); }

std::string Breakpoints::hit(const TickReport& report, const CacheState& before, const CacheState& after,
                             const Seen& seen) const {
  for (const Condition& c : m_conditions) {
    bool met = false;
    if (c.subject == "stage") continue;
    if (c.subject == "invariant") met = !report.violations.empty();
    else if (c.subject == "error") met = !report.ok;
    else if (c.subject == "wrap") met = wrapped(c, before, after);
    else if (c.subject == "kl") met = holds(seen.kl, c.test);
    else if (c.subject == "token") met = report.token && holds(report.token->value(), c.test);
    else if (c.subject == "length") met = holds(after.length(), c.test);
    else if (c.subject == "tick") met = holds(static_cast<double>(after.tick.value()), c.test);
    else if (c.subject == "stale") met = wentStale(c, seen);
    else if (c.subject == "read") met = wasRead(c, before, after);
    else met = c.subject == "evicted" ? left(c, report) : removed(c, before, after);
    if (met) return c.text;
  }
  return {};
}

}  // namespace kvlab
