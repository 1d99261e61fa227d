// SPDX-License-Identifier: Apache-2.0
// Settings, weights and heads that an engine has wrong: the model is read by another configuration of the same shapes,
// or some of its weights are missing or those of another layer.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/api/json_values.h"
#include "core/explain/fault_trials.h"

namespace kvlab {
namespace {

using Weights = std::shared_ptr<const PlacedWeights>;

constexpr double kOffsetFits = 0.01;   // of squares of values: an offset of norms must not leave more
constexpr double kWholeOffset = 5e-3;  // so near to a whole number an offset is that

/// From the start on nearly every row is wrong, which a setting brings about.
bool everywhere(const HypothesisRoom& room) { return room.left.firstToken <= 8 && room.left.dense > 0.5; }

EngineTrial withWeights(const HypothesisRoom& room, Weights weights, std::string text, nlohmann::json parameters,
                        double cost = 1) {
  FaultPass pass = rightPass(room);
  pass.weights = std::move(weights);
  return trialOf(std::move(pass), std::move(text), std::move(parameters), cost);
}

/// Weights with a change in every layer; null where nothing changes.
Weights changed(const HypothesisRoom& room, const std::function<bool(LayerWeights&)>& change) {
  Weights out = room.session.parts().weights;
  bool some = false;
  for (const Layer l : idRange<Layer>(0, configOf(room).layers)) {
    LayerWeights layer = out->layer(l);
    if (!change(layer)) continue;
    out = PlacedWeights::withLayer(out, l, layer);
    some = true;
  }
  return some ? out : nullptr;
}

std::vector<EngineTrial> attentionScaleTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const ModelConfig& own = configOf(room);
  if (!everywhere(room) || !room.left.firstLayerRight || room.left.firstLayer != 1) return out;
  const double dim = own.headDim;
  std::vector<double> dims;
  for (const double other : {1.0, dim, dim * dim, double(own.hidden) / own.heads, double(own.hidden), dim * 2, dim / 2})
    if (other != own.scoreDim() && std::ranges::find(dims, other) == dims.end()) dims.push_back(other);
  for (const double other : dims) {
    ModelConfig config = own;
    config.queryDim = other;
    out.push_back(withWeights(room, readAs(room, config),
                              "scores of attention are multiplied by " + numberWords(1 / std::sqrt(other), 6) +
                                  " in place of " + numberWords(1 / std::sqrt(own.scoreDim()), 6),
                              {{"scale", 1 / std::sqrt(other)}}, 1.2));
  }
  if (own.attentionCap != 0) {
    ModelConfig config = own;
    config.attentionCap = 0;
    out.push_back(withWeights(room, readAs(room, config), "scores of attention have no softcap", {{"cap", 0}}));
  }
  return out;
}

/// What norms add to their weight by the values of layer 0, which are linear in it. Nothing where no number fits.
std::optional<double> normOffsetOf(const HypothesisRoom& room) {
  const auto lowest = std::ranges::find(room.theirs, 0, &ExplainedLayer::own);
  if (lowest == room.theirs.end() || lowest->tokens.empty()) return std::nullopt;
  ModelConfig config = configOf(room);
  config.normOffset += 1;
  FaultPass pass = rightPass(room);
  pass.weights = readAs(room, config);
  pass.stored = {};
  const Result<TokenRows> more = faultRows(pass, 1, {});
  if (!more) return std::nullopt;
  const std::size_t width = lowest->theirValues.size() / lowest->tokens.size();
  double step = 0, along = 0, off = 0, all = 0;
  for (std::size_t row = 0; row < lowest->tokens.size(); ++row)
    for (std::size_t i = 0; lowest->tokens[row] >= 0 && i < width; ++i) {
      const std::size_t place = at(lowest->tokens[row]) * width + i;
      const double exact = room.exact.values[0][place], theirs = lowest->theirValues[row * width + i];
      const double u = more->values[0][place] - exact;
      step += u * u, along += u * (theirs - exact), off += std::pow(theirs - exact, 2), all += theirs * theirs;
    }
  if (!(step > 0) || !(off - along * along / step < kOffsetFits * all)) return std::nullopt;
  const double found = configOf(room).normOffset + along / step, whole = std::round(found);
  return std::abs(found - whole) < kWholeOffset ? whole : found;
}

std::string offsetText(double offset) {
  if (offset == 0) return "the weight";
  return "the weight " + std::string(offset < 0 ? "- " : "+ ") + numberWords(std::abs(offset), 4);
}

std::vector<EngineTrial> normTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const ModelConfig& own = configOf(room);
  if (!everywhere(room)) return out;
  std::vector<double> offsets = {own.normOffset != 0 ? 0.0 : 1.0};
  if (const std::optional<double> found = normOffsetOf(room); found && *found != offsets.front())
    offsets.insert(offsets.begin(), *found);
  ModelConfig config = own;
  for (const double offset : offsets) {
    if (offset == own.normOffset) continue;
    config.normOffset = static_cast<decltype(config.normOffset)>(offset);
    out.push_back(withWeights(room, readAs(room, config),
                              "norms multiply by " + offsetText(offset) + " in place of " + offsetText(own.normOffset),
                              {{"offset", offset}}, offset == std::round(offset) ? 1 : 1.5));
  }
  for (const double eps : {1e-5, 1e-6, 1e-8, 1e-12, 1e-3}) {
    if (eps == own.rmsEps) continue;
    config = own;
    config.rmsEps = eps;
    out.push_back(
        withWeights(room, readAs(room, config),
                    "the epsilon of norms is " + numberWords(eps, 6) + " in place of " + numberWords(own.rmsEps, 6),
                    {{"eps", eps}}, 1.2));
  }
  const auto without = [&](const char* text, const char* what, const std::function<bool(LayerWeights&)>& change) {
    if (Weights weights = changed(room, change))
      out.push_back(withWeights(room, std::move(weights), text, {{"missing", what}}));
  };
  const auto drop = [](TensorView& view) { return view ? (view = {}, true) : false; };
  without("norms of queries and keys are missing", "qk_norm",
          [&](LayerWeights& w) { return int{drop(w.qNorm)} + int{drop(w.kNorm)} > 0; });
  without("the norm of queries is missing", "q_norm", [&](LayerWeights& w) { return drop(w.qNorm); });
  without("the norm of keys is missing", "k_norm", [&](LayerWeights& w) { return drop(w.kNorm); });
  without("norms behind attention and feed-forward are missing", "norm_behind",
          [&](LayerWeights& w) { return int{drop(w.behindAttention)} + int{drop(w.behindFeedForward)} > 0; });
  return out;
}

