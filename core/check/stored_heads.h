// SPDX-License-Identifier: Apache-2.0
// Reads heads of stored rows and compares them with their recomputation, as close as arithmetic and storage types
// allow. Lives for one check; engine thread.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/check/scalar_decoder.h"
#include "core/state/row_pool.h"

namespace kvlab {

// Reads one KV head of stored rows value by value from their records (kernels/row_format.h), without the ops that
// sessions read rows with. The rows must not change meanwhile.

class HeadReader {
 public:
  /// Slots inside the pool.
  HeadReader(const RowPool& pool, std::span<const Slot> slots, int head);
  /// The key or the value of the row in one of the slots, [headDim].
  void operator()(std::size_t row, bool value, std::span<double> out) const;

 private:
  kernels::RowFormat m_format;
  kernels::RowLayout m_layout;
  int m_head;
  std::vector<std::uint8_t> m_copied;          // records, where the pool's memory is a device's
  std::vector<const std::uint8_t*> m_records;  // [slots]
};

/// "0.012"
std::string figureText(double value);

class StoredHeads {
 public:
  StoredHeads(const CheckInput& input, const ScalarDecoder& decoder, Findings& findings);

  /// Products round in a way that the decoder does not follow, as in a device's library.
  bool rounds() const { return m_rounds; }
  /// Differences that arithmetic explains, in parts of the largest value.
  double room() const;
  double phaseOf(std::int32_t rotaryRow) const { return m_input.transformer->rotary().phase(rotaryRow).value(); }
  /// Compares K and V, unrotated, of a KV head of the row at an index of LayerGroup::stored(). more: further
  /// allowed difference, in parts of the largest value. False if they differ, which is told, or the row is unreadable.
  bool agree(CacheLayer layer, std::size_t index, int kv, ScalarHead k, const ScalarHead& v, double more = 0) const;
  /// The largest change that one more rotation of a layer's stored keys may have made, in parts of the largest value.
  double turning(CacheLayer layer) const;

 private:
  struct Half {
    const char* name;
    Rounding rounded;  // by the types that the row has passed through
    std::span<const double> wanted, stored;
    double unsure;  // by how the products of the session round
  };
  bool same(const Place& place, int kv, const Half& half, double more) const;
  Rounding byCodec(CacheLayer layer, bool keys, int kv, std::span<const double> exact) const;

  const CheckInput& m_input;
  const ScalarDecoder& m_decoder;
  Findings& m_findings;
  bool m_rounds;
};

// Parts from which checks compute a row again: its input, the rows that it sees, derived row by row from the mask of
// model and manifest without the functions that passes use, and its attention over them. Pure; engine thread.

/// [hidden] Input of the first layer for a row, made again: the embedding of its token, or the input that the kind of
/// session gives for a row without a token.
std::vector<double> embeddingOf(const CheckInput& input, const ScalarDecoder& decoder, LedgerId id);

/// The indices [begin, end) of a map.
struct ImpliedRows {
  std::int32_t begin = 0, end = 0;
};

/// Rows that the row at an index of the map sees, itself included. window: phases, the row's own included; 0 = all.
ImpliedRows impliedRows(const ResidencyView& map, std::size_t own, int window);
/// The window of a cache layer; 0 = none.
int windowIn(const CheckInput& input, CacheLayer layer);
/// Keys that were turned when they were written, by frequencies that have changed since, are not today's.
bool keysOfOtherLengths(const CheckInput& input);
/// True of a row that checkDoubtedRows() reads again: its recomputation in this layer needs nothing but its token.
bool readAgain(const CheckInput& input, CacheLayer layer);

/// The index of a row in LayerGroup::stored() of a cache layer; none = the rows that it sees there are unknown.
using IndexIn = std::function<std::optional<std::size_t>(CacheLayer)>;

/// [heads*headDim] Attention output over the stored rows that a row sees, computed by the scalar decoder, for the row
/// that `row` was projected from; none where a row that it sees has no slot. shaken: moves each stored value up or down
/// by this share of the largest value of its head.
std::optional<std::vector<double>> storedAttention(const CheckInput& input, const ScalarDecoder& decoder,
                                                   const StoredHeads& stored, Layer layer, const ScalarRow& row,
                                                   const IndexIn& indexIn, double shaken = 0);

}  // namespace kvlab
