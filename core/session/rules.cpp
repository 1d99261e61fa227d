// SPDX-License-Identifier: Apache-2.0
#include "core/session/rules.h"

#include <algorithm>

#include "core/edit/key_shift.h"
#include "core/edit/splice.h"
#include "core/parts/cache_kind.h"
#include "core/parts/storage_plan.h"
#include "core/session/storage.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr const char* kRulesKept = "the rules were not changed";

void copyRules(const Manifest& from, Manifest& to) {
  to.afterEdit = from.afterEdit;
  to.selectiveRatio = from.selectiveRatio;
  to.executor = from.executor;
  to.sampling = from.sampling;
  to.ring.blockTokens = from.ring.blockTokens;
  to.position = from.position;
  to.check = from.check;
  to.scrubPeriod = from.scrubPeriod;
  const double max = to.brightness.max;  // tokens may be brighter than another one
  to.brightness = from.brightness;
  to.brightness.max = max;
}

Error forRules(Error error) {
  error.what = kRulesKept;
  return error;
}

/// {key, value} of the first difference, with the key's path; {} where there is none.
json keptOf(const json& reached, const json& asked, const std::string& path = {}) {
  for (const auto& [key, value] : asked.items()) {
    if (value == reached[key]) continue;
    const std::string here = path.empty() ? key : path + "." + key;
    const bool inner = value.is_object() && reached[key].is_object();
    return inner ? keptOf(reached[key], value, here) : json{{"key", here}, {"value", value}};
  }
  return json::object();
}

/// The manifest's own readers check names, types and bounds.
Result<Manifest> changedBy(const Manifest& now, const json& rules) {
  json all = now.toJson();
  for (const auto& [key, value] : rules.items()) {
    const bool inner = value.is_object() && all.contains(key) && all[key].is_object() && key != "after_edit";
    if (inner) all[key].update(value);
    else all[key] = value;
  }
  const Result<Manifest> read = Manifest::fromJson(all);
  if (!read) return forRules(read.error());
  Manifest out = now;
  copyRules(*read, out);
  const json kept = keptOf(out.toJson(), read->toJson());
  if (kept.empty()) return out;
  const std::string key = kept["key"];
  return forRules(
      badKey(key.c_str(), kept["value"], "a living session keeps its " + key, "open a session with another " + key));
}

std::unique_ptr<Sampler> samplerFor(const Manifest& manifest) { return std::make_unique<Sampler>(manifest.sampling); }

/// The rotary table reaches four times as far in mode absolute, where deletions leave gaps.
std::int32_t phasesIn(PositionMode mode, const SessionParts& parts) {
  const bool absolute = parts.manifest.position == PositionMode::Absolute;
  if (absolute == (mode == PositionMode::Absolute)) return parts.maxPhases;
  return absolute ? parts.maxPhases / 4 + 1 : 4 * (parts.maxPhases - 1);
}

/// [rows] phases of a map. In mode cache a row's index, else what the context says.
Column<std::int32_t> phasesOf(CacheState& state, const ResidencyView& map, PositionMode mode) {
  if (mode == PositionMode::Cache) return ramp(state.ramp, map.size());
  if (state.whole(map)) return state.phases;
  std::vector<std::int32_t> out;
  for (std::size_t position = 0; position < state.context.size() && out.size() < map.size(); ++position)
    if (state.context[position] == map.ledger[out.size()]) out.push_back(state.phases[position]);
  return Column<std::int32_t>(out);
}

/// Reads every row where the position mode wants it. In mode absolute rows keep the phases that the context has now.
CacheState rephased(CacheState state, PositionMode mode) {
  if (mode != PositionMode::Absolute) state.phases = ramp(state.ramp, state.context.size());
  for (LayerGroup& group : state.groups) {
    auto map = std::make_shared<ResidencyView>(*group.map);
    map->phases = phasesOf(state, *group.map, mode);
    if (std::equal(map->phases.begin(), map->phases.end(), group.map->phases.begin(), group.map->phases.end()))
      continue;
    group.map = std::move(map);
    group.phasedSums = {};
    state.edited = state.logitsStale = true;
  }
  return state;
}