std::vector<EngineTrial> missingTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!everywhere(room)) return out;
  const auto without = [&](const char* text, const char* what, TensorView LayerWeights::*place) {
    Weights weights = changed(room, [&](LayerWeights& w) { return w.*place ? (w.*place = {}, true) : false; });
    if (weights) out.push_back(withWeights(room, std::move(weights), text, {{"missing", what}}));
  };
  without("the bias of queries is missing", "q_bias", &LayerWeights::qBias);
  without("the bias of keys is missing", "k_bias", &LayerWeights::kBias);
  without("the bias of values is missing", "v_bias", &LayerWeights::vBias);
  without("the bias behind attention is missing", "o_bias", &LayerWeights::oBias);
  without("the learned sinks of attention are missing", "sinks", &LayerWeights::sinks);
  return out;
}

std::vector<EngineTrial> modelSettingTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const ModelConfig& own = configOf(room);
  if (!everywhere(room)) return out;
  ModelConfig config = own;
  if (own.activation != Activation::ClampedSilu) {
    const bool silu = own.activation == Activation::Silu;
    config.activation = silu ? Activation::GeluTanh : Activation::Silu;
    out.push_back(withWeights(room, readAs(room, config),
                              silu ? "the feed-forward network uses GELU in place of SiLU"
                                   : "the feed-forward network uses SiLU in place of GELU",
                              {{"activation", silu ? "gelu" : "silu"}}));
  }
  config = own;
  config.embeddingScale = own.embeddingScale != 1 ? 1 : std::sqrt(double(own.hidden));
  out.push_back(withWeights(room, readAs(room, config),
                            "embeddings are multiplied by " + numberWords(config.embeddingScale, 6) + " in place of " +
                                numberWords(own.embeddingScale, 6),
                            {{"embedding_scale", config.embeddingScale}}));
  if (own.experts > 0) {
    config = own;
    config.expertWeightsSum = !own.expertWeightsSum;
    out.push_back(withWeights(room, readAs(room, config),
                              own.expertWeightsSum ? "weights of the chosen experts are not normed"
                                                   : "weights of the chosen experts are normed",
                              {{"expert_weights_sum", config.expertWeightsSum}}));
  }
  return out;
}

