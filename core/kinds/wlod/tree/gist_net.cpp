// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/gist_net.h"

#include <cmath>
#include <cstdio>

#include "core/api/tree_node.h"
#include "core/kinds/wlod/tree/net_file.h"
#include "core/model/files/strict_json.h"
#include "core/policy/outside.h"

namespace kvlab {
namespace {

using nlohmann::json;

class MeanGistNet : public GistNet {
 public:
  explicit MeanGistNet(int hidden) : GistNet(hidden, "mean", {}, {}) {}
  Status gists(int, const float* children, std::int64_t n, float* out) const override {
    for (std::int64_t i = 0; i < n; ++i) meanOf(children + i * kGistBlock * m_hidden, m_hidden, out + i * m_hidden);
    return ok();
  }
};

/// Gists of a rule from outside.
class AddedGistNet : public GistNet {
 public:
  AddedGistNet(int hidden, AddedUse use) : GistNet(hidden, use.text, {}, {}), m_use(std::move(use)) {}
  Status gists(int level, const float* children, std::int64_t n, float* out) const override {
    const std::vector<float> made = KV_TRY(ruleOf<GistRule>(m_use).gists(
        {level, static_cast<int>(m_hidden), {children, at(n * kGistBlock * m_hidden)}, m_use.options}));
    const bool right = std::ranges::all_of(made, [](float one) { return std::isfinite(one); });
    if (!right || made.size() != at(n * m_hidden))
      return Error(
          "bad_gist", "the gist " + m_use.what->name + " failed",
          right ? "it gave " + std::to_string(made.size()) + " numbers" : "it gave numbers that are not finite",
          "mend it and add it again; the session is as it was", "name", m_use.what->name);
    std::ranges::copy(made, out);
    return ok();
  }

 private:
  AddedUse m_use;
};

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

/// A level of the trained network. Shapes as in gist_net.h, all f32.
struct PoolingLevel {
  std::int64_t pools = 0, width = 0;  // H, m
  std::vector<float> norm, query, position, w1, b1, w2, b2;
};

/// The trained network: attention pooling over the children, then an MLP on top of their mean. Immutable once loaded;
/// one owner per call of gists().
class PoolingGistNet : public GistNet {
 public:
  PoolingGistNet(std::string name, std::string model, std::vector<GistFigures> figures, int hidden,
                 std::vector<PoolingLevel> levels, std::shared_ptr<kernels::Backend> host)
      : GistNet(hidden, std::move(name), std::move(model), std::move(figures)),
        m_levels(std::move(levels)),
        m_host(std::move(host)) {}

  Status gists(int level, const float* children, std::int64_t n, float* out) const override {
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
    return ok();
  }

