// SPDX-License-Identifier: Apache-2.0
#include "core/files/fingerprint.h"

#include <xxhash.h>

#include <memory>

namespace kvlab {
namespace {

/// "00f1..." of a 64-bit word.
std::string hexWord(std::uint64_t word) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(word >> shift) & 15];
  return out;
}

constexpr std::size_t kSample = 16384;
constexpr int kFirstPlaces = 15;  // number of weights of a layer of llama, mistral and qwen; absent ones count there

class Mixer {
 public:
  Mixer() : m_state(XXH3_createState(), &XXH3_freeState) { XXH3_64bits_reset(m_state.get()); }

  void bytes(const void* data, std::size_t size) {
    if (size) XXH3_64bits_update(m_state.get(), data, size);
  }
  void text(const std::string& text) { bytes(text.data(), text.size()); }
  void tensor(const TensorView& t) {
    text(t ? std::string(kernels::dtypeName(t.dtype)) + shapeText(t.shape) : "-");
    const auto size = t ? static_cast<std::size_t>(t.bytes()) : 0;
    const auto* data = static_cast<const char*>(t.data);
    if (size <= 3 * kSample) return bytes(data, size);
    for (std::size_t begin : {std::size_t{0}, (size - kSample) / 2, size - kSample}) bytes(data + begin, kSample);
  }
  std::uint64_t digest() const { return XXH3_64bits_digest(m_state.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> m_state;
};

/// The keys of a rope that llama, mistral and qwen have.
nlohmann::json describe(const Rope& r) {
  return {r.theta,           static_cast<int>(r.kind),
          r.factor,          r.lowFreqFactor,
          r.highFreqFactor,  r.originalMaxPosition,
          r.betaFast,        r.betaSlow,
          r.attentionFactor, r.truncate};
}

/// Keys of a configuration that differ from a plain one. Keys come and go with the families that need them.
nlohmann::json describeSpecial(const ModelConfig& c) {
  const ModelConfig plain;
  nlohmann::json out = nlohmann::json::object();
  const auto note = [&](const char* key, const auto& value, const auto& usual) {
    if (value != usual) out[key] = value;
  };
  for (std::size_t i = 0; i < c.ropes.size(); ++i) {
    const Rope& r = c.ropes[i];
    if (i > 0) out["ropes"].push_back(describe(r));
    if (r.dims || !r.shortFactors.empty() || r.queryBeta != 0)
      out["parts"].push_back({i, r.dims, r.shortFactors, r.longFactors, r.queryBeta, r.queryEvery});
  }
  note("rope_per_layer", c.ropePerLayer, plain.ropePerLayer);
  note("mlp_bias", c.mlpBias, plain.mlpBias);
  note("norm_before", c.normBefore, plain.normBefore);
  note("norm_behind", c.normBehind, plain.normBehind);
  note("norm_offset", c.normOffset, plain.normOffset);
  note("activation", static_cast<int>(c.activation), static_cast<int>(plain.activation));
  note("embedding_scale", c.embeddingScale, plain.embeddingScale);
  note("query_dim", c.queryDim, plain.queryDim);
  note("attention_cap", c.attentionCap, plain.attentionCap);
  note("logit_cap", c.logitCap, plain.logitCap);
  note("experts", c.experts, plain.experts);
  note("experts_used", c.expertsUsed, plain.expertsUsed);
  note("expert_width", c.expertWidth, plain.expertWidth);
  note("expert_weights_sum", c.expertWeightsSum, plain.expertWeightsSum);
  note("dense_layers", c.denseLayers, plain.denseLayers);
  note("sinks", c.sinks, plain.sinks);
  note("interleaved", c.interleavedRotary, plain.interleavedRotary);
  return out;
}

nlohmann::json describe(const ModelConfig& c) {
  nlohmann::json out{c.type, c.hidden, c.layers, c.heads, c.kvHeads, c.headDim, c.intermediate, c.vocab, c.rmsEps};
  for (const nlohmann::json& one : describe(c.ropes.front())) out.push_back(one);
  for (const nlohmann::json& one : nlohmann::json{c.slidingWindow, c.windowPerLayer, c.attentionBias, c.outputBias})
    out.push_back(one);
  if (c.qkNorm == QkNorm::OfRows) out.push_back("rows");
  else out.push_back(c.qkNorm == QkNorm::OfHeads);
  out.push_back(c.tieEmbeddings);
  if (const nlohmann::json special = describeSpecial(c); !special.empty()) out.push_back(special);
  return out;
}

}  // namespace

std::string modelFingerprint(const Model& model) {
  Mixer mixer;
  mixer.text(describe(model.config()).dump());
  for (const TensorView* t : {&model.embed(), &model.finalNorm(), &model.head()}) mixer.tensor(*t);
  for (const Layer l : idRange<Layer>(0, model.config().layers)) {
    int place = 0;
    eachWeight(model.layer(l), [&](const TensorView& t, WeightKind) {
      if (place++ < kFirstPlaces || t) mixer.tensor(t);
    });
  }
  return hexWord(mixer.digest());
}

std::string contentHash(std::span<const std::byte> bytes) { return hexWord(XXH3_64bits(bytes.data(), bytes.size())); }

}  // namespace kvlab