std::vector<EngineTrial> headGroupTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const ModelConfig& own = configOf(room);
  if (!room.left.firstLayerRight || own.kvHeads < 2 || own.heads == own.kvHeads) return out;
  FaultPass pass = rightPass(room);
  const std::int64_t from = room.left.firstToken;
  pass.heads = [from, bug = bugNamed("wrong_head_group")](Layer, std::int64_t first, const HeadsBend& heads) {
    HeadsBend later = heads;
    const std::int64_t skipped = std::clamp<std::int64_t>(from - first, 0, heads.n);
    later.values += skipped * heads.stride;
    later.n -= skipped;
    if (later.n > 0) bug->heads(later);
  };
  out.push_back(trialOf(std::move(pass),
                        "query head q reads KV head q % " + std::to_string(own.kvHeads) +
                            " in place of that of its group, q / " + std::to_string(own.heads / own.kvHeads) +
                            fromText(from),
                        {{"from", from}}));
  return out;
}

std::vector<EngineTrial> weightsTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const int layers = configOf(room).layers, wrong = room.left.firstLayer;
  const Weights own = room.session.parts().weights;
  if (room.left.keysOnly || room.left.valuesOnly) return out;
  const std::int64_t from = room.left.firstToken;
  std::vector<int> others;
  for (const int other : {wrong - 1, wrong + 1, layers - 1, 0, wrong - 2, wrong + 2})
    if (other >= 0 && other < layers && other != wrong && std::ranges::find(others, other) == others.end())
      others.push_back(other);
  for (const int other : others) {
    const std::string text =
        "layer " + std::to_string(wrong) + " has the weights of layer " + std::to_string(other) + fromText(from);
    const nlohmann::json parameters = {{"layer", wrong}, {"weights", other}, {"from", from}};
    const auto add = [&](Weights weights, std::string says, double cost) {
      FaultPass pass = rightPass(room);
      if (from == 0) {
        pass.weights = std::move(weights);
      } else {
        pass.calls = joined(promptCalls(0, from, 0), promptCalls(from, tokensOf(room), 0));
        pass.later = from;
        pass.laterWeights = std::move(weights);
      }
      out.push_back(trialOf(std::move(pass), std::move(says), parameters, cost));
    };
    const Weights one = PlacedWeights::withLayer(own, Layer(wrong), own->layer(Layer(other)));
    add(one, text, 1);
    if (other > wrong)
      add(PlacedWeights::withLayer(one, Layer(other), own->layer(Layer(wrong))),
          "the weights of layers " + std::to_string(wrong) + " and " + std::to_string(other) + " are swapped" +
              fromText(from),
          1.2);
  }
  return out;
}

constexpr EngineHypothesis kSettings[] = {
    {"wrong_head_group", "a query head reads the KV head of another group", headGroupTrials},
    {"weights_swapped", "a layer has the weights of another", weightsTrials},
    {"attention_scale", "scores of attention are scaled or capped otherwise", attentionScaleTrials},
    {"norm_setting", "norms are missing or computed otherwise", normTrials},
    {"missing_weights", "weights are missing", missingTrials},
    {"model_setting", "a setting of the model is another", modelSettingTrials},
};

}  // namespace

std::span<const EngineHypothesis> settingHypotheses() { return kSettings; }

}  // namespace kvlab
