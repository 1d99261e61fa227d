// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/gist_net.h"
#include "core/kinds/wlod/tree/net_file.h"
#include "core/kinds/wlod/tree/pooling_gist_net.h"

namespace kvlab {
namespace {

std::string nameOf(int level, const char* part) { return "levels." + std::to_string(level) + "." + part; }

/// Reads the sizes that only the file knows, then all seven tensors.
Result<PoolingLevel> readLevel(NetFile& file, int level, std::int64_t hidden) {
  PoolingLevel net;
  net.pools = KV_TRY(file.rows(nameOf(level, "query")));
  net.width = KV_TRY(file.rows(nameOf(level, "w1")));
  const struct {
    const char* part;
    std::vector<std::int64_t> shape;
    std::vector<float>& values;
  } parts[] = {{"norm", {hidden}, net.norm},
               {"query", {net.pools, hidden}, net.query},
               {"position", {net.pools, kGistBlock}, net.position},
               {"w1", {net.width, net.pools * hidden}, net.w1},
               {"b1", {net.width}, net.b1},
               {"w2", {hidden, net.width}, net.w2},
               {"b2", {hidden}, net.b2}};
  for (const auto& part : parts) part.values = KV_TRY(file.take(nameOf(level, part.part), part.shape));
  return net;
}

}  // namespace

Result<std::shared_ptr<const GistNet>> loadGistNet(const std::string& path, int hidden,
                                                   std::shared_ptr<kernels::Backend> host) {
  NetFile file(path, {"bad_gist_net", "gist_net", "gist network", "core/kinds/wlod/tree/gist_net.h"},
               KV_TRY(Safetensors::open(path)));
  std::string model = KV_TRY(file.model());
  std::vector<GistFigures> figures;
  if (const auto measured = file.metadata("measured")) figures = KV_TRY(readGistFigures(*measured, path));
  std::vector<PoolingLevel> levels;
  for (int level = 1; level <= kTopLevel && (level == 1 || file.has(nameOf(level, "query"))); ++level)
    levels.push_back(KV_TRY(readLevel(file, level, hidden)));
  KV_TRY(file.nothingElse());
  return std::shared_ptr<const GistNet>(std::make_shared<PoolingGistNet>(path, std::move(model), std::move(figures),
                                                                         hidden, std::move(levels), std::move(host)));
}

}  // namespace kvlab
