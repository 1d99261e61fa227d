// SPDX-License-Identifier: Apache-2.0
// A second implementation of the decoder, for one row, in double: value by value, as the papers have it. It shares with
// core/model/decoder the weights, the frequencies of rotation and the order of the values in a stored head, but no
// kernel, no rotary table, no map and no order of sums. Checks compare the results of a pass with it. If the arithmetic
// of the session rounds its factors, this decoder rounds them too, and says how much that matters: an engine that
// rounds a value the other way differs by about as much. Slow: two products of numbers and a conversion for each
// weight. Pure; any thread.
//
// Sources: RMS norm, Zhang and Sennrich 2019 (arXiv:1910.07467); rotation, Su et al. 2021 (arXiv:2104.09864); query
// groups, Ainslie et al. 2023 (arXiv:2305.13245); gated feed-forward networks, Shazeer 2020 (arXiv:2002.05202).
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace kvlab {

/// Length (L2) of a vector, and of the difference of two.
double lengthOf(std::span<const double> x);
double distanceOf(std::span<const double> a, std::span<const double> b);

/// The rows that a query attends to.
struct ScalarSeen {
  /// Reads the key or the value of a row as it is stored, [headDim] of the query's KV head.
  std::function<void(std::size_t row, bool value, std::span<double> out)> read;
  std::vector<double> phases;       // [rows] that keys are still to be turned by
  std::vector<double> sigmas = {};  // [rows] of gists, or empty
};

/// One head of a row. `unsure`: how far its values lie at most from those of products that round nothing.
struct ScalarHead {
  std::vector<double> values = {};  // [headDim]
  double unsure = 0;
};

/// Heads that a layer projects from a row's input before attention, in the order of stored heads, unrotated.
struct ScalarRow {
  std::vector<ScalarHead> k, v;  // [KV heads]
  std::vector<ScalarHead> q;     // [heads]
};

/// Output of a layer, and its distance (L2) from the output of products that round nothing.
struct ScalarOutput {
  std::vector<double> values = {};  // [hidden]
  double unsure = 0;
};

/// The values from which a layer makes its output.
struct ScalarInput {
  std::vector<double> attended, x;  // [heads*headDim] attention output of all heads; [hidden] input of the layer
};

/// The rounding of the values that an arithmetic multiplies with weights (kernels/numerics.h).
enum class ScalarRounding : std::uint8_t { None, Bf16, Blocks };

class ScalarDecoder {
 public:
  /// length: context length, on which some frequencies depend. numerics: id of the session's arithmetic; empty = it
  /// rounds nothing.
  ScalarDecoder(const Model& model, std::int64_t length, std::string_view numerics = {});

  bool rounds() const { return m_rounding != ScalarRounding::None; }
  /// [hidden]
  std::vector<double> embed(TokenId token) const;
  ScalarRow project(Layer layer, std::span<const double> x) const;
  /// The same for one query head and its KV head, [headDim] each.
  ScalarRow projectHead(Layer layer, int head, std::span<const double> x) const;
  /// A key or query, turned by a phase.
  void turn(Layer layer, std::vector<double>& values, double phase, bool query, double sigma = 0) const;
  /// Attention output of a query head over rows, [headDim]. q: the head's query, turned. shares: takes the attention to
  /// each row, [rows].
  std::vector<double> attend(Layer layer, int head, std::span<const double> q, const ScalarSeen& seen, bool keysTurned,
                             std::vector<double>* shares = nullptr) const;
  /// Output of the layer for its input x; `attended` is the attention output of all heads. If the scores of experts are
  /// so close that rounding decides between them, there is one output for each choice.
  std::vector<ScalarOutput> outputs(Layer layer, std::span<const double> attended, std::span<const double> x) const;
  /// True if scores of experts that lie up to `times` as far from those of `in` as those of `other` choose the same.
  bool choosesAlike(Layer layer, const ScalarInput& in, const ScalarInput& other, double times) const;
  /// Logits of every `step`-th token; unsure: the largest change that rounding makes.
  ScalarOutput logits(std::span<const double> x, int step = 1) const;

 private:
  /// Values of a layer between attention and its output.
  struct Middle {
    std::vector<double> x, in = {};    // [hidden] with attention's output added; the feed-forward network's input
    std::vector<double> experts = {};  // [experts] scores
  };
  using Chosen = std::vector<std::size_t>;  // experts

  const ModelConfig& config() const { return m_model.config(); }
  /// The same decoder without rounding.
  ScalarDecoder plain() const {
    ScalarDecoder out(*this);
    out.m_rounding = ScalarRounding::None;
    return out;
  }
  std::vector<double> read(const TensorView& w, std::span<const double> x) const;
  std::vector<double> times(const TensorView& w, const TensorView& bias, std::span<const double> x,
                            std::int64_t begin = 0, std::int64_t count = -1) const;
  void projectTo(std::vector<ScalarHead>& heads, const TensorView& w, const TensorView& bias, const TensorView* norm,
                 std::span<const double> in, std::int64_t begin, std::int64_t count) const;
  std::vector<double> norm(const TensorView& weight, std::span<const double> x) const;
  void order(const TensorView& weight, std::vector<double>& x) const;
  void headNorm(const TensorView& weight, std::vector<double>& x) const;
  std::vector<double> forward(const FeedForward& network, std::span<const double> x) const;
  std::vector<double> mixed(const LayerWeights& weights, const Middle& middle, const Chosen& chosen) const;
  Middle middle(Layer layer, std::span<const double> attended, std::span<const double> x) const;
  std::vector<double> end(Layer layer, const Middle& middle, const Chosen& chosen) const;
  std::vector<Chosen> choices(const Middle& middle, const Middle& other, double times) const;

  const Model& m_model;
  std::int64_t m_length;
  ScalarRounding m_rounding;
};

}  // namespace kvlab
