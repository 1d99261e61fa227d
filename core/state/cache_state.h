// SPDX-License-Identifier: Apache-2.0
// The host-side state of the cache between two ticks: ledger, context (the mirror), one residency map per cache layer
// (api/cache_layers.h), and their columns. A value: a copy costs one pointer per column, so history keeps whole states.
// K/V rows lie in the pools (cache_store.h) and are named by slot. [layers] means cache layers unless a comment says
// otherwise. Engine thread; snapshots share the columns.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/api/column.h"
#include "core/api/snapshot.h"
#include "core/state/kind_state.h"
#include "core/state/ledger.h"
#include "core/state/policy_state.h"
#include "core/state/rounding.h"
#include "core/state/slot_tables.h"
#include "core/state/wanted.h"

namespace kvlab {

struct Manifest;
struct RowOrigin;

/// Fingerprint of the inputs of a row in one layer: sums of mixed words over the rows that the row attended to. Sums
/// over a range of rows are differences of prefix sums. semantics.md, section 9.
struct Provenance {
  std::uint64_t ids = 0;  // the ledger ids that the row attended to
  std::uint64_t phased =
      0;  // the (ledger id, phase) pairs that the row attended to, its own phase, and where they began
  std::uint64_t context = 0;  // the ledger ids before it in the context, resident or not
  bool operator==(const Provenance&) const = default;
};

/// Changes of a stored row since a pass computed it.
struct RowPast {
  std::int32_t turns = 0;   // rotations of the stored key (key_phase at_write)
  float phases = 0;         // sum of |shift| over the turns
  float error = 0;          // upper bound: sum over the turns of |stored - exact| / |exact|; 0 without probes
  bool loaded = false;      // from a file, and nobody has compared the row with the model's
  Rounding k = {}, v = {};  // errors of all types that the row has passed through; none = of its present type alone
};

/// The bounds that layout and mask set to the rows of a layer.
struct GroupRules {
  int window = 0;                      // phases that a query may attend to; 0 = all
  std::int32_t keep = 0;               // newest rows that the layer keeps; 0 = all
  std::int32_t capacity = 0;           // most rows that the layer may hold; 0 = the session's capacity
  std::optional<RingState> ring = {};  // ring layouts only
  ReadPath read = ReadPath::InPlace;
  bool tailOnly = false;                          // assembled copies hold only rows inside the mask
  std::shared_ptr<const SlotTables> tables = {};  // ReadPath::Table
};

/// Cache layers whose residency maps are equal share one group; eviction splits groups.
struct LayerGroup : GroupRules {
  std::shared_ptr<const ResidencyView> map;
  std::shared_ptr<const ResidencyView> all;  // with rows that are not in the context; null = `map` has all rows
  Column<LedgerId> evicted;                  // rows that left by an eviction, as they left; the context may lack some
  std::int32_t absent = 0;                   // tokens of the context among these; a map lacks no others
  Column<Provenance> provenance;             // [ledger]
  Column<std::int32_t> writers;              // [ledger] number of the commit that wrote the row last, see noteWriters()
  Column<std::uint64_t> idSums, phasedSums;  // prefix sums over the map, see provenance.h; may be shorter

  /// Every row that has a slot.
  const ResidencyView& stored() const { return all ? *all : *map; }
};

struct CacheState {
  Ledger ledger;
  Column<LedgerId> context;           // [length] pos2ledger, "the mirror"
  Column<std::int32_t> phases;        // [length] phase index of each context token
  Column<float> brightness;           // [length] 0..max
  Column<std::int32_t> birthPhases;   // [ledger] phase a row was last computed at
  Column<std::uint64_t> contextSums;  // prefix sums over the context, see provenance.h; may be shorter
  Column<std::int32_t> ramp;          // 0, 1, 2, ...: phases of modes context and cache are prefixes
  std::vector<LayerGroup> groups;
  std::vector<std::int32_t> groupOf;      // [layers]
  int perLayer = 1;                       // cache layers in a layer of the model
  std::vector<Column<RowPast>> pasts;     // [layers][ledger ids so far], or empty: see pastOf()
  std::vector<Column<float>> gateScores;  // [layers of the model][ledger ids so far, kvHeads] gate scores; or empty
  std::shared_ptr<const std::vector<float>> logits;        // [vocab] for the next token, null = none
  std::shared_ptr<const std::vector<float>> loadedLogits;  // `logits` of a file: rows may have left since their pass
  std::shared_ptr<const NewestAttention> attention;
  std::shared_ptr<const NewestAttention> read;  // by the commit's own pass, which later queries keep; null = no pass
  std::shared_ptr<const NewestAttention> received;           // latest attention summed over queries; null = none
  std::shared_ptr<const PolicyState> policy;                 // null while every policy is full
  std::shared_ptr<const std::vector<RowOrigin>> origins;     // row_origins.h; null = nobody asked
  std::shared_ptr<const Manifest> rules;                     // as session/settings.h changed it; null = as opened
  std::shared_ptr<const KindState> kind = plainKindState();  // state of the kind of session
  bool logitsStale = false;
  bool edited = false;                    // some row may have been computed from rows that are gone
  std::array<std::uint64_t, 2> random{};  // sampler state
  Tick tick;

  std::int32_t length() const { return static_cast<std::int32_t>(context.size()); }
  /// One past the last phase that a pass over the rows meets: the length of a context as rotary frequencies that follow
  /// it count. In position mode cache that is the length of the longest map.
  std::int64_t reach() const;
  /// The past of a row in a layer.
  RowPast pastOf(CacheLayer layer, LedgerId id) const {
    const bool known = at(layer) < pasts.size() && static_cast<std::size_t>(id.value()) < pasts[at(layer)].size();
    return known ? pasts[at(layer)][static_cast<std::size_t>(id.value())] : RowPast{};
  }
  /// True if some row may have a label other than `exact`.
  bool doubtful() const {
    return edited || std::ranges::any_of(pasts, [](const Column<RowPast>& column) { return !column.empty(); });
  }
  CacheLayers cacheLayers() const { return {static_cast<int>(groupOf.size()) / perLayer, perLayer}; }
  auto layers() const { return idRange<CacheLayer>(0, groupOf.size()); }
  const LayerGroup& group(CacheLayer layer) const { return groups[at(groupOf[at(layer)])]; }
  const ResidencyView& map(CacheLayer layer) const { return *group(layer).map; }
  /// True if no row was evicted from this map, so that index == position.
  bool whole(const ResidencyView& map) const { return map.size() == context.size(); }
  /// True if every context token has its row here.
  bool complete(const ResidencyView& map) const { return whole(map) && map.first == 0; }
};

/// Rows that were computed again, ascending, have no past in this layer and those behind it.
void forgetPasts(CacheState& state, std::span<const LedgerId> rows, CacheLayer from = CacheLayer(0));

/// A copy with its own buffers, for a session on another thread. Slots are the same.
CacheState ownCopy(const CacheState& state);

/// For a residency map to be damaged on purpose, apart from those of other layers: puts the layer into a group of its
/// own and returns its map, which nothing else shares.
ResidencyView& ownMap(CacheState& state, CacheLayer layer);

}  // namespace kvlab
