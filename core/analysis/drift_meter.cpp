// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/rebuild.h"

#include <cmath>
#include <limits>

#include "core/analysis/metrics.h"
#include "kernels/backend/staging.h"

namespace kvlab {
void DriftMeter::add(CacheLayer layer, const RowPool& live, std::span<const std::int32_t> slots, const RowPool& rebuilt,
                     std::span<const std::int32_t> records, std::span<const std::int32_t> positions) {
  const auto n = static_cast<std::int64_t>(slots.size());
  const std::int64_t width = live.width();
  kernels::Backend& backend = live.backend();
  kernels::Staging staging(backend);
  float *was[2], *is[2];
  for (float** values : {&was[0], &was[1], &is[0], &is[1]}) *values = staging.temporary<float>(at(n * width));
  backend.ops().gatherRows(backend.context(), {live.data(), live.format(), staging.in(slots), n, was[0], was[1]});
  backend.ops().gatherRows(backend.context(), {rebuilt.data(), rebuilt.format(), staging.in(records), n, is[0], is[1]});
  std::vector<double> relatives[2], cosines[2];
  for (int side = 0; side < 2; ++side) {
    relatives[side].resize(at(n));
    cosines[side].resize(at(n));
    backend.ops().diffRows(backend.context(),
                           {was[side], is[side], n, width, staging.out(relatives[side].data(), at(n)),
                            staging.out(cosines[side].data(), at(n)), nullptr});
  }
  staging.finish();
  for (int side = 0; side < 2; ++side) {
    const std::vector<double>&relative = relatives[side], &cosine = cosines[side];
    std::vector<float> rows(at(m_length), std::numeric_limits<float>::quiet_NaN());
    double largest = 0, smallest = 1;
    for (std::size_t i = 0; i < at(n); ++i) {
      // A row with a not-a-number is infinitely far away.
      const double apart = std::isnan(relative[i]) ? std::numeric_limits<double>::infinity() : relative[i];
      rows[at(positions[i])] = static_cast<float>(apart);
      largest = std::max(largest, apart);
      smallest = std::min(smallest, std::isnan(cosine[i]) ? -1 : cosine[i]);
      if (apart > m_worst) {
        m_worst = apart;
        m_out.worstLayer = layer;
        m_out.worstPosition = positions[i];
      }
    }
    (side == 0 ? m_out.k : m_out.v).push_back(largest);
    (side == 0 ? m_out.kCosine : m_out.vCosine).push_back(smallest);
    (side == 0 ? m_out.kRows : m_out.vRows).push_back(std::move(rows));
  }
}

Drift DriftMeter::finish(std::span<const float> rebuilt, std::span<const float> live) && {
  if (!rebuilt.empty() && rebuilt.size() == live.size()) m_out.kl = klDivergence(rebuilt, live);
  return std::move(m_out);
}

}  // namespace kvlab
