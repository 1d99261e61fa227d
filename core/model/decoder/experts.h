// SPDX-License-Identifier: Apache-2.0
// The feed-forward network of a layer with experts. A router scores the experts for each row; the rows of an expert go
// through it together, and its output is added with its weight, experts in ascending order. So a row's bits do not
// depend on the rows beside it, and only the experts that some row chose are read. One owner; engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/model/families/layer_weights.h"
#include "core/model/files/config.h"
#include "kernels/backend/array.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/linear.h"

namespace kvlab {

/// Adds a product to a linear step; `bias` may be absent.
void addPart(kernels::LinearArgs& args, const TensorView& w, const TensorView& bias, float* y);

/// The rows that chose an expert, ascending, and their weights for it.
struct ExpertRows {
  int expert = 0;
  std::vector<std::int32_t> rows;
  std::vector<float> weights;
};
/// Groups chosen and weights, [n, top], by expert: in ascending order, without experts that have no rows.
std::vector<ExpertRows> rowsByExpert(const std::vector<std::int32_t>& chosen, const std::vector<float>& weights,
                                     int top);

class Experts {
 public:
  /// Runs the linear steps.
  using Linear = std::function<void(const kernels::LinearArgs&)>;

  void allocate(kernels::Backend& backend, const ModelConfig& config, int maxRows);
  /// Floats in a row of all scratch together.
  static std::int64_t scratchWidth(const ModelConfig& config);

  /// The buffer for the normed input of run(): [maxRows, hidden].
  float* input() const { return m_input.data(); }
  /// x += the output of the experts for input(); addresses of the back end, [n, hidden].
  void run(kernels::Backend& backend, const LayerWeights& weights, std::int64_t n, float* x, const Linear& linear);

 private:
  std::vector<ExpertRows> choose(kernels::Backend& backend, const LayerWeights& weights, std::int64_t n,
                                 const Linear& linear);
  void mix(kernels::Backend& backend, const FeedForward& expert, const ExpertRows& own, float* x, const Linear& linear);

  ModelConfig m_config;
  kernels::Array<float> m_input, m_taken, m_given;  // [maxRows, hidden]
  kernels::Array<float> m_gate, m_up;               // [maxRows, expertWidth]
  kernels::Array<float> m_scores;                   // [maxRows, experts]
};

/// The kernel's name of a feed-forward network's function.
inline kernels::GateFunction gateFunction(Activation activation) {
  switch (activation) {
    case Activation::Silu: return kernels::GateFunction::silu;
    case Activation::GeluTanh: return kernels::GateFunction::geluTanh;
    case Activation::ClampedSilu: return kernels::GateFunction::clampedSilu;
  }
  return kernels::GateFunction::silu;
}

}  // namespace kvlab
