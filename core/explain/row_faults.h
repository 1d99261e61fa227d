// SPDX-License-Identifier: Apache-2.0
// Rows that are not what they should be, each for a reason of its own: empty, not finite, of another token, at another
// position, scaled. Found layer by layer once the reading is known. Pure; any thread.
#pragma once
#include <vector>

#include "core/explain/reading.h"

namespace kvlab {

/// Rows of a layer as the explanation reads them, with what they should be; all [rows, width].
struct LayerRowsRead {
  int layer = 0, own = 0;  // number in the file, layer of the model
  std::span<const float> theirKeys, theirValues, ourKeys, ourValues;
  std::span<const float> keys, values;            // [rows, heads] relative L2
  std::span<const float> keyBounds, valueBounds;  // [rows, heads]
  const RowPlaces& places;
};

struct FaultGround {
  const ModelConfig& config;
  const TokenRows& exact;
  std::span<const TokenId> ids;
  const SideReading &keys, &values;
  std::int64_t length = 0;
  std::int32_t page = 0;
};

struct RowFault {
  enum class Kind : std::uint8_t { None, NotFinite, Zero, Scaled, OtherToken, OtherPosition, Foreign };
  Kind kind = Kind::None;
  int layer = 0;
  std::int32_t row = 0;
  bool keys = false, values = false;  // sides that are wrong
  std::vector<int> heads = {};        // that are wrong; empty = all
  double factor = 1;                  // Scaled
  std::int32_t token = -1;            // OtherToken: index in the text
  double phase = 0;                   // OtherPosition
};

/// Faults of the wrong rows of a layer; a row that none of the kinds fits has kind None. lowest: the layer's rows
/// depend on tokens and positions alone, so that a row near none of the text's tokens is of another text.
std::vector<RowFault> rowFaults(const LayerRowsRead& rows, const FaultGround& ground, bool lowest);

/// Causes of faults: those of one kind and side are one cause with its rows and layers. Faults of kind None are left
/// out. layers: of the file.
std::vector<Cause> faultCauses(const std::vector<RowFault>& faults, const std::vector<RowPlaces>& places,
                               const std::vector<int>& layers, const FaultGround& ground);

}  // namespace kvlab
