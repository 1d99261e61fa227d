// SPDX-License-Identifier: Apache-2.0
// What a forward pass is asked to bring back, and the attention that it brought. Nothing is asked for by default;
// whoever wants something ors it in. A statistic of attention is a list of its own: a field of
// kernels::AttentionOut that the kernels fill, a field of Wanted, one of NewestAttention, and a line of
// kAttentionLists that ties them together. Values; the engine thread makes them, any thread may read them.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"
#include "kernels/ops/attention.h"

namespace kvlab {

class GateWeights;

/// Cache layers whose attention comes to the host: none, those of the model's last layer, or all.
enum class InLayers : std::uint8_t { None, Last, All };

struct Wanted {
  bool logits = false;                           // of the last row
  InLayers newest = InLayers::None;              // attention of the last row, mean over query heads
  InLayers newestPerHead = InLayers::None;       // attention of the last row
  InLayers received = InLayers::None;            // attention summed over all rows, mean over query heads
  InLayers receivedPerHead = InLayers::None;     // attention summed over all rows
  std::optional<std::int32_t> momentsFrom = {};  // query moments, from this position on
  const GateWeights* gates = nullptr;            // score the keys of all rows; of the transformer's back end

  Wanted operator|(const Wanted& other) const;
  bool attention() const;  // in some layer
};

/// Attention of the last forward pass. [layers] are cache layers; a list that did not come to the host is empty.
struct NewestAttention {
  std::vector<std::shared_ptr<const ResidencyView>> maps;  // [layers] as they were then
  std::vector<std::vector<float>> mass;             // [layers][rows + 1] of the newest query, mean over query heads
  std::vector<std::vector<float>> perHead;          // [layers][heads of the layer, rows + 1] of the newest query
  std::vector<std::vector<float>> received;         // [layers][rows + 1] summed over the pass, mean over query heads
  std::vector<std::vector<float>> receivedPerHead;  // [layers][heads of the layer, rows + 1] summed over the pass

  /// Whether every layer's mass is here.
  bool whole() const {
    return std::none_of(mass.begin(), mass.end(), [](const std::vector<float>& layer) { return layer.empty(); });
  }
};

/// A statistic of attention.
struct AttentionList {
  InLayers Wanted::*wanted;
  float* kernels::AttentionOut::*out;
  std::vector<std::vector<float>> NewestAttention::*host;
  bool perHead;  // a list for every query head of the layer, else one list
  bool summed;   // over all queries of the pass, else of the last one
};

inline constexpr AttentionList kAttentionLists[] = {
    {&Wanted::newest, &kernels::AttentionOut::newest, &NewestAttention::mass, false, false},
    {&Wanted::newestPerHead, &kernels::AttentionOut::newestPerHead, &NewestAttention::perHead, true, false},
    {&Wanted::received, &kernels::AttentionOut::received, &NewestAttention::received, false, true},
    {&Wanted::receivedPerHead, &kernels::AttentionOut::receivedPerHead, &NewestAttention::receivedPerHead, true, true}};

inline Wanted Wanted::operator|(const Wanted& other) const {
  Wanted both = *this;
  both.logits = logits || other.logits;
  for (const AttentionList& list : kAttentionLists)
    both.*list.wanted = std::max(this->*list.wanted, other.*list.wanted);
  if (other.momentsFrom) both.momentsFrom = std::min(momentsFrom.value_or(*other.momentsFrom), *other.momentsFrom);
  if (!gates) both.gates = other.gates;
  return both;
}

inline bool Wanted::attention() const {
  return std::any_of(std::begin(kAttentionLists), std::end(kAttentionLists),
                     [&](const AttentionList& list) { return this->*list.wanted != InLayers::None; });
}

}  // namespace kvlab
