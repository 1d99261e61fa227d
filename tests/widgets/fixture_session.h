// SPDX-License-Identifier: GPL-3.0-or-later
// A believable session built in code: a story of some ninety tokens read in one prompt, then twenty
// ticks of generation with a replaced pair, a replaced word, an eviction in two layers, a deletion,
// an insertion and a token that has left every layer. One snapshot per tick. The same build always
// gives the same session. With `broken`, layer 2's map has two rows swapped since tick 17 (a `wlod`: a wrong checksum).
// With `mixed`, layers 0 and 1 are stored in pages with holes, layer 2 in a ring of 40 rows, layer 3 in one of 24. With
// `policies`, layer 0's policy never has to evict, those of layers 1 and 2 do in every tick, layer 3's is a no-op. With
// `lanes` it is the reference of four others: a ring, rows in int8, a few rows per layer, and one that left. With
// `quant` layer 0 is stored in f16, the others quantised, K in int8 and V in fp8, in layer 3 both in int8. With
// `wlod` the context is that of wlod_view_fixture.h. With `watches` it has watches of all types.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/api/lanes_view.h"
#include "core/api/lifespan_view.h"
#include "core/api/snapshot.h"

namespace kvlab::fixture {

struct Options {
  bool broken = false;
  int ticks = 20;
  bool mixed = false;
  bool policies = false;
  bool lanes = false;
  bool wlod = false;
  bool quant = false;
  bool watches = false;
};

inline Options withPolicies() {
  Options options;
  options.policies = true;
  return options;
}

/// A number in [0, 1) that depends on nothing but its arguments.
inline double noise(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ull + b * 0xbf58476d1ce4e5b9ull + c * 0x94d049bb133111ebull;
  x ^= x >> 31, x *= 0xd6e8feb86659fd93ull, x ^= x >> 32, x *= 0xd6e8feb86659fd93ull, x ^= x >> 29;
  return static_cast<double>(x >> 11) / 9007199254740992.0;
}

/// The score that policies give a row.
inline float score(LedgerId id, std::size_t layer) {
  return static_cast<float>(5 * noise(static_cast<std::uint64_t>(id.value()), layer, 14));
}

class Ledger : public LedgerView {
 public:
  using LedgerView::append;
  LedgerRow& at(LedgerId id) { return change(id); }
  /// A copy that shares nothing, as a snapshot must not change afterwards.
  Ledger copy() const {
    Ledger out = *this;
    out.unshare();
    return out;
  }
};

StorageView plainStorage(std::int32_t pool, std::int32_t rows);
void storeInRing(ResidencyView& map, StorageView& s, std::int32_t window, std::int32_t capacity, bool rolled = false,
                 std::int32_t fresh = 1);

class Session {
 public:
  explicit Session(Options options = {});
  const std::vector<SnapshotPtr>& history() const { return m_history; }
  static constexpr int kLayers = 4;

 private:
  std::vector<SnapshotPtr> m_history;
};

/// The result of a recording for the layers that ask gates: predictions that are right except for noise, and a
/// little too short; the last rows still in use.
LifespanView lifespans(const SnapshotPtr& s);
/// The result of measuring the quantisation of a snapshot, by the types that it stores rows in: one row of layer 2
/// (of the last, if there are fewer), at three fifths of the context, is much worse than all others; values of
/// layer 3 were clipped.
nlohmann::json quantisation(const Snapshot& s);

/// Replies to `row {which: "both"}` and `attentionMatrix`.
nlohmann::json row(const Snapshot& s, const nlohmann::json& args);
nlohmann::json attentionMatrix(const Snapshot& s, const nlohmann::json& args);
/// A snapshot of `layers` by `positions` where all layers share one map.
SnapshotPtr hugeSnapshot(int layers, int positions);

/// The settings of the session: those of the demo model.
inline std::shared_ptr<const SettingsInfo> demoSettings() {
  return std::make_shared<const SettingsInfo>(
      SettingsInfo{1024, {{"model", "demo"}, {"layout", "indirection"}, {"policy", {{"name", "full"}}}}});
}

}  // namespace kvlab::fixture
