// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/lens_net.h"

#include <algorithm>
#include <cmath>

#include "core/kinds/wlod/tree/net_file.h"

namespace kvlab {
namespace {

constexpr std::int64_t kLensHead = 16;
constexpr std::int64_t kLensFeatures = 4;

void addTo(std::vector<float>& sum, const std::vector<float>& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

/// Softmax over the tail of one head, then the mean of its values: out [16].
void mixed(const float* q, const float* k, const float* v, std::int64_t tail, std::int64_t width, float* out) {
  std::vector<float> weights(at(tail));
  float highest = -INFINITY, sum = 0;
  for (std::int64_t j = 0; j < tail; ++j) {
    float score = 0;
    for (std::int64_t d = 0; d < kLensHead; ++d) score += q[d] * k[j * width + d];
    weights[at(j)] = score / 4.0f;  // the root of 16
    highest = std::max(highest, weights[at(j)]);
  }
  for (float& weight : weights) sum += weight = std::exp(weight - highest);
  for (std::int64_t j = 0; j < tail; ++j)
    for (std::int64_t d = 0; d < kLensHead; ++d) out[d] += weights[at(j)] / sum * v[j * width + d];
}

}  // namespace

/// [rows, k] times [n, k] -> [rows, n].
LensNet::Rows LensNet::product(std::span<const float> x, const Rows& weight, std::int64_t n, std::int64_t k) const {
  const auto rows = static_cast<std::int64_t>(x.size()) / k;
  Rows out(at(rows * n));
  m_host->ops().matmul(m_host->context(),
                       {x.data(), {.data = weight.data(), .n = n, .k = k}, nullptr, out.data(), rows});
  return out;
}

LensNet::Rows LensNet::unit(std::span<const float> x, std::int64_t width) const {
  const Rows ones(at(width), 1.0f);
  Rows out(x.size());
  const auto rows = static_cast<std::int64_t>(x.size()) / width;
  constexpr float kSmall = 1e-12f;  // because squares of embeddings are small
  m_host->ops().rmsnorm(
      m_host->context(),
      {.x = x.data(), .weight = ones.data(), .y = out.data(), .rows = rows, .dim = width, .eps = kSmall});
  return out;
}

LensNet::Rows LensNet::entriesIn(std::span<const TreeNode> nodes, std::int32_t length,
                                 std::span<const float> entries) const {
  Rows features;
  for (const TreeNode node : nodes)
    for (const double value : {1.0, node.level == 1 ? 1.0 : 0.0, node.level == 2 ? 1.0 : 0.0,
                               std::log1p(static_cast<double>(length - node.end())) / 8})
      features.push_back(static_cast<float>(value));
  Rows h = product(unit(entries, m_weights.hidden), m_weights.entry, m_weights.width, m_weights.hidden);
  addTo(h, product(features, m_weights.features, m_weights.width, kLensFeatures));
  return h;
}

LensNet::Rows LensNet::tailIn(std::span<const float> tail) const {
  Rows t = product(unit(tail, m_weights.hidden), m_weights.tailIn, m_weights.width, m_weights.hidden);
  const std::int64_t width = m_weights.width, count = static_cast<std::int64_t>(t.size()) / width;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t d = 0; d < width; ++d)
      t[at(i * width + d)] += m_weights.position[at((count - 1 - i) * width + d)];
  return t;
}

LensNet::Rows LensNet::attended(const LensNetLayer& layer, const Rows& h, const Rows& t) const {
  const std::int64_t width = m_weights.width, tail = static_cast<std::int64_t>(t.size()) / width;
  const Rows q = product(unit(h, width), layer.q, width, width), k = product(t, layer.k, width, width),
             v = product(t, layer.v, width, width);
  Rows out(h.size());
  for (std::size_t row = 0; row < h.size(); row += at(width))
    for (std::int64_t head = 0; head < width; head += kLensHead)
      mixed(q.data() + row + head, k.data() + head, v.data() + head, tail, width, out.data() + row + head);
  return product(out, layer.o, width, width);
}

LensNet::Rows LensNet::mlp(const LensNetLayer& layer, const Rows& h) const {
  Rows inner = product(unit(h, m_weights.width), layer.w1, m_weights.inner, m_weights.width);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const float x = inner[i] + layer.b1[i % layer.b1.size()];
    inner[i] = x / (1.0f + std::exp(-x));
  }
  Rows out = product(inner, layer.w2, m_weights.width, m_weights.inner);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += layer.b2[i % layer.b2.size()];
  return out;
}

