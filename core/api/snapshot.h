// SPDX-License-Identifier: Apache-2.0
// The state of a session after a tick, immutable and shared: the window holds snapshots, never the
// engine. Building a snapshot costs as much as changed since the last one, whatever the length of the
// context. Built on the engine thread, read on any thread.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/aside_views.h"
#include "core/api/cache_layers.h"
#include "core/api/column.h"
#include "core/api/ids.h"
#include "core/api/ledger_view.h"
#include "core/api/plan_view.h"
#include "core/api/policy_audit.h"
#include "core/api/report.h"
#include "core/api/stage_view.h"
#include "core/api/storage_view.h"

namespace kvlab {

enum class Exactness : std::uint8_t { Exact, ContextEvicted, ContextEdited, PhaseShifted, Inherited, Loaded };
inline constexpr int kExactnessLabels = 6;
constexpr std::string_view name(Exactness exactness) {
  constexpr std::string_view kNames[kExactnessLabels] = {"exact",         "context-evicted", "context-edited",
                                                         "phase-shifted", "inherited",       "loaded"};
  return kNames[static_cast<std::size_t>(exactness)];
}

/// One cache layer's residency map: first the rows that left only through the layer's window, then the ordered
/// subset of the context whose K/V rows are present. Layers that evict nothing share one object.
///
/// A row's rotary phase is kept as an index: i >= 0 is the integer phase i itself; i < 0 names entry
/// -1-i of a table of other phases. A map therefore costs 4 bytes per row, and in position mode
/// `context` the phase column is the same run 0, 1, 2, ... before and after an edit.
struct ResidencyView {
  Column<LedgerId> ledger;                                // [rows]
  Column<Slot> slotOf;                                    // [rows] (not "slots": Qt has a macro of that name)
  Column<std::int32_t> phases;                            // [rows], phase indices
  std::shared_ptr<const std::vector<Phase>> otherPhases;  // null while all phases are integers
  std::int32_t first = 0;  // earlier rows left through the window: they count, but have no slot

  std::size_t size() const { return slotOf.size(); }
  std::size_t resident() const { return size() - static_cast<std::size_t>(first); }
  std::span<const Slot> residentSlots() const { return slotOf.span().subspan(static_cast<std::size_t>(first)); }
  bool has(std::size_t i) const { return i >= static_cast<std::size_t>(first) && i < size(); }
  Phase phase(std::size_t i) const {
    const std::int32_t index = phases[i];
    return index >= 0 ? Phase(index) : (*otherPhases)[static_cast<std::size_t>(-1 - index)];
  }
};

/// Facts that never change while a session is open.
struct SessionInfo {
  std::string model;        // as named in the manifest
  std::string numerics;     // numerics id
  std::string backend;      // "cpu"
  CacheLayers cacheLayers;  // layers of the model; lists by layer in a snapshot count cache layers
  int heads = 0, kvHeads = 0, headDim = 0, vocab = 0;
  int staging = 0;                      // slots of each pool for rows that are computed before a commit
  std::vector<std::string> tokenTexts;  // [vocab], as shown to people
  std::vector<bool> specialTokens;      // [vocab]
};

/// The settings in force, which a living session may change.
struct SettingsInfo {
  std::int64_t capacity = 0;  // resident rows per layer
  nlohmann::json manifest;    // complete, defaults filled in
};

/// How far the output of attention is from that over all rows, [layers of the model][query heads].
using AttentionErrors = std::vector<std::vector<float>>;
/// Of the chosen layers and all of their query heads; heads that were not measured do not count. NaN: there is none.
inline double meanError(const AttentionErrors& errors, const std::function<bool(int layer)>& chosen = {}) {
  double sum = 0;
  int heads = 0;
  for (std::size_t layer = 0; layer < errors.size(); ++layer)
    for (const float error : errors[layer])
      if (std::isfinite(error) && (!chosen || chosen(static_cast<int>(layer)))) {
        sum += static_cast<double>(error);
        ++heads;
      }
  return heads ? sum / heads : std::numeric_limits<double>::quiet_NaN();
}

struct TokenChance {
  TokenId id;
  float p = 0;
  std::string text;
};

struct InvariantState {
  std::string_view id, title;  // of the list of invariants
  bool ok = true;
  std::string detail = {};
  Tick lastPass{-1};   // the last check that looked and found nothing; -1 = never
  Tick allPassed{-1};  // everything it looks at has passed since then, a part in each tick; -1 = not yet
  std::optional<Tick> firstFailure = {};  // on the way to the present state
  std::optional<DamageSince> since = {};  // if broken: the ticks between which it broke

  /// No check has looked, which says neither that it holds nor that it is broken.
  bool unchecked() const { return ok && lastPass.value() < 0; }
};

enum class SessionState : std::uint8_t { Empty, Ready, Broken };

struct ByteCount {
  std::int64_t allocated = 0;  // bytes of row pools
  std::int64_t live = 0;       // bytes of resident rows
  std::int64_t moved = 0;      // by the last commit
};

struct KnockOut;   // core/api/knock_out.h
struct LanesView;  // core/api/lanes_view.h
struct WlodView;   // core/api/wlod_view.h

struct Snapshot {
  std::shared_ptr<const SessionInfo> info;
  std::shared_ptr<const SettingsInfo> settings;
  std::uint64_t serial = 0;  // grows with every publication
  int entry = 0;             // commit of the history that made the state: the same number, the same state
  Tick tick;
  SessionState state = SessionState::Empty;
  std::string brokenReason;
  Column<LedgerId> context;  // pos2ledger, [length]
  LedgerView ledger;
  std::vector<std::shared_ptr<const ResidencyView>> layers;
  std::vector<std::shared_ptr<const StorageView>> storage;  // [layers]; layers that are alike share one
  std::shared_ptr<const std::vector<Exactness>>
      exactness;                             // [length], worst over the layers; null: all exact, or nobody receives it
  std::shared_ptr<const TickReport> report;  // report of the last tick; null before
  std::vector<TokenChance> topk;             // next token, best first
  bool logitsStale = false;
  std::vector<InvariantState> invariants;
  Alignment alignment;
  std::vector<Action> pending;
  std::shared_ptr<const PlanView> plan;    // effect of `pending`; null where nothing is pending
  std::shared_ptr<const StageView> stage;  // progress of an open tick; null = no tick is open
  ByteCount bytes;
  std::shared_ptr<const PolicyAudit> policies;                     // null while every policy is full
  std::optional<double> kl;                                        // KL of the last drift pass
  std::shared_ptr<const AttentionErrors> attentionErrors;          // of the last drift pass with attention; or null
  std::shared_ptr<const KnockOut> knockOut;                        // rows that were hidden last; null = none
  std::shared_ptr<const std::vector<BreakpointView>> breakpoints;  // null = none
  std::shared_ptr<const std::vector<WatchView>> watches;           // with their values in this state; null = none
  std::shared_ptr<const std::vector<NoteView>> notes;              // in the order of their numbers; null = none
  std::string branch = "main";
  std::uint32_t leaps =
      0;  // times that the session has gone to another branch: earlier snapshots may lie beside its way
  bool canUndo = false, canRedo = false;
  std::shared_ptr<const WlodView> wlod;    // null where there is no wLOD
  std::shared_ptr<const LanesView> lanes;  // set if the session is the reference of lanes, else null

  std::int32_t length() const { return static_cast<std::int32_t>(context.size()); }
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace kvlab