Status roomForPhases(const CacheState& state, std::int32_t phases) {
  std::int32_t last = state.phases.empty() ? 0 : state.phases[state.phases.size() - 1];
  for (const LayerGroup& group : state.groups)
    if (group.map->size() > 0) last = std::max(last, group.map->phases[group.map->size() - 1]);
  if (last + 1 < phases) return ok();
  return Error{"no_phase_room",
               kRulesKept,
               "the newest row would stand at phase " + std::to_string(last) +
                   ", and the next one has no place below " + std::to_string(phases),
               "delete tokens first, or open a session with a larger capacity",
               std::nullopt,
               "position",
               nullptr};
}

/// A position mode or a size of blocks: the storage is made anew, with the content that it has.
Result<Commit> stored(SessionParts& parts, const CacheState& before, const Manifest& wanted) {
  CacheState content = wanted.position == parts.manifest.position ? before : rephased(before, wanted.position);
  KV_TRY(roomForPhases(content, phasesIn(wanted.position, parts)));
  KV_TRY(takeManifest(parts, wanted));
  Result<Commit> commit = carried(parts, content);
  if (!commit) return forRules(commit.error());
  commit->severed = true;  // older states are read at other phases, or have blocks of another size
  if (parts.transformer->keysRotated())
    shiftKeys(commit->state, writtenPhases(before), *parts.transformer, parts.store, wanted.probes);
  return commit;
}

/// The kind of the session takes the manifest.
Status allowed(SessionParts& parts, const Manifest& wanted) {
  Manifest old = std::exchange(parts.manifest, wanted);
  Status possible = parts.kind->open(parts);
  parts.manifest = std::move(old);
  if (!possible) return forRules(possible.error());
  return ok();
}

}  // namespace

Status setRules(Session& session, const json& rules) {
  const Manifest wanted = KV_TRY(changedBy(session.manifest(), rules));
  const bool alike = storedAlike(session.manifest(), wanted);
  return session.change(
      [&](CallContext& call) -> Result<Commit> {
        SessionParts& parts = call.parts;
        KV_TRY(allowed(parts, wanted));
        const bool reseeded = wanted.sampling.seed != parts.manifest.sampling.seed;
        Commit commit{session.state()};
        if (alike) KV_TRY(takeManifest(parts, wanted));
        else commit = KV_TRY(stored(parts, session.state(), wanted));
        if (reseeded) commit.state.random = {wanted.sampling.seed, 0};
        commit.state.rules = std::make_shared<const Manifest>(wanted);
        session.publisher().describe(parts);
        return commit;
      },
      alike ? Session::Check::AsInTicks : Session::Check::Full);
}

void followRules(SessionParts& parts, const CacheState& state) {
  Manifest now = parts.manifest;
  copyRules(state.rules ? *state.rules : parts.opened, now);
  parts.sampler = samplerFor(now);
  parts.manifest = std::move(now);
}

Status takeManifest(SessionParts& parts, const Manifest& wanted) {
  Manifest next = wanted;
  next.opEvents = parts.manifest.opEvents;  // no command of the history
  std::unique_ptr<Sampler> sampler = samplerFor(wanted);
  const std::int32_t phases = phasesIn(wanted.position, parts);
  if (phases != parts.maxPhases) {
    std::unique_ptr<Transformer> other = KV_TRY(Transformer::create(
        parts.weights, *parts.backend, phases, wanted.prefillChunk, parts.transformer->keysRotated()));
    other->setRunner(parts.transformer->runner());
    std::swap(parts.transformer, other);
    if (parts.replaced && !parts.replaced->transformer) parts.replaced->transformer = std::move(other);
  }
  std::swap(parts.sampler, sampler);
  if (parts.replaced && !parts.replaced->sampler) parts.replaced->sampler = std::move(sampler);
  parts.maxPhases = phases;
  parts.manifest = std::move(next);
  return ok();
}

}  // namespace kvlab
