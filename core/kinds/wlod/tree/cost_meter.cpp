// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/cost_meter.h"

namespace kvlab {

void CostMeter::add(std::int64_t rows, std::int64_t pairs, double us) {
  if (rows <= 0 || !(us > 0)) return;
  const double r = static_cast<double>(rows) / us,
               p = static_cast<double>(pairs) / us;  // per microsecond: relative errors
  for (double* sum : {&m_rr, &m_rp, &m_pp, &m_ru, &m_pu}) *sum *= kFading;
  m_rr += r * r, m_rp += r * p, m_pp += p * p, m_ru += r, m_pu += p;
}

RecomputeCosts CostMeter::costs(const RecomputeCosts& before) const {
  RecomputeCosts out = before;
  if (!(m_rr > 0)) return out;
  const double det = m_rr * m_pp - m_rp * m_rp;
  double row = m_ru / m_rr, pair = 0;
  if (det > 1e-9 * m_rr * m_pp) {
    row = (m_ru * m_pp - m_pu * m_rp) / det;
    pair = (m_pu * m_rr - m_ru * m_rp) / det;
    if (pair < 0) row = m_ru / m_rr, pair = 0;
    if (row < 0) row = 0, pair = m_pu / m_pp;
  }
  out.rowUs = row;
  out.pairUs = pair;
  return out;
}

}  // namespace kvlab
