// SPDX-License-Identifier: Apache-2.0
// Gates of learned eviction (semantics.md, section 6): per layer and KV head an MLP that predicts log4 of the
// number of tokens for which a key will still be looked at (kernels/ops/gate_mlp.h). Read from a safetensors file:
//
//   layers.{l}.w1  [kvHeads, hidden, headDim]   layers.{l}.b1  [kvHeads, hidden]
//   layers.{l}.w2  [kvHeads, hidden, hidden]    layers.{l}.b2  [kvHeads, hidden]
//   layers.{l}.w3  [kvHeads, hidden, hidden]    layers.{l}.b3  [kvHeads, hidden]
//   layers.{l}.w4  [kvHeads, 1, hidden]         layers.{l}.b4  [kvHeads, 1]
//
// for every layer of the model and nothing else; matrices all F32, all F16 or all BF16, biases of any of them.
// Metadata: `input` (pre_rope: keys before k-norm and rotation; post_rope: after both), `model` (fingerprint of the
// model the gates were trained for, text), `threshold` (of attention, of a use), `cap` (of the label, in powers of 4).
//
// Immutable and shared; any thread. Keeps its back end alive.
#pragma once
#include <memory>
#include <string>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/model/files/config.h"
#include "kernels/backend/array.h"
#include "kernels/ops/gate_mlp.h"

namespace kvlab {

class Safetensors;

enum class GateInput : std::uint8_t { PreRope, PostRope };
const char* name(GateInput input);  // "pre_rope"

class GateWeights {
 public:
  /// Values that are not finite are refused, too. Errors: bad_file (no safetensors file), bad_gates (with the tensor or
  /// the key of the metadata as field), out_of_memory, device.
  static Result<std::shared_ptr<const GateWeights>> load(const std::string& path, const ModelConfig& config,
                                                         std::shared_ptr<kernels::Backend> backend);

  const std::string& path() const { return m_path; }
  GateInput input() const { return m_input; }
  /// The fingerprint of the model that they were trained for; compare with modelFingerprint(). A model in another dtype
  /// has another fingerprint.
  const std::string& model() const { return m_model; }
  double threshold() const { return m_threshold; }
  double cap() const { return m_cap; }
  int layers() const { return m_args.layers; }
  int hidden() const { return m_args.hidden(); }
  kernels::DType dtype() const { return m_args.w[0].type; }
  /// In the back end's memory.
  std::int64_t bytes() const { return m_bytes; }

  /// A call for all layers, or for one; keys, rows and scores are for the caller to fill in.
  const kernels::GateMlpArgs& args() const { return m_args; }
  kernels::GateMlpArgs args(Layer layer) const;

 private:
  class Loader;

  std::string m_path, m_model;
  GateInput m_input = GateInput::PreRope;
  double m_threshold = 0, m_cap = 0;
  std::int64_t m_bytes = 0;
  std::shared_ptr<kernels::Backend> m_backend;          // outlives the arrays
  kernels::Array<std::byte> m_w[kernels::kGateStages];  // [layers, kvHeads, out, in]
  kernels::Array<float> m_b[kernels::kGateStages];      // [layers, kvHeads, out]
  kernels::GateMlpArgs m_args;
};

}  // namespace kvlab
