// SPDX-License-Identifier: Apache-2.0
// Configuration of a decoder, read from a Hugging Face config.json. Reads both styles: rope_theta and
// rope_scaling at top level (transformers 4) and rope_parameters (transformers 5), for all layers or
// by layer type. core/model/families lists the architectures. Anything that would change the
// arithmetic and is not implemented is an error (code bad_model) naming key and value. Values; any
// thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"

namespace kvlab {

/// The rotation of keys and queries by their positions, with the names and defaults of transformers'
/// modeling_rope_utils.
struct Rope {
  enum class Kind : std::uint8_t { Default, Linear, Llama3, Yarn, Dynamic, LongRope, Off };
  Kind kind = Kind::Default;  // Off: positions turn nothing
  double theta = 10000;
  int dims = 0;  // the first values of a head turn; 0 = all
  double factor = 1;
  double lowFreqFactor = 1, highFreqFactor = 4;  // llama3
  std::int64_t originalMaxPosition = 0;          // llama3, yarn, longrope; dynamic: where the change begins
  double betaFast = 32, betaSlow = 1;            // yarn, in rotations
  double attentionFactor = 1;                    // yarn, longrope: multiplies cos and sin; computed from the keys
  bool truncate = true;                          // yarn: ramp ends at whole dimensions
  std::vector<double> shortFactors = {}, longFactors = {};  // longrope, [dims/2]
  double queryBeta = 0;  // queries are multiplied by 1 + queryBeta ln(1 + floor(position / queryEvery))
  std::int64_t queryEvery = 0;

  /// Frequencies follow from the length of the context too.
  bool followsLength() const { return kind == Kind::Dynamic || kind == Kind::LongRope; }
  bool operator==(const Rope&) const = default;
};

enum class Activation : std::uint8_t { Silu, GeluTanh, ClampedSilu };
/// RMS norms of q and k before rotation: none, of each head, or of all heads of a token together.
enum class QkNorm : std::uint8_t { None, OfHeads, OfRows };

struct ModelConfig {
  std::string type;  // the name of a family: "llama", "gemma3"
  int hidden = 0, layers = 0, heads = 0, kvHeads = 0, headDim = 0, intermediate = 0, vocab = 0;
  double rmsEps = 1e-6;
  std::vector<Rope> ropes = {Rope()};    // at least one
  std::vector<int> ropePerLayer = {};    // [layers] places in ropes; empty = the first for all
  int slidingWindow = 0;                 // keys a query sees, itself included; 0 = all
  std::vector<int> windowPerLayer = {};  // [layers], 0 = all
  bool attentionBias = false;            // q, k, v
  bool outputBias = false;               // o
  bool mlpBias = false;                  // gate, up, down
  QkNorm qkNorm = QkNorm::None;
  bool normBefore = true, normBehind = false;  // norms of the input and of the output of attention and feed-forward
  double normOffset = 0;                       // a norm multiplies by weight + normOffset
  Activation activation = Activation::Silu;
  double embeddingScale = 1;           // multiplies embeddings
  double queryDim = 0;                 // q . k is divided by its root; 0 = headDim
  double attentionCap = 0;             // scaled scores s become cap tanh(s / cap); 0 = as they are
  double logitCap = 0;                 // logits likewise
  bool interleavedRotary = false;      // rows of q and k in the file stand so that rotation pairs neighbours
  int experts = 0;                     // that the feed-forward network of a layer chooses among; 0 = dense
  int expertsUsed = 0;                 // by a token
  int expertWidth = 0;                 // the intermediate size of one
  bool expertWeightsSum = true;        // weights of the chosen add up to 1
  std::vector<bool> denseLayers = {};  // [layers], true = without experts; empty = none
  bool sinks = false;                  // learned scores in the softmax of attention, one for each head
  bool tieEmbeddings = false;
  int maxPositions = 0;
  std::int32_t bos = -1;               // -1 = none
  std::vector<std::int32_t> eos = {};  // first = the usual one; empty = none

  const Rope& rope(Layer layer) const { return ropes[ropeAt(layer)]; }
  std::size_t ropeAt(Layer layer) const {
    return ropePerLayer.empty() ? 0 : static_cast<std::size_t>(ropePerLayer[at(layer)]);
  }
  bool expertsIn(Layer layer) const { return experts > 0 && (denseLayers.empty() || !denseLayers[at(layer)]); }
  double scoreDim() const { return queryDim != 0 ? queryDim : headDim; }  // its root divides q . k
  std::int64_t parameters() const;
};

/// `file` names the source in errors.
Result<ModelConfig> configFromJson(const nlohmann::json& json, const std::string& file);
/// directory/config.json; generation_config.json, where there is one, adds end-of-text ids.
Result<ModelConfig> readConfig(const std::string& directory);

}  // namespace kvlab
