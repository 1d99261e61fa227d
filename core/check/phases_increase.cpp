// SPDX-License-Identifier: Apache-2.0
// Phases strictly increase along the context and along every map, and the rotary table has room for the next
// phase. Position mode `context` reads a row at its position, `absolute` at its own phase, `cache` at its index
// in the layer; phases of a kind that derives its context are its own. semantics.md, section 2.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/state/map_runs.h"

namespace kvlab {
namespace {

std::string text(double phase) {
  return phase == std::floor(phase) && std::abs(phase) < 1e15 ? std::to_string(static_cast<std::int64_t>(phase))
                                                              : std::to_string(phase);
}

/// Phase of index i of a map; NaN if the rotary table has no such entry.
double phaseOf(const ResidencyView& map, std::size_t i) {
  const std::int32_t index = map.phases[i];
  if (index >= 0) return index;
  const auto other = static_cast<std::size_t>(-1 - static_cast<std::int64_t>(index));
  if (!map.otherPhases || other >= map.otherPhases->size()) return std::numeric_limits<double>::quiet_NaN();
  return (*map.otherPhases)[other].value();
}

void checkContext(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  const bool ordinal = input.manifest.position != PositionMode::Absolute && !state.kind->derivesContext();
  const std::span<const std::int32_t> phases = state.phases.span();
  const std::size_t known = input.passed ? state.phases.alike(input.passed->phases) : 0;
  std::int64_t last = known > 0 ? phases[known - 1] : -1;
  for (std::size_t i = known; i < phases.size(); ++i) {
    const std::int64_t phase = phases[i];
    if (ordinal ? phase == static_cast<std::int64_t>(i) : phase > last) {
      last = phase;
      continue;
    }
    const Place place = placeIn({}, i, state.context);
    const auto where = [&] { return "position " + std::to_string(i) + ": phase " + std::to_string(phase); };
    if (ordinal && phase != static_cast<std::int64_t>(i)) findings.add(place, where() + " is not the position");
    else if (phase <= last) findings.add(place, where() + " is not above " + std::to_string(last) + " before it");
    last = phase;
  }
  if (last >= std::numeric_limits<std::int32_t>::max())
    findings.add({}, "no phase is left above " + std::to_string(last));
}

/// Mode absolute: a row that stays keeps its phase, the first of the rows that replace another takes that row's, and
/// others follow in steps of 1. semantics.md, section 2.
void checkAbsolute(const CheckInput& input, Findings& findings) {
  const CacheState &is = input.state, &was = *input.before;
  std::vector<std::int32_t> old;  // [ledger] phases before; -1 = the row has come
  for (std::size_t p = is.context.alike(was.context); p < is.context.size(); ++p) {
    if (old.empty()) {
      old.assign(is.ledger.size(), -1);
      for (std::size_t q = 0; q < was.context.size(); ++q) old[at(was.context[q].value())] = was.phases[q];
    }
    const LedgerId id = is.context[p];
    const std::int32_t lowest = p ? is.phases[p - 1] + 1 : 0, phase = is.phases[p], then = old[at(id.value())];
    const std::vector<LedgerId>& parents = is.ledger[id].parents;
    const bool leads = then < 0 && !parents.empty() && is.ledger[parents.front()].children.front() == id;
    const std::int32_t asked = then >= 0 ? then : leads ? std::max(lowest, old[at(parents.front().value())]) : lowest;
    if (phase == asked || (input.manifest.shiftOnOverflow && then >= 0 && phase > then)) continue;
    return findings.add({{}, p, id},
                        "position " + std::to_string(p) + ": phase " + std::to_string(phase) + " should be " +
                            std::to_string(asked) + " behind the edit");
  }
}

/// The phase that the position mode requires for index i of a map, whose row is at `position` of the context.
double wanted(const CheckInput& input, std::size_t i, std::size_t position) {
  if (input.manifest.position == PositionMode::Cache) return static_cast<double>(i);
  return position < input.state.phases.size() ? input.state.phases[position] : std::numeric_limits<double>::quiet_NaN();
}

/// True if the rows of a map have the phases that their tokens have in the context.
bool asInContext(const CheckInput& input, const SharedMap& shared) {
  const CacheState& state = input.state;
  const ResidencyView& map = *shared.map;
  const std::size_t length = std::min(state.context.size(), state.phases.size()), rows = shared.rows();
  const std::size_t known = map.otherPhases ? 0 : knownInFront(input, shared);
  const std::size_t from = known > 0 ? input.passed->context.size() : 0;
  std::size_t same = known;
  forCommonRuns(state.context.span().subspan(from, length - from), map.ledger.span().subspan(known, rows - known),
                [&](std::size_t position, std::size_t i, std::size_t count) {
                  same += alikeInFront(state.phases.span().subspan(from + position, count),
                                       map.phases.span().subspan(known + i, count));
                });
  return same == rows;
}

void checkMap(const CheckInput& input, const SharedMap& shared, Findings& findings) {
  const ResidencyView& map = *shared.map;
  if (map.phases.sharesWith(input.state.phases)) return;  // shares the context's column, which was checked
  const bool own = input.manifest.position == PositionMode::Cache || input.state.kind->derivesContext();
  if (!own && findings.count() == 0 && asInContext(input, shared)) return;
  const Column<LedgerId>& context = input.state.context;
  double last = -std::numeric_limits<double>::infinity();
  std::size_t position = 0;
  for (std::size_t i = 0; i < shared.rows(); ++i, ++position) {
    while (position < context.size() && context[position] != map.ledger[i]) ++position;
    const double phase = phaseOf(map, i);
    const double want = wanted(input, i, position);
    const auto where = [&] { return shared.name() + ", index " + std::to_string(i) + ": phase " + text(phase); };
    const Place place{shared.first(), i, map.ledger[i]};
    if (!(phase > last)) findings.add(place, where() + " is not above " + text(last) + " before it");
    else if (!std::isnan(want) && map.phases[i] >= 0 && phase != want)
      findings.add(place, where() + " should be " + text(want) + " in this position mode");
    last = phase;
  }
}

}  // namespace

void checkPhasesIncrease(const CheckInput& input, Findings& findings) {
  checkContext(input, findings);
  const bool whole = input.state.phases.size() == input.state.context.size() && input.before &&
      input.before->phases.size() == input.before->context.size();
  const bool computed = !input.deeds.empty();  // rows that are loaded or rebuilt have phases of their own
  if (input.manifest.position == PositionMode::Absolute && whole && computed && !input.state.kind->derivesContext() &&
      edited(input))
    checkAbsolute(input, findings);
  for (const SharedMap& shared : sharedMaps(input)) checkMap(input, shared, findings);
}

}  // namespace kvlab
