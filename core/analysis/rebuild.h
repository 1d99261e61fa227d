// SPDX-License-Identifier: Apache-2.0
// The reference for exactness: one causal forward pass over the live context, layer by layer, with one layer of scratch
// rows. At layer l a query sees itself and every row that the model's mask permits by phase and that is resident in l.
// Drift reads the scratch rows, rebuild copies them over the live rows.
// semantics.md, sections 3 (rebuild) and 9 (drift). Engine thread.
#pragma once
#include <functional>

#include "core/api/progress.h"
#include "core/api/snapshot.h"
#include "core/edit/compute_rows.h"

namespace kvlab {

/// Storage types of K and V.
struct RowTypes {
  std::optional<kernels::DType> k = {}, v = {};
  bool given() const { return k || v; }
};

struct RebuildInput {
  const CacheState& state;
  Transformer& transformer;
  FaultDoor& faults;
  bool cachePhases = false;  // position mode cache
  std::int64_t split = 0;    // a run of queries begins at this row
  /// Adds outputs to the pass of rows [begin, begin + n) of a layer before it runs; cache layers are layers.
  std::function<void(std::int64_t begin, LayerPass& pass)> aim = {};
  /// Receives the output of the last layer for all rows, [rows, hidden] in the back end's memory.
  std::function<void(const float* x)> last = {};
  /// Types that the pass stores its rows in; none = those of the layer.
  RowTypes types = {};
};

/// Rows of the pass as computed at one cache layer.
struct RebuiltLayer {
  CacheLayer layer;
  const RowPool& rows;                         // scratch, record i = positions[i]
  const std::vector<std::int32_t>& positions;  // context position of every scratch record
  // On request, and where cache layers are layers of the model: values before storing, in memory that ops read.
  float *k = nullptr, *v = nullptr;      // [records, kvHeads*headDim]; the sink may change them
  float* query = nullptr;                // [heads*headDim] query of the last record, unrotated; likewise
  const std::int32_t* phases = nullptr;  // [records]
};

/// Calls sink once per cache layer, with rows in the format of that layer in `store`, and if `computed` with K, V and
/// the newest query before storing. Returns the next token's logits (empty for an empty context).
Result<std::vector<float>> rebuildPass(const RebuildInput& input,
                                       const std::function<Status(const RebuiltLayer&)>& sink, const CacheStore& store,
                                       const Progress& progress = {}, bool computed = false);

/// A copy of the state in which no row has left: every layer has every token, with all KV heads together. No row of it
/// has a slot.
CacheState withAllRows(const CacheState& state);

/// K and V of one row, [kvHeads*headDim] each, as stored.
struct RowPair {
  std::vector<float> k, v;
};
/// The row with this ledger id as the pass computes and stores it in a cache layer. Errors: out_of_range, if the pass
/// has no such row, and those of rebuildPass().
Result<RowPair> rebuiltRow(const RebuildInput& input, const CacheStore& store, CacheLayer layer, LedgerId id,
                           const Progress& progress = {});
/// The error for a row that no rebuild computes.
Error notRebuilt(LedgerId id);

struct RebuildOutcome {
  std::vector<float> logits;
  int layersDone = 0;  // whole layers that were rebuilt; less than all after a cancel
  bool cancelled = false;
};

/// Overwrites every resident row of `store` with its rebuilt value.
Result<RebuildOutcome> rebuild(const RebuildInput& input, CacheStore& store, const Progress& progress = {});

/// The distance of live rows from rebuilt rows, unrotated and as stored.
struct Drift {
  std::vector<double> k, v;                               // [layers] largest relative L2
  std::vector<std::vector<float>> kRows, vRows;           // [layers][length]; not-a-number = not resident
  std::vector<double> kCosine, vCosine;                   // [layers] smallest cosine
  double kl = 0;                                          // KL(rebuild || live) of the next token, nats
  std::shared_ptr<const AttentionErrors> attention = {};  // null = not measured (core/session/attention_error.h)
  std::optional<CacheLayer> worstLayer = {};              // none = no row differs
  std::int32_t worstPosition = -1;
};

/// `logits` are the live session's; live rows stay untouched.
Result<Drift> drift(const RebuildInput& input, const CacheStore& store, std::span<const float> logits,
                    const Progress& progress = {});

/// Compares live rows with rebuilt rows, layer by layer, unrotated and as stored. One per drift pass.
class DriftMeter {
 public:
  explicit DriftMeter(std::int32_t length) : m_length(length) {}
  /// Adds the rows of the next layer: live rows lie in `slots` of one pool, rebuilt rows in `records` of the other.
  /// Positions are those of the context and ascend. All lists are [n].
  void add(CacheLayer layer, const RowPool& live, std::span<const std::int32_t> slots, const RowPool& rebuilt,
           std::span<const std::int32_t> records, std::span<const std::int32_t> positions);
  /// Logits of the next token are compared unless one list is empty.
  Drift finish(std::span<const float> rebuilt, std::span<const float> live) &&;

 private:
  std::int32_t m_length;
  double m_worst = 0;
  Drift m_out;
};

}  // namespace kvlab
