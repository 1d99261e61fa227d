// SPDX-License-Identifier: Apache-2.0
// Reads heads of stored rows and compares them with their recomputation, as close as arithmetic and storage types
// allow. Lives for one check; engine thread.
#pragma once
#include <span>
#include <vector>

#include "core/check/checks.h"
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

  const CheckInput& m_input;
  const ScalarDecoder& m_decoder;
  Findings& m_findings;
  bool m_rounds;
};

}  // namespace kvlab
