// SPDX-License-Identifier: Apache-2.0
#include "core/session/import_rows.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/analysis/rebuild.h"
#include "core/api/guarded.h"
#include "core/bugs/bug_kind.h"
#include "core/edit/departures.h"
#include "core/edit/splice.h"
#include "core/files/cache_file.h"
#include "core/files/cache_memory.h"
#include "core/model/decoder/frequencies.h"
#include "core/model/decoder/row_codec.h"
#include "core/session/requests.h"
#include "core/session/storage.h"
#include "core/state/mirror_map.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

constexpr std::int64_t kChunk = 256;  // rows converted at a time

/// The session's policies, without any statistics of the context.
PolicyState begunAnew(const PolicyState& before, std::int32_t length) {
  PolicyState out;
  out.specs = before.specs;
  out.gates = before.gates;
  out.future = before.future;
  out.promptRows = length;
  out.layers.resize(out.specs.size());
  out.audit.layers.resize(out.specs.size());
  for (std::size_t layer = 0; layer < out.specs.size(); ++layer) out.audit.layers[layer].policy = out.specs[layer].name;
  return out;
}

/// Overwrites statistics by those of the file, in layers where the file's policy is the session's.
void remember(PolicyState& to, const CacheMemory& memory) {
  to.promptRows = memory.policy.promptRows;
  to.prefilling = memory.policy.prefilling;
  if (memory.policy.future) to.future = memory.policy.future;
  for (std::size_t layer = 0; layer < to.specs.size(); ++layer) {
    if (memory.policies[layer] != to.specs[layer].toJson()) continue;
    to.layers[layer] = memory.policy.layers[layer];
    to.audit.layers[layer].bands = memory.policy.audit.layers[layer].bands;
  }
}

/// Sets logits, attention, gate scores and the statistics of policies. The session keeps its own policies. A layer
/// takes the file's statistics if the file's policy is the same; otherwise its statistics start empty, as after
/// settings with a policy. Without `rows.memory` all statistics start empty.
void takeMemory(CacheState& state, const CacheImport& rows) {
  const CacheMemory* memory = rows.memory.get();
  state.logits = state.loadedLogits = memory ? memory->logits : nullptr;
  state.attention = memory ? memory->attention : nullptr;
  state.received = nullptr;
  state.logitsStale = state.length() > 0 && !state.logits;
  state.gateScores.clear();
  if (memory)
    for (const std::vector<float>& scores : memory->gateScores) state.gateScores.emplace_back().assign(scores);
  if (!state.policy) return;
  PolicyState next = begunAnew(*state.policy, state.length());
  if (memory && !memory->policies.empty()) remember(next, *memory);
  if (memory && memory->seen) next.seen = state.attention;
  state.policy = std::make_shared<const PolicyState>(std::move(next));
}

/// Number of rows that the file holds for a layer.
std::int32_t rowsOf(const CacheImport& rows, CacheLayer layer) {
  if (rows.form != CacheForm::Native) return rows.heldRows(layer);
  return static_cast<std::int32_t>(rows.groups[at(rows.groupOf[at(layer)])].ledger.size());
}

/// Builds the state that an import leads to; `slots` = [layers][rows that a layer keeps]. A layer keeps the file's last
/// rows.
class Importer {
 public:
  Importer(const CacheState& before, const CacheImport& rows, const LayerSlots& slots, const SessionParts& parts,
           bool verify)
      : m_before(before), m_rows(rows), m_slots(slots), m_parts(parts), m_verify(verify), m_state(before) {}

