// SPDX-License-Identifier: Apache-2.0
// What a Hugging Face config.json says about a decoder. Reads both styles: rope_theta and
// rope_scaling at top level (transformers 4) and rope_parameters (transformers 5). Architectures:
// llama, mistral, qwen2, qwen3. Anything that would change the arithmetic and is not implemented is
// an error (code bad_model) naming key and value. Values; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

/// Scaling of rotary frequencies, with the names and defaults of transformers' modeling_rope_utils.
struct RopeScaling {
  enum class Kind : std::uint8_t { None, Linear, Llama3, Yarn };
  Kind kind = Kind::None;
  double factor = 1;
  double lowFreqFactor = 1, highFreqFactor = 4;  // llama3
  std::int64_t originalMaxPosition = 0;          // llama3, yarn
  double betaFast = 32, betaSlow = 1;            // yarn, in rotations
  double attentionFactor = 1;                    // yarn: multiplies cos and sin; already computed from the file's keys
  bool truncate = true;                          // yarn: ramp ends at whole dimensions
};

struct ModelConfig {
  std::string type;  // "llama", "mistral", "qwen2", "qwen3"
  int hidden = 0, layers = 0, heads = 0, kvHeads = 0, headDim = 0, intermediate = 0, vocab = 0;
  double rmsEps = 1e-6, ropeTheta = 10000;
  RopeScaling rope = {};
  int slidingWindow = 0;                 // keys a query sees, itself included; 0 = all
  std::vector<int> windowPerLayer = {};  // [layers], 0 = all
  bool attentionBias = false;            // q, k, v
  bool outputBias = false;               // o
  bool qkNorm = false;                   // RMS norm of each head of q and k, before rotation
  double normOffset = 0;                 // a norm multiplies by weight + normOffset
  bool interleavedRotary = false;        // rows of q and k in the file stand so that rotation pairs neighbours
  bool tieEmbeddings = false;
  int maxPositions = 0;
  std::int32_t bos = -1;               // -1 = none
  std::vector<std::int32_t> eos = {};  // first = the usual one; empty = none

  std::int64_t parameters() const;
};

/// `file` names the source in errors.
Result<ModelConfig> configFromJson(const nlohmann::json& json, const std::string& file);
/// directory/config.json; generation_config.json, where there is one, adds end-of-text ids.
Result<ModelConfig> readConfig(const std::string& directory);

}  // namespace kvlab
