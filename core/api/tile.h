// SPDX-License-Identifier: Apache-2.0
// Dense per-row columns travel to the window as tiles, only when asked for. Values; any thread.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"

namespace kvlab {

/// The quantity that a tile holds per (cache layer, position). Not-a-number: the row is not resident or not known.
enum class Quantity : std::uint8_t {
  Brightness,  // 0..255
  Age,         // ticks since the row was born
  Residency,   // 1 resident, 0 not
  Attention,   // mass of the newest query, 0..1
  Received,    // mass summed over the last prefill's queries
  PhaseLag,    // |phase - phase at birth|
  Staleness,   // 0 exact .. 5 loaded, see Exactness
  DriftK,      // relative L2 against a rebuild; needs a drift pass
  DriftV,
  KNorm,  // L2 over the layer's heads
  VNorm,
  QuantK,  // relative L2 of stored against computed values; needs a quantisation pass
  QuantV,
  QuantLogit,   // error of the newest query's logits from stored keys
  Score,        // last score that the layer's policy gave the row; higher stays
  Surprise,     // -ln p of the token when it was scored, nats; the same in all layers
  DifferenceK,  // relative L2 against the state that was compared last; 1 = that state lacks the row
  DifferenceV,
  KnockOut,  // KL of the next token without the row alone, nats; the same in all layers; needs knockOut with each
};
inline constexpr int kQuantities = 19;
std::string_view name(Quantity quantity);   // "brightness"
std::string_view title(Quantity quantity);  // "Brightness"
std::optional<Quantity> quantityFromName(std::string_view name);

struct TileRequest {
  Quantity quantity = Quantity::Brightness;
  std::optional<CacheLayer> layer = {};  // all layers unless set
  std::optional<Tick> tick = {};         // a tick of this branch; the newest unless set
  Position begin{0};                     // half-open range of context positions; end is clipped
  Position end{INT32_MAX};
};

struct Tile {
  TileRequest request;
  Tick tick;
  int layers = 0;             // the one that was asked for, or all
  int positions = 0;          // first position = request.begin
  std::vector<float> values;  // [layers][positions]

  auto cacheLayers() const {
    const std::int32_t first = request.layer.value_or(CacheLayer(0)).value();
    return idRange<CacheLayer>(first, first + layers);
  }
};

/// A tile of the state at the moment of the request. A device may still be bringing parts of it beside the ticks.
/// Engine thread; one at a time.
class PendingTile {
 public:
  virtual ~PendingTile() = default;
  /// True if take() would not wait. The question itself never waits.
  virtual bool arrived() const = 0;
  /// Call it once. Errors: device, out_of_memory.
  virtual Result<Tile> take() = 0;
};

}  // namespace kvlab