  CacheState run() {
    const bool native = m_rows.form == CacheForm::Native;
    if (native) takeLedger();
    else appendLedger();
    m_state.contextSums = {};
    const std::size_t length = m_rows.tokens.size();
    m_state.kind = m_rows.kind ? m_rows.kind : plainKindState();
    if (m_rows.kind || m_parts.manifest.position == PositionMode::Absolute) m_state.phases.assign(m_rows.phases);
    else m_state.phases = ramp(m_state.ramp, length);
    m_state.groups.clear();
    for (const CacheLayer layer : m_state.layers()) joinGroup(layer);
    takeMemory(m_state, m_rows);
    m_state.logitsStale = m_state.logitsStale || (m_narrower && length > 0);
    m_state.edited = m_rows.edited;
    notePasts();
    if (!native) nameOrigins();
    markRows(m_state, m_state.context.span(), m_state.tick);
    return std::move(m_state);
  }

 private:
  void takeLedger() {
    m_state.ledger = Ledger();
    for (const LedgerRow& row : m_rows.ledger) m_state.ledger.append(row);
    m_state.context.assign(m_rows.context);
    m_state.brightness.assign(m_rows.brightness);
    m_state.birthPhases.assign(m_rows.birthPhases);
    m_state.random = m_rows.random;
    m_state.tick = m_rows.tick;
  }

  void appendLedger() {
    ++m_state.tick;
    for (std::size_t i = 0; i < m_state.context.size(); ++i) {
      LedgerRow& row = m_state.ledger.change(m_state.context[i]);
      row.state = RowState::Deleted;
      row.changed = m_state.tick;
      row.brightness = m_state.brightness[i];
    }
    std::vector<LedgerId> context;
    for (std::size_t i = 0; i < m_rows.tokens.size(); ++i) {
      LedgerRow row;
      row.token = m_rows.tokens[i];
      row.source = Source::File;
      row.born = row.changed = m_state.tick;
      context.push_back(m_state.ledger.append(std::move(row)));
    }
    m_state.context.assign(context);
    const auto start = m_parts.manifest.brightness.start.find("file");
    const double bright =
        start == m_parts.manifest.brightness.start.end() ? m_parts.manifest.brightness.max : start->second;
    m_state.brightness.assign(std::vector<float>(context.size(), static_cast<float>(bright)));
    m_state.birthPhases.append(m_rows.phases);
  }

  /// Puts a layer into the group of layers that hold the same rows in the same slots with the same window.
  void joinGroup(CacheLayer layer) {
    const auto alike = [&](CacheLayer first) {
      return (m_rows.groupOf.empty() || m_rows.groupOf[at(first)] == m_rows.groupOf[at(layer)]) &&
          (m_rows.held.empty() || m_rows.held[at(first)] == m_rows.held[at(layer)]) &&
          m_before.group(first).window == m_before.group(layer).window && m_parts.layouts.alike(first, layer) &&
          m_slots[at(first)] == m_slots[at(layer)];
    };
    std::size_t g = 0;
    while (g < m_firsts.size() && !alike(m_firsts[g])) ++g;
    m_state.groupOf[at(layer)] = static_cast<std::int32_t>(g);
    if (g < m_firsts.size()) return;
    m_firsts.push_back(layer);
    LayerGroup group;
    auto map = std::make_shared<ResidencyView>();
    std::vector<Slot> slots(at(rowsOf(m_rows, layer)) - m_slots[at(layer)].size(), Slot(-1));
    map->first = static_cast<std::int32_t>(slots.size());
    m_narrower = m_narrower || map->first > (m_rows.first.empty() ? 0 : m_rows.first[at(layer)]);
    slots.insert(slots.end(), m_slots[at(layer)].begin(), m_slots[at(layer)].end());
    map->slotOf.assign(slots);
    map->ledger = m_state.context;
    map->phases = m_state.phases;
    static_cast<GroupRules&>(group) = m_before.group(layer);
    if (m_rows.form == CacheForm::Native) {
      const CacheImport::Group& rows = m_rows.groups[at(m_rows.groupOf[at(layer)])];
      if (!std::ranges::equal(rows.ledger, m_state.context.span())) {  // some are evicted, or there are summaries
        map->ledger.assign(rows.ledger);
        map->phases.assign(rows.phases);
      }
      group.provenance.assign(rows.provenance);
    } else {
      if (map->size() != m_state.context.size()) takeHeld(layer, *map);
      group.provenance.assign(std::vector<Provenance>(m_state.ledger.size()));
    }
    group.map = std::move(map);
    if (auto entries = m_state.kind->inContext(m_state, *group.map))
      group.all = std::exchange(group.map, std::move(entries));
    const std::vector<LedgerId> lacked = lackedBy(m_state.context, *group.map);
    if (!lacked.empty()) group.evicted.assign(lacked);
    group.absent = static_cast<std::int32_t>(lacked.size());
    m_state.groups.push_back(std::move(group));
  }

