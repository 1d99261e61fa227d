// SPDX-License-Identifier: Apache-2.0
#include "core/files/fingerprint.h"

#include <xxhash.h>

#include <memory>

namespace kvlab {
namespace {

constexpr std::size_t kSample = 16384;

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

nlohmann::json describe(const ModelConfig& c) {
  const RopeScaling& r = c.rope;
  return {c.type,
          c.hidden,
          c.layers,
          c.heads,
          c.kvHeads,
          c.headDim,
          c.intermediate,
          c.vocab,
          c.rmsEps,
          c.ropeTheta,
          static_cast<int>(r.kind),
          r.factor,
          r.lowFreqFactor,
          r.highFreqFactor,
          r.originalMaxPosition,
          r.betaFast,
          r.betaSlow,
          r.attentionFactor,
          r.truncate,
          c.slidingWindow,
          c.windowPerLayer,
          c.attentionBias,
          c.outputBias,
          c.qkNorm,
          c.tieEmbeddings};
}

}  // namespace

std::string hexWord(std::uint64_t word) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(word >> shift) & 15];
  return out;
}

std::string modelFingerprint(const Model& model) {
  Mixer mixer;
  mixer.text(describe(model.config()).dump());
  for (const TensorView* t : {&model.embed(), &model.finalNorm(), &model.head()}) mixer.tensor(*t);
  for (const Layer l : idRange<Layer>(0, model.config().layers)) {
    const LayerWeights& w = model.layer(l);
    for (const TensorView* t : {&w.inputNorm, &w.q, &w.k, &w.v, &w.o, &w.qBias, &w.kBias, &w.vBias, &w.oBias, &w.qNorm,
                                &w.kNorm, &w.postNorm, &w.gate, &w.up, &w.down})
      mixer.tensor(*t);
  }
  return hexWord(mixer.digest());
}

std::string contentHash(std::span<const std::byte> bytes) { return hexWord(XXH3_64bits(bytes.data(), bytes.size())); }

}  // namespace kvlab
