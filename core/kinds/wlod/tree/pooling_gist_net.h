// SPDX-License-Identifier: Apache-2.0
// The trained GistNet (gist_net.h): attention pooling over the children, then an MLP on top of their mean.
// Immutable once loaded; one owner per call of gists().
#pragma once
#include <vector>

#include "core/api/tree_node.h"
#include "core/kinds/wlod/tree/gist_net.h"

namespace kvlab {

/// Shapes as in gist_net.h, all f32.
struct PoolingLevel {
  std::int64_t pools = 0, width = 0;  // H, m
  std::vector<float> norm, query, position, w1, b1, w2, b2;
};

class PoolingGistNet : public GistNet {
 public:
  PoolingGistNet(std::string name, std::string model, std::vector<GistFigures> figures, int hidden,
                 std::vector<PoolingLevel> levels, std::shared_ptr<kernels::Backend> host)
      : m_name(std::move(name)),
        m_model(std::move(model)),
        m_figures(std::move(figures)),
        m_hidden(hidden),
        m_levels(std::move(levels)),
        m_host(std::move(host)) {}

  const std::string& name() const override { return m_name; }
  const std::string& model() const override { return m_model; }
  const std::vector<GistFigures>& figures() const override { return m_figures; }
  void gists(int level, const float* children, std::int64_t n, float* out) const override;

 private:
  std::vector<float> poolWeights(const PoolingLevel& net, const float* children, std::int64_t n) const;
  void addMlp(const PoolingLevel& net, const std::vector<float>& pooled, std::int64_t n, float* out) const;

  std::string m_name, m_model;
  std::vector<GistFigures> m_figures;
  std::int64_t m_hidden;
  std::vector<PoolingLevel> m_levels;  // [1 or 2] of levels 1 and 2
  std::shared_ptr<kernels::Backend> m_host;
};

}  // namespace kvlab
