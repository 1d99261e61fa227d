// SPDX-License-Identifier: Apache-2.0
// A second implementation of the decoder, for one row, in double: value by value, as the papers have it. It shares with
// core/model/decoder the weights, the frequencies of rotation and the order of the values in a stored head, but no
// kernel, no rotary table, no map and no order of sums. Checks compare with it what a pass has made. Slow: two products
// of numbers and a conversion for each weight. Pure; any thread.
//
// Sources: RMS norm, Zhang and Sennrich 2019 (arXiv:1910.07467); rotation, Su et al. 2021 (arXiv:2104.09864); query
// groups, Ainslie et al. 2023 (arXiv:2305.13245); gated feed-forward networks, Shazeer 2020 (arXiv:2002.05202).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/model/model.h"

namespace kvlab {

/// The rows that a query attends to.
struct ScalarSeen {
  /// Reads the key or the value of a row as it is stored, [headDim] of the query's KV head.
  std::function<void(std::size_t row, bool value, std::span<double> out)> read;
  std::vector<double> phases, sigmas = {};  // [rows] that keys are turned by; sigmas: of gists, or empty
};

/// What a layer makes of a row's input before attention, in the order of stored heads.
struct ScalarRow {
  std::vector<double> k, v;  // [kvHeads*headDim], unrotated
  std::vector<double> q;     // [heads*headDim], unrotated
};

class ScalarDecoder {
 public:
  /// length: of the context, which some frequencies follow.
  ScalarDecoder(const Model& model, std::int64_t length) : m_model(model), m_length(length) {}

  /// [hidden]
  std::vector<double> embed(TokenId token) const;
  ScalarRow project(Layer layer, std::span<const double> x) const;
  /// The same for one query head and its KV head, [headDim] each.
  ScalarRow projectHead(Layer layer, int head, std::span<const double> x) const;
  /// A key or query of so many heads, turned by a phase.
  void turn(Layer layer, std::vector<double>& values, double phase, bool query, double sigma = 0) const;
  /// What a query head gives over rows, [headDim]. q: of the head, turned. shares: takes the attention of each row,
  /// [rows].
  std::vector<double> attend(Layer layer, int head, std::span<const double> q, const ScalarSeen& seen, bool keysTurned,
                             std::vector<double>* shares = nullptr) const;
  /// x becomes the layer's output; `attended` is what all heads gave.
  void finish(Layer layer, std::span<const double> attended, std::vector<double>& x) const;
  /// Of every `step`-th token.
  std::vector<double> logits(std::span<const double> x, int step = 1) const;

 private:
  const ModelConfig& config() const { return m_model.config(); }
  std::vector<double> norm(const TensorView& weight, std::span<const double> x) const;
  void order(const TensorView& weight, std::vector<double>& x) const;
  void headNorm(const TensorView& weight, std::vector<double>& x) const;
  std::vector<double> forward(const FeedForward& network, std::span<const double> x) const;
  std::vector<double> mixed(const LayerWeights& weights, std::span<const double> x) const;

  const Model& m_model;
  std::int64_t m_length;
};

}  // namespace kvlab
