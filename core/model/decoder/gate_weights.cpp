// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/gate_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/model/decoder/backend_status.h"
#include "core/model/files/safetensors.h"
#include "kernels/ops/op_bytes.h"

namespace kvlab {
namespace {

std::string nameOf(Layer layer, char kind, int stage) {
  return "layers." + std::to_string(layer.value()) + "." + kind + std::to_string(stage + 1);
}

}  // namespace

const char* name(GateInput input) { return input == GateInput::PreRope ? "pre_rope" : "post_rope"; }

kernels::GateMlpArgs GateWeights::args(Layer layer) const {
  kernels::GateMlpArgs one = m_args;
  one.layers = 1;
  for (int s = 0; s < kernels::kGateStages; ++s) {
    kernels::Weight& w = one.w[s];
    const std::int64_t outputs = std::int64_t{layer.value()} * one.kvHeads * w.n;
    w.data = static_cast<const std::byte*>(w.data) + outputs * w.k * kernels::dtypeBytes(w.type);
    one.b[s] += outputs;
  }
  return one;
}

class GateWeights::Loader {
 public:
  Loader(GateWeights& out, const ModelConfig& config, const Safetensors& file)
      : m_out(out), m_config(config), m_file(file) {}

  Status run() {
    KV_TRY(metadata());
    KV_TRY(shape());
    for (const Layer layer : idRange<Layer>(0, m_config.layers))
      for (int s = 0; s < kernels::kGateStages; ++s)
        for (const char kind : {'w', 'b'}) KV_TRY(check(layer, kind, s));
    KV_TRY(nothingElse());
    return place();
  }

 private:
  Error bad(const std::string& field, const std::string& why, const std::string& remedy) const {
    return Error("bad_gates", "the gates were refused", m_out.m_path + ": " + field + " " + why, remedy, field);
  }

  const std::string* text(const char* key) const {
    const auto found = m_file.metadata().find(key);
    return found == m_file.metadata().end() ? nullptr : &found->second;
  }

  Status number(const char* key, double& out) const {
    const std::string* words = text(key);
    char* end = nullptr;
    if (words) out = std::strtod(words->c_str(), &end);
    if (!words || words->empty() || *end || !std::isfinite(out) || out <= 0)
      return bad(key, words ? "is \"" + *words + "\", no number above 0" : "is missing in the metadata",
                 "write it as the training run had it; resources/gates/train.py does");
    return ok();
  }

  Status metadata() {
    const std::string *input = text("input"), *model = text("model");
    if (!input || (*input != "pre_rope" && *input != "post_rope"))
      return bad("input", input ? "is \"" + *input + "\"" : "is missing in the metadata", "say pre_rope or post_rope");
    if (!model)
      return bad("model", "is missing in the metadata",
                 "write the fingerprint of the model the gates were trained for");
    m_out.m_input = *input == "pre_rope" ? GateInput::PreRope : GateInput::PostRope;
    m_out.m_model = *model;
    KV_TRY(number("threshold", m_out.m_threshold));
    return number("cap", m_out.m_cap);
  }

  /// Width and type from the first matrix.
  Status shape() {
    kernels::GateMlpArgs& a = m_out.m_args;
    const std::string first = nameOf(Layer(0), 'w', 0);
    const FileTensor* w = m_file.find(first);
    if (!w) return bad(first, "is missing", "export gates for every layer of the model");
    const auto type = kernelType(w->element);
    if (!type || kernels::dtypeHasScale(*type))
      return bad(first, "is " + std::string(name(w->element)), "export F32, F16 or BF16");
    a.layers = m_config.layers;
    a.kvHeads = m_config.kvHeads;
    const std::int64_t hidden = w->shape.size() == 3 ? w->shape[1] : 0;
    if (hidden < 1 || hidden > kernels::kGateHiddenMax || m_config.headDim > kernels::kGateHiddenMax)
      return bad(first,
                 "is " + shapeText(w->shape) + ", its hidden width is not from 1 to " +
                     std::to_string(kernels::kGateHiddenMax),
                 "train narrower gates");
    for (int s = 0; s < kernels::kGateStages; ++s)
      a.w[s] = kernels::gateWeight(s, m_config.headDim, static_cast<std::int32_t>(hidden), *type);
    return ok();
  }

