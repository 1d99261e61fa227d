// SPDX-License-Identifier: Apache-2.0
// Compares heads of stored rows with what their recomputation gives, as close as arithmetic and storage types allow.
// Lives for one check; engine thread.
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

  /// Products round the row that they read: int8 weights, and the arithmetics that people choose for speed
  /// (kernels/numerics.h).
  bool rounds() const { return m_rounds; }
  /// Differences that arithmetic explains, in parts of the largest value.
  double room() const;
  double phaseOf(std::int32_t rotaryRow) const { return m_input.transformer->rotary().phase(rotaryRow).value(); }
  /// Compares K and V of a KV head of the row at an index of LayerGroup::stored(); both are [headDim], unrotated.
  /// loose: how many times more may differ. False if they differ, which is told, or if the row cannot be read.
  bool agree(CacheLayer layer, std::size_t index, int kv, std::vector<double> k, const std::vector<double>& v,
             double loose = 1) const;

 private:
  struct Half {
    const char* name;
    kernels::DType type;
    std::span<const double> wanted, stored;
    double turned;  // what turning a stored key again may have added, in parts of the largest value
  };
  bool same(const Place& place, int kv, const Half& half, double loose) const;
  double turnedBy(CacheLayer layer, LedgerId id) const;

  const CheckInput& m_input;
  const ScalarDecoder& m_decoder;
  Findings& m_findings;
  bool m_rounds;
};

}  // namespace kvlab
