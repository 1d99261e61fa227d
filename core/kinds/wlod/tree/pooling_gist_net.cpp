// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/pooling_gist_net.h"

#include <cmath>

#include "core/kinds/wlod/tree/gist_net.h"

namespace kvlab {
namespace {

constexpr float kEps = 1e-12f;  // small, because squares of embeddings are small

kernels::Weight weightOf(const std::vector<float>& values, std::int64_t n, std::int64_t k) {
  return {.data = values.data(), .n = n, .k = k};
}

void softmax(float* values, std::int64_t n) {
  const float highest = *std::max_element(values, values + n);
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += values[i] = std::exp(values[i] - highest);
  for (std::int64_t i = 0; i < n; ++i) values[i] /= sum;
}

}  // namespace

/// [n, pools, 32] weights of the children.
std::vector<float> PoolingGistNet::poolWeights(const PoolingLevel& net, const float* children, std::int64_t n) const {
  const std::int64_t rows = n * kGistBlock;
  std::vector<float> normed(at(rows * m_hidden)), scores(at(rows * net.pools)), weights(scores.size());
  kernels::RmsnormArgs norm;
  norm.x = children;
  norm.weight = net.norm.data();
  norm.y = normed.data();
  norm.rows = rows;
  norm.dim = m_hidden;
  norm.eps = kEps;
  m_host->ops().rmsnorm(m_host->context(), norm);
  m_host->ops().matmul(m_host->context(),
                       {normed.data(), weightOf(net.query, net.pools, m_hidden), nullptr, scores.data(), rows});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t h = 0; h < net.pools; ++h) {
      float* own = weights.data() + (i * net.pools + h) * kGistBlock;
      for (std::int64_t c = 0; c < kGistBlock; ++c)
        own[c] = scores[at((i * kGistBlock + c) * net.pools + h)] + net.position[at(h * kGistBlock + c)];
      softmax(own, kGistBlock);
    }
  return weights;
}

/// out [n, hidden] += w2 silu(w1 z + b1) + b2, z = pooled [n, pools*hidden] over its root mean square.
void PoolingGistNet::addMlp(const PoolingLevel& net, const std::vector<float>& pooled, std::int64_t n,
                            float* out) const {
  const std::int64_t wide = net.pools * m_hidden;
  const std::vector<float> ones(at(wide), 1.0f);
  std::vector<float> z(pooled.size()), inner(at(n * net.width)), added(at(n * m_hidden));
  kernels::RmsnormArgs norm;
  norm.x = pooled.data();
  norm.weight = ones.data();
  norm.y = z.data();
  norm.rows = n;
  norm.dim = wide;
  norm.eps = kEps;
  const kernels::OpTable& ops = m_host->ops();
  ops.rmsnorm(m_host->context(), norm);
  ops.matmul(m_host->context(), {z.data(), weightOf(net.w1, net.width, wide), net.b1.data(), inner.data(), n});
  for (float& x : inner) x = x / (1.0f + std::exp(-x));
  ops.matmul(m_host->context(), {inner.data(), weightOf(net.w2, m_hidden, net.width), net.b2.data(), added.data(), n});
  for (std::int64_t i = 0; i < n * m_hidden; ++i) out[i] += added[at(i)];
}

void PoolingGistNet::gists(int level, const float* children, std::int64_t n, float* out) const {
  const PoolingLevel& net = m_levels[std::min(at(level - 1), m_levels.size() - 1)];
  const std::vector<float> weights = poolWeights(net, children, n);
  std::vector<float> pooled(at(n * net.pools * m_hidden));
  for (std::int64_t i = 0; i < n; ++i) {
    const float* own = children + i * kGistBlock * m_hidden;
    meanOf(own, m_hidden, out + i * m_hidden);
    for (std::int64_t h = 0; h < net.pools; ++h) {
      float* to = pooled.data() + (i * net.pools + h) * m_hidden;
      for (std::int64_t c = 0; c < kGistBlock; ++c) {
        const float share = weights[at((i * net.pools + h) * kGistBlock + c)];
        for (std::int64_t d = 0; d < m_hidden; ++d) to[d] += share * own[c * m_hidden + d];
      }
    }
  }
  addMlp(net, pooled, n, out);
}

}  // namespace kvlab
