// SPDX-License-Identifier: Apache-2.0
// Compares heads of stored rows with their recomputation, as close as arithmetic and storage types allow. Lives for one
// check; engine thread.
#pragma once
#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/scalar_decoder.h"

namespace kvlab {

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