  /// The rows of a layer that lacks some.
  void takeHeld(CacheLayer layer, ResidencyView& map) const {
    const bool byIndex = m_parts.manifest.position == PositionMode::Cache;
    std::vector<LedgerId> ids;
    std::vector<std::int32_t> phases;
    for (const std::int32_t row : m_rows.held[at(layer)]) {
      phases.push_back(byIndex ? static_cast<std::int32_t>(ids.size()) : m_state.phases[at(row)]);
      ids.push_back(m_state.context[at(row)]);
    }
    map.ledger.assign(ids);
    map.phases.assign(phases);
  }

  /// All rows were loaded, and rounded on their way.
  void notePasts() {
    m_state.pasts.clear();
    bool any = false;
    for (const CacheLayer layer : m_state.layers()) {
      const RowPast past = pastIn(layer);
      any = any || past.loaded || past.k.any() || past.v.any();
      m_state.pasts.emplace_back().assign(std::vector<RowPast>(m_state.ledger.size(), past));
    }
    if (!any) m_state.pasts.clear();
  }

  RowPast pastIn(CacheLayer layer) const {
    const kernels::RowFormat& format = m_parts.store.pool(layer).format();
    const CacheImport::Rounded& by = m_rows.rounded[at(layer)];
    const bool turned = m_parts.transformer->keysRotated();
    RowPast past;
    past.loaded = !m_verify;
    past.k = by.k, past.v = by.v;
    if (m_rows.form == CacheForm::Native) return past;  // records stay as they are
    past.k = (turned ? by.allOfK().turned() : by.allOfK()).then(roundingOf(format.k, turned));
    past.v = by.allOfV().then(roundingOf(format.v));
    return past;
  }

  /// Sets the provenance of rows: computed from the file's context, or, if the file was edited, from another one. That
  /// holds for the first row, too, which may have been computed from its embedding alone.
  void nameOrigins() {
    refreshProvenance(m_state, m_parts.manifest.position == PositionMode::Cache,
                      turnWord(m_parts.model->config(), m_state.reach()));
    if (!m_rows.edited) return;
    for (LayerGroup& group : m_state.groups) {
      std::vector<Provenance> column(group.provenance.begin(), group.provenance.end());
      for (std::size_t i = 0; i < m_state.context.size(); ++i) column[at(m_state.context[i].value())].context ^= 1;
      group.provenance.assign(column);
    }
  }

  const CacheState& m_before;
  const CacheImport& m_rows;
  const LayerSlots& m_slots;
  const SessionParts& m_parts;
  bool m_verify;
  CacheState m_state;
  std::vector<CacheLayer> m_firsts;  // [groups]
  bool m_narrower = false;           // some layer keeps fewer rows than the file has
};

