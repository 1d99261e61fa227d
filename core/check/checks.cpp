// SPDX-License-Identifier: Apache-2.0
#include "core/check/checks.h"

#include <algorithm>
#include <iterator>

namespace kvlab {

Place placeIn(std::optional<CacheLayer> layer, std::size_t index, const Column<LedgerId>& rows) {
  return {layer, index, index < rows.size() ? std::optional(rows[index]) : std::nullopt};
}

void Findings::add(const Place& place, std::string detail, const Harm& harm) {
  if (m_count++ >= kKept) {
    m_moreHarm = m_moreHarm || harm.any();
    return;
  }
  Violation violation;
  violation.invariant = m_invariant;
  violation.detail = std::move(detail);
  violation.layer = place.layer;
  if (place.index) violation.index = Index(static_cast<std::int32_t>(*place.index));
  violation.ledger = place.ledger;
  m_out.push_back(std::move(violation));
  if (m_harms) m_harms->push_back(harm);
}

Findings::~Findings() {
  if (m_count <= kKept) return;
  m_out.back().detail += " (and " + std::to_string(m_count - kKept) + " more)";
  if (m_harms) m_harms->back().more = m_moreHarm;
}

namespace {

constexpr Invariant kInvariants[] = {
#define KVLAB_INVARIANT(id, function, of, cheap, title) {#id, title, &function, Of::of, Cheap::cheap},
#include "core/check/invariants.inc"
#undef KVLAB_INVARIANT
};

}  // namespace

std::span<const Invariant> commonInvariants() { return kInvariants; }

std::span<const Invariant> shapeInvariants() {
  const auto end = std::ranges::find(kInvariants, Of::Rows, &Invariant::of);
  return {std::begin(kInvariants), end};
}

}  // namespace kvlab
