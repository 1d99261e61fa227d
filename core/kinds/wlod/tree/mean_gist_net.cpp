// SPDX-License-Identifier: Apache-2.0
#include "core/api/tree_node.h"
#include "core/kinds/wlod/tree/gist_net.h"

namespace kvlab {
namespace {

class MeanGistNet : public GistNet {
 public:
  explicit MeanGistNet(int hidden) : m_hidden(hidden) {}
  const std::string& name() const override { return m_name; }
  const std::string& model() const override { return m_model; }
  const std::vector<GistFigures>& figures() const override { return m_figures; }
  void gists(int, const float* children, std::int64_t n, float* out) const override {
    for (std::int64_t i = 0; i < n; ++i) meanOf(children + i * kGistBlock * m_hidden, m_hidden, out + i * m_hidden);
  }

 private:
  int m_hidden;
  std::string m_name = "mean", m_model;
  std::vector<GistFigures> m_figures;
};

}  // namespace

std::shared_ptr<const GistNet> meanGistNet(int hidden) { return std::make_shared<MeanGistNet>(hidden); }

}  // namespace kvlab