  std::vector<std::int64_t> wanted(char kind, int stage) const {
    const kernels::GateMlpArgs& a = m_out.m_args;
    if (kind == 'b') return {a.kvHeads, a.w[stage].n};
    return {a.kvHeads, a.w[stage].n, a.w[stage].k};
  }

  Status check(Layer layer, char kind, int stage) const {
    const std::string tensor = nameOf(layer, kind, stage);
    const FileTensor* found = m_file.find(tensor);
    if (!found)
      return bad(tensor, "is missing; the model has " + std::to_string(m_config.layers) + " layers",
                 "export gates for every layer of the model");
    if (found->shape != wanted(kind, stage))
      return bad(tensor,
                 "is " + shapeText(found->shape) + ", the model's " + std::to_string(m_config.kvHeads) +
                     " KV heads of " + std::to_string(m_config.headDim) + " need " + shapeText(wanted(kind, stage)),
                 "use gates that were trained for this model");
    const auto type = kernelType(found->element);
    const bool fits = type && (kind == 'w' ? *type == m_out.dtype() : !kernels::dtypeHasScale(*type));
    if (!fits)
      return bad(tensor,
                 "is " + std::string(name(found->element)) + ", " + nameOf(Layer(0), 'w', 0) + " is " +
                     std::string(name(elementOf(m_out.dtype()))),
                 "export all matrices in one of F32, F16 and BF16");
    const std::vector<float> values = widened(found->view());
    const auto odd = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    if (odd != values.end())
      return bad(tensor, "is not finite at element " + std::to_string(odd - values.begin()),
                 "train the gates again, with a smaller learning rate");
    return ok();
  }

  Status nothingElse() const {
    const auto most = at(std::int64_t{m_config.layers} * 2 * kernels::kGateStages);
    if (m_file.tensors().size() == most) return ok();
    for (const auto& [tensor, unused] : m_file.tensors()) {
      bool known = false;
      for (const Layer layer : idRange<Layer>(0, m_config.layers))
        for (int s = 0; s < kernels::kGateStages && !known; ++s)
          known = tensor == nameOf(layer, 'w', s) || tensor == nameOf(layer, 'b', s);
      if (!known)
        return bad(tensor, "is no gate of this model of " + std::to_string(m_config.layers) + " layers",
                   "use gates that were trained for this model");
    }
    return ok();
  }

  Status place() {
    kernels::GateMlpArgs& a = m_out.m_args;
    kernels::Backend& backend = *m_out.m_backend;
    for (int s = 0; s < kernels::kGateStages; ++s) {
      kernels::Weight& w = a.w[s];
      const std::int64_t outputs = a.kvHeads * w.n, matrix = a.kvHeads * kernels::weightBytes(w);
      const bool room =
          m_out.m_w[s].allocate(backend, a.layers * matrix) && m_out.m_b[s].allocate(backend, a.layers * outputs);
      for (const Layer layer : idRange<Layer>(0, room ? a.layers : 0)) {
        m_out.m_w[s].write(layer.value() * matrix, m_file.find(nameOf(layer, 'w', s))->bytes);
        m_out.m_b[s].write(layer.value() * outputs, widened(m_file.find(nameOf(layer, 'b', s))->view()));
      }
      w.data = m_out.m_w[s].data();
      a.b[s] = m_out.m_b[s].data();
      m_out.m_bytes += a.layers * (matrix + 4 * outputs);
    }
    return backendStatus(backend, "bringing the gates to the device");
  }

  GateWeights& m_out;
  const ModelConfig& m_config;
  const Safetensors& m_file;
};

Result<std::shared_ptr<const GateWeights>> GateWeights::load(const std::string& path, const ModelConfig& config,
                                                             std::shared_ptr<kernels::Backend> backend) {
  const Safetensors file = KV_TRY(Safetensors::open(path));
  const auto made = std::make_shared<GateWeights>();
  made->m_path = path;
  made->m_backend = std::move(backend);
  KV_TRY(Loader(*made, config, file).run());
  return std::shared_ptr<const GateWeights>(made);
}

}  // namespace kvlab
