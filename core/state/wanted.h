// SPDX-License-Identifier: Apache-2.0
// Requested results of a forward pass, and the attention that it returned. By default nothing is returned; requests are
// combined with |. Each statistic of attention has a field of kernels::AttentionOut that kernels fill, a field of
// Wanted, a field of NewestAttention, and a line of kAttentionLists that ties the three together. Values; made on the
// engine thread, read on any thread.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"
#include "kernels/ops/attention.h"

namespace kvlab {

class GateWeights;

/// Cache layers whose attention is copied to the host: none, those of the model's last layer, or all.
enum class InLayers : std::uint8_t { None, Last, All };

struct Wanted {
  bool logits = false;                           // next-token logits of the last row
  bool surprise = false;                         // surprise of each row but the first, by the logits of the row before
  InLayers newest = InLayers::None;              // attention of the last row, mean over query heads
  InLayers newestPerHead = InLayers::None;       // attention of the last row
  InLayers received = InLayers::None;            // attention summed over all rows, mean over query heads
  InLayers receivedPerHead = InLayers::None;     // attention summed over all rows
  std::optional<std::int32_t> momentsFrom = {};  // moments of queries at positions from here on
  const GateWeights* gates = nullptr;            // scores the keys of all rows; belongs to the transformer's backend

  Wanted operator|(const Wanted& other) const;
  bool attention() const;  // true if attention of some layer is requested
};

/// Attention of the last forward pass. [layers] are cache layers; lists that were not requested are empty.
struct NewestAttention {
  std::vector<std::shared_ptr<const ResidencyView>> maps;  // [layers] maps at the time of the pass
  std::vector<std::vector<float>> mass;             // [layers][rows + 1] the newest query's, mean over query heads
  std::vector<std::vector<float>> perHead;          // [layers][heads of the layer, rows + 1] the newest query's
  std::vector<std::vector<float>> received;         // [layers][rows + 1] summed over the pass, mean over query heads
  std::vector<std::vector<float>> receivedPerHead;  // [layers][heads of the layer, rows + 1] summed over the pass

  /// True if the mass of every layer is present.
  bool whole() const {
    return std::none_of(mass.begin(), mass.end(), [](const std::vector<float>& layer) { return layer.empty(); });
  }
};

/// One statistic of attention.
struct AttentionList {
  InLayers Wanted::*wanted;
  float* kernels::AttentionOut::*out;
  std::vector<std::vector<float>> NewestAttention::*host;
  bool perHead;  // one list per query head of the layer, else one list
  bool summed;   // summed over all queries of the pass, else the last query only
};

inline constexpr AttentionList kAttentionLists[] = {
    {&Wanted::newest, &kernels::AttentionOut::newest, &NewestAttention::mass, false, false},
    {&Wanted::newestPerHead, &kernels::AttentionOut::newestPerHead, &NewestAttention::perHead, true, false},
    {&Wanted::received, &kernels::AttentionOut::received, &NewestAttention::received, false, true},
    {&Wanted::receivedPerHead, &kernels::AttentionOut::receivedPerHead, &NewestAttention::receivedPerHead, true, true}};

inline Wanted Wanted::operator|(const Wanted& other) const {
  Wanted both = *this;
  both.logits = logits || other.logits;
  both.surprise = surprise || other.surprise;
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