/// Returns how far codecs have moved the rows. Error: bad_codec.
Result<CodecChange> writeLayer(const CacheImport& rows, const CacheState& state, CacheLayer layer, RowPool& pool,
                               Transformer& transformer) {
  const ResidencyView& map = state.group(layer).stored();
  const auto n = static_cast<std::int64_t>(map.size());
  if (rows.form == CacheForm::Native) {
    pool.writeRecords(map.residentSlots(),
                      reinterpret_cast<const std::uint8_t*>(rows.records[at(layer)].data()) +
                          (map.first - rows.first[at(layer)]) * pool.stride());
    return CodecChange{};
  }
  CodecChange out;
  std::vector<float> k(at(kChunk * pool.width())), v(k.size());
  for (std::int64_t begin = map.first; begin < n; begin += kChunk) {
    const std::int64_t count = std::min(kChunk, n - begin);
    unrotatedRows(rows, transformer.model().config(), layer, begin, count, k.data(), v.data());
    std::vector<std::uint64_t> tags;
    for (std::int64_t i = begin; i < begin + count; ++i)
      tags.push_back(static_cast<std::uint64_t>(map.ledger[at(i)].value()));
    if (transformer.keysRotated())
      transformer.rotateKeys(state.cacheLayers().layerOf(layer), k.data(),
                             map.phases.span().subspan(at(begin), at(count)), pool.format().kvHeads);
    const CodecChange change = KV_TRY(encodeRows(pool.format(), state.cacheLayers().layerOf(layer),
                                                 state.cacheLayers().partOf(layer), count, k.data(), v.data()));
    out = {std::max(out.k, change.k), std::max(out.v, change.v)};
    pool.write(plain(map.slotOf.span()).subspan(at(begin), at(count)), k.data(), v.data(), tags.data());
  }
  return out;
}

/// Number of rows that a layer keeps; these are the file's last rows.
std::int32_t keptOf(const CacheImport& rows, const LayoutSet& layouts, CacheLayer layer) {
  const std::int32_t there = rowsOf(rows, layer) - (rows.first.empty() ? 0 : rows.first[at(layer)]);
  const std::int32_t keep = layouts.demand(layer).keep;
  return keep ? std::min(there, keep) : there;
}

/// [layers][rows to keep] free slots. over: all slots from the first one on, live ones included.
LayerSlots slotsFor(const CacheImport& rows, SessionParts& parts, bool over) {
  LayerSlots slots;
  for (const CacheLayer layer : parts.store.layers()) {
    const std::int32_t kept = keptOf(rows, parts.layouts, layer);
    std::vector<Slot>& own = slots.emplace_back();
    if (!over) parts.store.slots(layer).take(kept, own);
    for (std::int32_t i = 0; over && i < kept; ++i) own.emplace_back(i);
  }
  return slots;
}

/// The allowed difference between rows of a layer and the rows that the model computes, in parts of their length. Types
/// in which rows were stored while others were computed over them count several times: their rounding adds up from
/// layer to layer.
double roomOf(const CacheImport& rows, CacheLayer layer, const CacheStore& store) {
  constexpr double kArithmetic = 1e-3, kOtherProducts = 0.02, kTypes = 3, kMost = 0.5;
  constexpr double kLargest = 4;  // largest value of a head, in parts of its mean magnitude
  const auto length = [](Rounding one) { return double(one.relative) + kLargest * double(one.ofMost); };
  double types = 0;
  for (const CacheLayer one : idRange<CacheLayer>(0, layer.value() + 1)) {
    const kernels::RowFormat& format = store.pool(one).format();
    const CacheImport::Rounded& by = rows.rounded[at(one)];
    const Rounding k = by.k.then(roundingOf(format.k)), v = by.v.then(roundingOf(format.v));
    types = std::max({types, length(k), length(v)});
  }
  const CacheImport::Rounded& by = rows.rounded[at(layer)];
  return std::min(
      kMost,
      kArithmetic + std::min(kOtherProducts, double(by.arithmetic.most())) + double(by.fileK.most()) + kTypes * types);
}

/// "0.012 %"
std::string percent(double part) {
  char out[32];
  std::snprintf(out, sizeof out, part < 1 ? "%.2g %%" : "%.0f %%", 100 * part);
  return out;
}