std::vector<double> LensNet::mass(std::span<const TreeNode> nodes, std::int32_t length, std::span<const float> entries,
                                  std::span<const float> tail) const {
  Rows h = entriesIn(nodes, length, entries);
  const Rows t = tailIn(tail);
  for (const LensNetLayer& layer : m_weights.layers) {
    addTo(h, attended(layer, h, t));
    addTo(h, mlp(layer, h));
  }
  const Rows logits = product(unit(h, m_weights.width), m_weights.out, 1, m_weights.width);
  const double highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> out;
  double sum = 0;
  for (const float x : logits) sum += out.emplace_back(std::exp(x - highest));
  for (double& share : out) share /= sum;
  return out;
}

namespace {

constexpr std::int64_t kMostWidth = 1024, kMostTail = 4096;
constexpr int kMostLayers = 8;

Result<LensNetLayer> readLayer(NetFile& file, int number, const LensNetWeights& net) {
  LensNetLayer layer;
  const std::int64_t m = net.width, f = net.inner;
  const struct {
    const char* part;
    std::vector<std::int64_t> shape;
    std::vector<float>& values;
  } parts[] = {{"q", {m, m}, layer.q},   {"k", {m, m}, layer.k}, {"v", {m, m}, layer.v},   {"o", {m, m}, layer.o},
               {"w1", {f, m}, layer.w1}, {"b1", {f}, layer.b1},  {"w2", {m, f}, layer.w2}, {"b2", {m}, layer.b2}};
  for (const auto& part : parts)
    part.values = KV_TRY(file.take("layers." + std::to_string(number) + "." + part.part, part.shape));
  return layer;
}

Result<LensNetWeights> readNet(NetFile& file, std::int64_t hidden) {
  LensNetWeights net;
  net.hidden = hidden;
  net.width = KV_TRY(file.rows("entry", kMostWidth));
  if (net.width % 16)
    return file.bad("entry", "has " + std::to_string(net.width) + " rows, no multiple of 16", "train it again");
  net.tail = KV_TRY(file.rows("position", kMostTail));
  net.inner = KV_TRY(file.rows("layers.0.w1", 4 * kMostWidth));
  net.entry = KV_TRY(file.take("entry", {net.width, hidden}));
  net.tailIn = KV_TRY(file.take("tail", {net.width, hidden}));
  net.features = KV_TRY(file.take("features", {net.width, 4}));
  net.position = KV_TRY(file.take("position", {net.tail, net.width}));
  net.out = KV_TRY(file.take("out", {net.width}));
  for (int n = 0; n < kMostLayers && (n == 0 || file.has("layers." + std::to_string(n) + ".q")); ++n)
    net.layers.push_back(KV_TRY(readLayer(file, n, net)));
  KV_TRY(file.nothingElse());
  return net;
}

}  // namespace

Result<std::shared_ptr<const LensNet>> loadLensNet(const std::string& path, int hidden,
                                                   std::shared_ptr<kernels::Backend> host) {
  NetFile file(path, {"bad_lens", "lens_net", "lens network", "core/kinds/wlod/tree/lens_net.h"},
               KV_TRY(Safetensors::open(path)));
  std::string model = KV_TRY(file.model());
  LensNetWeights weights = KV_TRY(readNet(file, hidden));
  return std::shared_ptr<const LensNet>(
      std::make_shared<LensNet>(std::move(model), std::move(weights), std::move(host)));
}

}  // namespace kvlab
