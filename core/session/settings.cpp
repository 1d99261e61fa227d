// SPDX-License-Identifier: Apache-2.0
#include "core/session/settings.h"

#include <algorithm>

#include "core/api/read_json.h"
#include "core/edit/key_shift.h"
#include "core/edit/splice.h"
#include "core/parts/cache_kind.h"
#include "core/parts/storage_plan.h"
#include "core/session/parts_before.h"
#include "core/session/storage.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr const char* kStay = "the settings were not changed";

Error forSettings(Error error) {
  error.what = kStay;
  return error;
}

/// The parts that a change names besides rules.
struct Named {
  bool storage = false;
  std::vector<bool> policies;  // [layers of the model]
};

Named namedBy(const json& change, int layers) {
  const auto stores = [](const json& keys) { return keys.contains("layout") || keys.contains("kv"); };
  Named out{stores(change) || change.contains("capacity"), std::vector<bool>(at(layers), change.contains("policy"))};
  for (const json& one : change.value("layers", json::array())) out.storage = out.storage || stores(one);
  const Result<Manifest> own = Manifest::fromJson({{"layers", change.value("layers", json::array())}});
  for (const LayerOverride& one : own->layers)
    for (Layer layer = one.from; one.policy && layer <= one.to; ++layer) out.policies[at(layer)] = true;
  return out;
}

/// The first key that differs and stays, with its path.
std::optional<std::pair<std::string, json>> fixedIn(const json& now, const json& wanted, const std::string& path = {}) {
  for (const auto& [key, value] : wanted.items()) {
    const json& old = member(now, key);
    const std::string here = path.empty() ? key : path + "." + key;
    if (value == old) continue;
    const bool inner = value.is_object() && old.is_object() && here != "policy";
    if (auto found = inner ? fixedIn(old, value, here) : std::nullopt) return found;
    if (!inner && !livingKey(here)) return std::pair(here, value);
  }
  return std::nullopt;
}

Error kept(const std::string& key, const json& value) {
  return forSettings(
      badKey(key.c_str(), value, "a living session keeps its " + key, "open a session with another " + key));
}

/// A living session can go from one manifest to the other.
Status possible(const SessionParts& parts, const Manifest& now, const Manifest& wanted) {
  if (const auto fixed = fixedIn(now.toJson(), wanted.toJson())) return kept(fixed->first, fixed->second);
  if (const Status there = checkOverrides(wanted, parts.cacheLayers.last()); !there) return forSettings(there.error());
  for (const Layer layer : parts.cacheLayers.ofModel())
    if (now.windowOf(layer) != wanted.windowOf(layer))
      return forSettings(badKey("layers", wanted.windowOf(layer), "a living session keeps the windows of its layers",
                                "open a session with other windows"));
  return ok();
}

/// Rows that a cache layer must have room for; where heads share a budget, the average over heads.
std::int64_t rowsNeeded(const Session& session, CacheLayer layer) {
  const CacheState& state = session.state();
  const CacheLayers& layers = session.cacheLayers();
  if (!state.policy || !state.policy->layers[at(layer)].budget)
    return static_cast<std::int64_t>(state.map(layer).size());
  std::int64_t all = 0;
  for (const CacheLayer part : layers.of(layers.layerOf(layer)))
    all += state.policy->audit.layers[at(part)].bands.capacity() + state.policy->audit.layers[at(part)].waiting +
        session.manifest().ring.blockTokens;
  return (all + layers.perLayer - 1) / layers.perLayer;
}

Status roomFor(const Session& session, std::int64_t rows) {
  const auto refused = [&](std::string why, const char* remedy) {
    return Error("capacity", kStay, std::move(why), remedy, "capacity", rows);
  };
  const std::int32_t phases = session.parts().maxPhases;
  if (rows < 1 || rows >= phases)
    return refused(std::to_string(rows) + " rows are outside 1 .. " + std::to_string(phases - 1),
                   "open a session with a larger capacity");
  for (const CacheLayer layer : session.state().layers())
    if (const std::int64_t needed = rowsNeeded(session, layer); needed > rows && !session.state().group(layer).keep)
      return refused("layer " + session.cacheLayers().name(layer) + " needs " + std::to_string(needed) +
                         " rows, more than " + std::to_string(rows),
                     "give a larger capacity, or evict rows first");
  return ok();
}

std::unique_ptr<Sampler> samplerFor(const Manifest& manifest) { return std::make_unique<Sampler>(manifest.sampling); }

