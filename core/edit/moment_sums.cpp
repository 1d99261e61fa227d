// SPDX-License-Identifier: Apache-2.0
#include "core/edit/moment_sums.h"

#include "core/state/host_work.h"
#include "kernels/backend/staging.h"

namespace kvlab {
MomentSums::MomentSums(Transformer& transformer, std::int32_t from) : m_transformer(transformer), m_from(from) {
  const ModelConfig& c = transformer.model().config();
  const std::size_t mean = at(std::int64_t{c.heads} * c.headDim);
  m_sums.assign(at(c.layers), {std::vector<double>(mean), std::vector<double>(mean * at(c.headDim))});
  m_counts.assign(at(c.layers), 0);
}

void MomentSums::add(Layer l, const float* x, std::span<const RowTarget> rows) {
  const ModelConfig& c = m_transformer.model().config();
  const std::size_t n = rows.size(), dim = at(c.headDim), width = at(c.heads) * dim, kvWidth = at(c.kvHeads) * dim;
  kernels::Staging staging(m_transformer.backend());
  float *k = staging.temporary<float>(n * kvWidth), *v = staging.temporary<float>(n * kvWidth),
        *q = staging.temporary<float>(n * width);
  m_transformer.projectTo(l, static_cast<std::int64_t>(n), x, k, v, q);
  std::vector<float> queries(n * width);
  staging.bring(queries.data(), q, queries.size());
  staging.finish();
  QueryMoments& sums = m_sums[at(l)];
  const auto counted = [&](std::size_t row) { return rows[row].position >= m_from; };
  for (std::size_t row = 0; row < n; ++row) m_counts[at(l)] += counted(row);
  onThreads(&m_transformer.backend(), at(c.heads), [&](std::size_t head) {
    double *mean = sums.mean.data() + head * dim, *square = sums.covariance.data() + head * dim * dim;
    for (std::size_t row = 0; row < n; ++row) {
      if (!counted(row)) continue;
      const float* one = queries.data() + row * width + head * dim;
      addScaled(mean, one, 1, dim);
      for (std::size_t i = 0; i < dim; ++i) addScaled(square + i * dim + i, one + i, one[i], dim - i);
    }
  });
}

std::vector<std::shared_ptr<const QueryMoments>> MomentSums::take() {
  const ModelConfig& c = m_transformer.model().config();
  const std::size_t dim = at(c.headDim);
  std::vector<std::shared_ptr<const QueryMoments>> out;
  for (std::size_t l = 0; l < m_sums.size(); ++l) {
    QueryMoments& m = m_sums[l];
    const double n = static_cast<double>(std::max<std::int64_t>(1, m_counts[l]));
    for (double& one : m.mean) one /= n;
    for (std::size_t head = 0; head < at(c.heads); ++head)
      for (std::size_t i = 0; i < dim; ++i)
        for (std::size_t j = i; j < dim; ++j) {
          double& one = m.covariance[(head * dim + i) * dim + j];
          one = one / n - m.mean[head * dim + i] * m.mean[head * dim + j];
          m.covariance[(head * dim + j) * dim + i] = one;
        }
    out.push_back(std::make_shared<const QueryMoments>(std::move(m)));
  }
  return out;
}

}  // namespace kvlab
