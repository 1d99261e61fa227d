// SPDX-License-Identifier: Apache-2.0
// A LensNet predicts, from the vectors of the entries and of the newest tokens, the share of attention that each entry
// would get from later tokens if all of it stood as tokens. The lens scores that share as it scores attention (lens.h):
// above 0 an entry shall be expanded, below 0 collapsed. All memory is the host's; sums have a fixed order. Immutable
// once loaded; one owner per call of mass().
//
// The network comes from a safetensors file (resources/lens/train.py writes one). With d = hidden, m = width, f = inner
// width, T = tokens of the tail, heads of 16:
//
//   entry    [m, d]    features [m, 4]    layers.{n}.q, k, v, o [m, m]
//   tail     [m, d]    position [T, m]    layers.{n}.w1 [f, m]   b1 [f]   w2 [m, f]   b2 [m]
//   out      [m]
//
// u(x) = x over its root mean square. For an entry x that ends D moments before the end of the time line, h = entry
// u(x)
// + features (1, is LOD1, is LOD2, ln(1 + D) / 8). For the tail's token y, j-th from the end, t = tail u(y) +
// position_j. Each layer: h += o attention(q u(h); k t, v t), then h += w2 silu(w1 u(h) + b1) + b2. The share is the
// softmax over the entries of out . u(h). Metadata: `kind` = "lens_net", `model` (fingerprint, text).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/tree_node.h"
#include "kernels/backend/backend.h"

namespace kvlab {

struct LensNetLayer {
  std::vector<float> q, k, v, o, w1, b1, w2, b2;
};

/// Shapes as above.
struct LensNetWeights {
  std::int64_t hidden = 0, width = 0, inner = 0, tail = 0;
  std::vector<float> entry, features, tailIn, position, out;
  std::vector<LensNetLayer> layers;
};

class LensNet {
 public:
  LensNet(std::string model, LensNetWeights weights, std::shared_ptr<kernels::Backend> host)
      : m_model(std::move(model)), m_weights(std::move(weights)), m_host(std::move(host)) {}

  /// Fingerprint of the model that the network was trained for; empty = any model.
  const std::string& model() const { return m_model; }
  /// Tokens of the tail that it looks at.
  std::int64_t tail() const { return m_weights.tail; }
  /// nodes: the entries of a time line of `length` moments; entries [nodes, hidden]; tail [1 .. tail(), hidden], the
  /// newest last. The shares sum up to 1.
  std::vector<double> mass(std::span<const TreeNode> nodes, std::int32_t length, std::span<const float> entries,
                           std::span<const float> tail) const;

 private:
  using Rows = std::vector<float>;
  Rows product(std::span<const float> x, const Rows& weight, std::int64_t n, std::int64_t k) const;
  Rows unit(std::span<const float> x, std::int64_t width) const;
  Rows entriesIn(std::span<const TreeNode> nodes, std::int32_t length, std::span<const float> entries) const;
  Rows tailIn(std::span<const float> tail) const;
  Rows attended(const LensNetLayer& layer, const Rows& h, const Rows& t) const;
  Rows mlp(const LensNetLayer& layer, const Rows& h) const;

  std::string m_model;
  LensNetWeights m_weights;
  std::shared_ptr<kernels::Backend> m_host;
};

/// Errors: bad_file (no safetensors file), bad_lens (with the tensor or the metadata key as field). `host`: a backend
/// in host memory.
Result<std::shared_ptr<const LensNet>> loadLensNet(const std::string& path, int hidden,
                                                   std::shared_ptr<kernels::Backend> host);

}  // namespace kvlab