/// The rotary table reaches four times as far in mode absolute, where deletions leave gaps.
std::int32_t phasesIn(PositionMode mode, const SessionParts& parts) {
  const bool absolute = parts.manifest.position == PositionMode::Absolute;
  if (absolute == (mode == PositionMode::Absolute)) return parts.maxPhases;
  return absolute ? parts.maxPhases / 4 + 1 : 4 * (parts.maxPhases - 1);
}

/// [rows] phases of a map. In mode cache a row's index, else its phase in the context.
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
  return Error("no_phase_room", kStay,
               "the newest row would stand at phase " + std::to_string(last) +
                   ", and the next one has no place below " + std::to_string(phases),
               "delete tokens first, or open a session with a larger capacity", "position", nullptr);
}

/// The kind of the session takes the manifest.
Status allowed(SessionParts& parts, const Manifest& wanted) {
  Manifest old = std::exchange(parts.manifest, wanted);
  Status possible = parts.kind->open(parts);
  parts.manifest = std::move(old);
  if (!possible) return forSettings(possible.error());
  return ok();
}

/// The content in pools that are made as `wanted` says. severs: older states are read at other phases then, or have
/// blocks of another size.
Result<Commit> stored(Session& session, const Manifest& wanted, bool severs) {
  SessionParts& parts = session.parts();
  const CacheState& before = session.state();
  const bool turns = wanted.position != parts.manifest.position;
  CacheState content = turns ? rephased(before, wanted.position) : before;
  if (turns) KV_TRY(roomForPhases(content, phasesIn(wanted.position, parts)));
  if (!severs) session.history().setApart(parts);
  std::shared_ptr<const StoredAs> was = severs ? nullptr : storedAs(parts);
  const bool resized = wanted.capacity != parts.manifest.capacity;
  KV_TRY(takeManifest(parts, wanted));
  if (resized) parts.capacity = parts.kind->sizes(parts.manifest, parts.model->config()).capacity;
  Result<Commit> commit = carried(parts, content);
  if (!commit) return forSettings(commit.error());
  commit->stored = std::move(was);
  commit->severed = severs;
  if (turns && parts.transformer->keysRotated())
    shiftKeys(commit->state, writtenPhases(before), *parts.transformer, parts.store, wanted.probes);
  return commit;
}

/// Policies that keep all rows in every layer.
PolicyState keepingAll(const CacheState& state) {
  PolicyState out;
  out.specs.resize(state.groupOf.size());
  out.layers.resize(out.specs.size());
  out.audit.layers.resize(out.specs.size());
  out.promptRows = state.length();
  return out;
}

/// Gives the layers that are named the policies of a manifest.
Status setPolicies(SessionParts& parts, CacheState& state, const Manifest& wanted, const std::vector<bool>& named) {
  KV_TRY(parts.kind->allows(parts, Capability::Policies, kStay));
  PolicyState next = state.policy ? *state.policy : keepingAll(state);
  next.decided.reset();
  for (const CacheLayer own : parts.cacheLayers.each()) {
    const Layer layer = parts.cacheLayers.layerOf(own);
    if (!named[at(layer)]) continue;
    next.layers[at(own)].budget.reset();
    next.layers[at(own)].memory.clear();
    next.layers[at(own)].scoredBy = {};
    next.specs[at(own)] = wanted.policyOf(layer);
    next.audit.layers[at(own)] = {};
    next.audit.layers[at(own)].policy = next.specs[at(own)].name;
  }
  if (Status there = parts.policyFiles.load(parts, next.specs); !there) {
    Error error = forSettings(there.error());
    error.field = error.field.empty() ? "policy" : "policy." + error.field;
    return error;
  }
  next.gates = parts.policyFiles.gates(parts, next.specs);
  if (std::shared_ptr<const FutureMass> future = parts.policyFiles.future(next.specs)) next.future = future;
  const bool all = keepAll(next.specs);
  state.policy = all ? nullptr : std::make_shared<const PolicyState>(std::move(next));
  return ok();
}