 private:
  /// [n, pools, 32] weights of the children.
  std::vector<float> poolWeights(const PoolingLevel& net, const float* children, std::int64_t n) const {
    const std::int64_t rows = n * kGistBlock;
    std::vector<float> normed(at(rows * m_hidden)), scores(at(rows * net.pools)), weights(scores.size());
    m_host->ops().rmsnorm(
        m_host->context(),
        {.x = children, .weight = net.norm.data(), .y = normed.data(), .rows = rows, .dim = m_hidden, .eps = kEps});
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
  void addMlp(const PoolingLevel& net, const std::vector<float>& pooled, std::int64_t n, float* out) const {
    const std::int64_t wide = net.pools * m_hidden;
    const std::vector<float> ones(at(wide), 1.0f);
    std::vector<float> z(pooled.size()), inner(at(n * net.width)), added(at(n * m_hidden));
    const kernels::OpTable& ops = m_host->ops();
    ops.rmsnorm(m_host->context(),
                {.x = pooled.data(), .weight = ones.data(), .y = z.data(), .rows = n, .dim = wide, .eps = kEps});
    ops.matmul(m_host->context(), {z.data(), weightOf(net.w1, net.width, wide), net.b1.data(), inner.data(), n});
    for (float& x : inner) x = x / (1.0f + std::exp(-x));
    ops.matmul(m_host->context(),
               {inner.data(), weightOf(net.w2, m_hidden, net.width), net.b2.data(), added.data(), n});
    for (std::int64_t i = 0; i < n * m_hidden; ++i) out[i] += added[at(i)];
  }

  std::vector<PoolingLevel> m_levels;  // [1 or 2] of levels 1 and 2
  std::shared_ptr<kernels::Backend> m_host;
};

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

constexpr std::pair<const char*, double GistLosses::*> kWays[] = {{"full", &GistLosses::full},
                                                                  {"trained", &GistLosses::trained},
                                                                  {"mean", &GistLosses::mean},
                                                                  {"truncation", &GistLosses::truncation},
                                                                  {"nothing", &GistLosses::nothing}};

std::optional<GistLosses> lossesFrom(const json& object) {
  if (!object.is_object() || object.size() != std::size(kWays)) return std::nullopt;
  GistLosses out;
  for (const auto& [name, member] : kWays) {
    const json value = object.value(name, json());
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < -1e-3) return std::nullopt;
    out.*member = value.get<double>();
  }
  return out;
}

std::optional<GistFigures> figuresFrom(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const json level = object.value("level", json()), tokens = object.value("tokens", json());
  const auto nll = lossesFrom(object.value("nll", json())), kl = lossesFrom(object.value("kl", json()));
  const auto within = [](const json& v, std::int64_t most) {
    return v.is_number_integer() && v.get<std::int64_t>() >= 1 && v.get<std::int64_t>() <= most;
  };
  if (!within(level, kTopLevel) || !within(tokens, std::int64_t{1} << 40) || !nll || !kl) return std::nullopt;
  return GistFigures{level.get<int>(), tokens.get<std::int64_t>(), *nll, *kl};
}

}  // namespace

std::shared_ptr<const GistNet> meanGistNet(int hidden) { return std::make_shared<MeanGistNet>(hidden); }

std::shared_ptr<const GistNet> addedGistNet(int hidden, AddedUse use) {
  return std::make_shared<const AddedGistNet>(hidden, std::move(use));
}

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

Result<std::vector<GistFigures>> readGistFigures(std::string_view text, const std::string& file) {
  const auto bad = [&](const std::string& why) {
    return Error("bad_gist_net", "the gist network was refused", file + ": measured " + why,
                 "let kvlab train gists write the file", "measured");
  };
  const Result<json> list =
      parseJson(text, file, "bad_gist_net", {.depth = 8, .bytes = std::size_t{1} << 16, .uniqueKeys = true});
  if (!list) return bad("is no JSON: " + list.error().why);
  if (!list->is_array()) return bad("is no list");
  std::vector<GistFigures> out;
  for (const json& one : *list) {
    const std::optional<GistFigures> figures = figuresFrom(one);
    if (!figures || figures->level != static_cast<int>(out.size()) + 1)
      return bad("lacks the level, tokens, nll or kl of level " + std::to_string(out.size() + 1));
    out.push_back(*figures);
  }
  return out;
}

std::string gistNotice(const GistNet& net) {
  if (net.name() == "mean")
    return "mean gists are hardly better than as many of the last tokens for the demo model, and far worse for "
           "SmolLM2; trained gists may be better (wlod.gist)";
  if (net.figures().empty())
    return "nobody has measured whether these gists are better than as many of the last tokens; kvlab train gists "
           "measures it";
  std::string out;
  for (const GistFigures& level : net.figures()) {
    if (level.nll.trained < level.nll.truncation) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%sgists of LOD%d cost %.3f nats per token, as many of the last tokens %.3f",
                  out.empty() ? "" : "; ", level.level, level.nll.trained, level.nll.truncation);
    out += text;
  }
  return out;
}

}  // namespace kvlab
