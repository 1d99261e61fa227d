// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lane_tokens.h"

#include <algorithm>

#include "core/model/decoder/sampler.h"

namespace kvlab {

void LaneTokens::take(LedgerId id, float loss) {
  m_placeOf.resize(std::max(m_placeOf.size(), static_cast<std::size_t>(id.value()) + 1), -1);
  m_placeOf[static_cast<std::size_t>(id.value())] = static_cast<std::int32_t>(m_taken.size());
  m_taken.push_back(id);
  m_losses.push_back(loss);
}

void LaneTokens::start(const CacheState& state) {
  m_taken = {};
  m_losses = {};
  m_placeOf.assign(state.ledger.size(), -1);
  for (const LedgerId id : state.context) take(id, state.ledger[id].surprise);
}

bool LaneTokens::follow(const CacheState& state, const std::vector<float>* before, double& taken) {
  taken = std::numeric_limits<double>::quiet_NaN();
  if (state.ledger.size() < m_placeOf.size()) return false;
  for (auto i = static_cast<std::int32_t>(m_placeOf.size()); i < state.ledger.nextId().value(); ++i) {
    const Source source = state.ledger[LedgerId(i)].source;
    const bool edit = source == Source::Replacement || source == Source::Insertion;
    if (!edit && before) taken = negativeLogLikelihood(*before, state.ledger[LedgerId(i)].token);
    if (edit) m_placeOf.push_back(-1);
    else take(LedgerId(i), before ? static_cast<float>(taken) : state.ledger[LedgerId(i)].surprise);
    if (!edit) before = nullptr;
  }
  return true;
}

std::size_t LaneTokens::known(const CacheState& state) const {
  const LedgerId end = state.ledger.nextId();
  const auto gone = std::find_if(m_taken.begin(), m_taken.end(), [end](LedgerId id) { return id >= end; });
  return static_cast<std::size_t>(gone - m_taken.begin());
}

LaneTokens LaneTokens::ownCopy() const {
  LaneTokens out = *this;
  out.m_taken = m_taken.ownCopy();
  out.m_losses = m_losses.ownCopy();
  return out;
}

std::vector<std::uint8_t> LaneTokens::residents(const ResidencyView& map) const {
  std::vector<std::uint8_t> out(m_taken.size());
  for (std::size_t i = static_cast<std::size_t>(map.first); i < map.size(); ++i)
    if (const std::int32_t place = placeOf(map.ledger[i]); place >= 0) out[static_cast<std::size_t>(place)] = 1;
  return out;
}

}  // namespace kvlab
