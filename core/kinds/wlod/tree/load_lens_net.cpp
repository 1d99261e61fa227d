// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/lens_net.h"
#include "core/kinds/wlod/tree/net_file.h"

namespace kvlab {
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