Result<Commit> made(Session& session, const Manifest& wanted, const Named& named, bool severs) {
  SessionParts& parts = session.parts();
  if (named.storage) KV_TRY(parts.kind->allows(parts, Capability::Storage, kStay));
  KV_TRY(allowed(parts, wanted));
  const bool reseeded = wanted.sampling.seed != parts.manifest.sampling.seed;
  Commit commit{session.state()};
  if (named.storage || severs) commit = KV_TRY(stored(session, wanted, severs));
  else KV_TRY(takeManifest(parts, wanted));
  if (std::ranges::find(named.policies, true) != named.policies.end())
    KV_TRY(setPolicies(parts, commit.state, wanted, named.policies));
  if (reseeded) commit.state.random = {wanted.sampling.seed, 0};
  commit.state.rules = std::make_shared<const Manifest>(parts.manifest);
  return commit;
}

/// No command of the history: the content does not depend on it.
void setOpEvents(Session& session, bool on) {
  session.parts().manifest.opEvents = on;
  session.parts().backend->setLogging(on);
  session.publish();
}

/// Without the policies that `layers` names.
std::vector<LayerOverride> withoutPolicies(std::vector<LayerOverride> layers) {
  for (LayerOverride& one : layers) one.policy.reset();
  std::erase_if(layers, [](const LayerOverride& one) { return one.empty(); });
  return layers;
}

}  // namespace

Manifest settingsOf(const SessionParts& parts, const CacheState& state) {
  Manifest out = parts.manifest;
  out.layers = withoutPolicies(std::move(out.layers));
  static const PolicySpec kFull;
  const auto specOf = [&](Layer layer) -> const PolicySpec& {
    return state.policy ? state.policy->specs[at(parts.cacheLayers.of(layer).front())] : kFull;
  };
  const auto layers = parts.cacheLayers.ofModel();
  if (std::ranges::all_of(layers, [&](Layer layer) { return specOf(layer) == specOf(Layer(0)); }))
    out.policy = specOf(Layer(0));
  for (const Layer layer : layers) {
    if (specOf(layer) == out.policy) continue;
    LayerOverride one{layer, layer};
    one.policy = specOf(layer);
    out.layers.push_back(std::move(one));
  }
  // A policy that asks for residency by head does not change which units have maps.
  const bool heads = parts.opened.residentByHead();
  if (out.residentByHead() != heads) out.residency = heads ? Residency::ByHead : Residency::ByLayer;
  return out;
}

Status changeSettings(Session& session, const json& change) {
  for (const auto& [key, value] : change.items())
    if (value.is_object() && value.empty())
      return forSettings(badKey(key.c_str(), value, key + " names nothing", "give a key of it, or leave it out"));
  const Manifest now = settingsOf(session.parts(), session.state());
  const Result<Manifest> read = now.with(change);
  if (!read) return forSettings(read.error());
  const Manifest& wanted = *read;
  KV_TRY(possible(session.parts(), now, wanted));
  if (change.contains("capacity")) KV_TRY(roomFor(session, wanted.capacity));
  const Named named = namedBy(change, session.cacheLayers().layers);
  const bool severs = wanted.position != now.position || wanted.ring.blockTokens != now.ring.blockTokens;
  const bool events = change.contains("op_events");
  session.history().args() = Manifest::pinned(session.history().args());  // executed again, it means the same rules
  if (change.size() > (events ? 1 : 0)) {
    const auto check = named.storage || severs ? Session::Check::Full : Session::Check::AsInTicks;
    KV_TRY(session.change([&](CallContext&) { return made(session, wanted, named, severs); }, check));
  }
  if (events && !session.history().executingAgain()) setOpEvents(session, wanted.opEvents);
  return ok();
}

void copyStorage(const Manifest& from, Manifest& to) {
  to.layout = from.layout;
  to.kvK = from.kvK;
  to.kvV = from.kvV;
  to.layers = from.layers;
  to.capacity = from.capacity;
}

void followRules(SessionParts& parts, const CacheState& state) {
  Manifest now = state.rules ? *state.rules : parts.opened;
  copyStorage(parts.manifest, now);
  now.opEvents = parts.manifest.opEvents;
  parts.sampler = samplerFor(now);
  parts.manifest = std::move(now);
}

Status takeManifest(SessionParts& parts, const Manifest& wanted) {
  Manifest next = wanted;
  next.opEvents = parts.manifest.opEvents;  // no command of the history
  next.residency = parts.opened.residency;
  next.policy = parts.opened.policy;
  next.layers = withoutPolicies(std::move(next.layers));
  for (const LayerOverride& one : parts.opened.layers)
    if (one.policy) next.layers.push_back({.from = one.from, .to = one.to, .policy = one.policy});
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