/// Compares each row with the row that the model computes.
Status compared(const CacheImport& rows, const CacheState& state, CallContext& call) {
  if (state.length() == 0) return ok();
  SessionParts& parts = call.parts;
  const RebuildInput input{state, *parts.transformer, parts.faults, parts.manifest.position == PositionMode::Cache};
  const Drift apart = KV_TRY(drift(input, parts.store, {}, call.progress));
  for (const CacheLayer layer : state.layers()) {
    const double most = roomOf(rows, layer, parts.store);
    for (std::size_t row = 0; row < apart.kRows[at(layer)].size(); ++row) {
      const auto k = static_cast<double>(apart.kRows[at(layer)][row]);
      const auto v = static_cast<double>(apart.vRows[at(layer)][row]);
      if (!(k > most) && !(v > most)) continue;  // a row that the layer does not hold has no number
      return Error("other_rows", "the cache was not loaded",
                   "layer " + state.cacheLayers().name(layer) + ", position " + std::to_string(row) + ": " +
                       (k > most ? "K" : "V") + " differs from what the model computes by " +
                       percent(k > most ? k : v) + ", and types explain " + percent(most),
                   "load without verify to look at the rows, or make the file anew", "verify", true);
    }
  }
  return ok();
}

/// Writes the rows, after all checks. over: over the rows of the present state, which the store's log keeps.
Result<Commit> written(Commit commit, const CacheImport& rows, const CacheState& before, CallContext& call, bool over,
                       bool verify) {
  SessionParts& parts = call.parts;
  const auto layers = parts.store.layers();
  commit.freed = slotsOf(before);
  commit.rewritten = over;
  if (over) {
    parts.store.overwrites(commit.freed);
    commit.added = commit.freed = LayerSlots(layers.size());
    for (const CacheLayer layer : layers)
      parts.store.slots(layer).restart(runsOf(commit.state.group(layer).stored().residentSlots()));
  }
  const Result<std::int64_t> moved = guarded("the cache was not loaded", [&]() -> Result<std::int64_t> {
    for (const CacheLayer layer : layers)
      noteCoded(commit.state, layer,
                KV_TRY(writeLayer(rows, commit.state, layer, parts.store.pool(layer), *parts.transformer)));
    if (verify) KV_TRY(compared(rows, commit.state, call));
    LayoutContext context{parts.store, parts.faults};
    return parts.layouts.settle(commit.state, false, static_cast<std::int32_t>(rows.tokens.size()), commit.added,
                                commit.freed, context);
  });
  if (!moved && over && !parts.layouts.inPlace()) parts.store.log().spoil();  // rows of history were overwritten, too
  commit.bytesMoved = KV_TRY(moved);
  return commit;
}

}  // namespace

Status importRows(Session& session, const CacheImport& rows, bool verify) {
  return session.change(
      [&](CallContext& call) -> Result<Commit> {
        SessionParts& parts = call.parts;
        KV_TRY(parts.kind->allows(parts, Capability::Import, "the cache was not loaded"));
        KV_TRY(noDraft(session, "the cache was not loaded"));  // a rollback leads to rows that would be freed
        KV_TRY(parts.faults.pass(FaultPoint::Allocation, "reserving slots"));
        std::int32_t most = 0;
        for (const CacheLayer layer : parts.store.layers()) most = std::max(most, keptOf(rows, parts.layouts, layer));
        KV_TRY(growPools(session, most));
        const bool over = parts.layouts.inPlace() || !session.history().makeRoom(parts, most);
        if (verify && over && !parts.layouts.inPlace())
          return Error("staging", "the cache was not loaded",
                       "rows are compared before they take the place of the present ones, and both do not fit",
                       "raise staging, reset the session first, or load without verify");
        Commit commit;
        commit.severed = over && !parts.layouts.inPlace();  // the rows of both states cannot share a pool
        commit.added = slotsFor(rows, parts, over);
        commit.state = Importer(session.state(), rows, commit.added, parts, verify).run();
        Result<Commit> made = written(std::move(commit), rows, session.state(), call, over, verify);
        if (const BugKind* bug = parts.faults.bug(); made && bug && bug->imported) bug->imported(made->state);
        if (made) session.setPending(rows.pending);
        if (made) session.health().report = nullptr;
        return made;
      },
      Session::Check::Full);
}

}  // namespace kvlab
