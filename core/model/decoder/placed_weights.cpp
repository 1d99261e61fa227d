// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/placed_weights.h"

#include <algorithm>
#include <cstddef>

#include "core/model/decoder/backend_status.h"

namespace kvlab {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;  // bytes between two looks at `cancel`

/// Calls fn(view, isBias) for every weight there is.
template <class Weights, class Fn>
void eachOf(Weights& w, const Fn& fn) {
  eachWeight(w, [&](auto& view, WeightKind kind) {
    if (view) fn(view, kind == WeightKind::Bias);
  });
}

/// Placement of a weight on a back end.
struct Placed {
  bool widened = false;  // to f32
  bool copied = false;
  std::int64_t bytes = 0;  // size of the copy
};

Placed placed(const kernels::Backend& backend, const TensorView& view, bool bias, bool dequantises) {
  const bool widened = bias || (kernels::dtypeInBlocks(view.dtype) && (dequantises || !backend.onHost()));
  const bool copied = widened || !backend.onHost();
  return {widened, copied, !copied ? 0 : widened ? view.elements() * 4 : view.bytes()};
}

}  // namespace

std::int64_t PlacedWeights::bytes(const Model& model, const kernels::Backend& backend, bool dequantises) {
  std::int64_t sum = 0;
  const auto add = [&](const TensorView& view, bool bias) { sum += placed(backend, view, bias, dequantises).bytes; };
  add(model.embed(), false);
  if (model.head().data != model.embed().data) add(model.head(), false);
  add(model.finalNorm(), false);
  for (const Layer l : idRange<Layer>(0, model.config().layers)) eachOf(model.layer(l), add);
  return sum;
}

class PlacedWeights::Placing {
 public:
  Placing(PlacedWeights& out, bool dequantises, const Progress& progress)
      : m_out(out),
        m_dequantises(dequantises),
        m_progress(progress),
        m_all(bytes(*out.m_model, *out.m_backend, dequantises)) {}

  void tensor(TensorView& view, bool bias) {
    const Placed form = placed(*m_out.m_backend, view, bias, m_dequantises);
    if (m_stopped || !form.copied) return;
    if (!form.widened) return copy(view, view.data);
    const std::vector<float> values = widened(view);
    view.dtype = kernels::DType::f32;
    copy(view, values.data());
  }
  bool cancelled() const { return m_cancelled; }

 private:
  void copy(TensorView& view, const void* from) {
    kernels::Array<std::byte> memory;
    const std::int64_t size = view.bytes();
    m_stopped = !memory.allocate(*m_out.m_backend, size);
    for (std::int64_t at = 0; at < size && !m_stopped; at += kPieceBytes) {
      m_stopped = m_cancelled = !report(m_progress, "placing weights", m_done, m_all);
      const std::int64_t piece = std::min(kPieceBytes, size - at);
      if (!m_stopped) memory.write(at, {static_cast<const std::byte*>(from) + at, static_cast<std::size_t>(piece)});
      m_done += piece;
    }
    view.data = memory.data();
    m_out.m_copies->push_back(std::move(memory));
  }

  PlacedWeights& m_out;
  bool m_dequantises;
  const Progress& m_progress;
  std::int64_t m_all, m_done = 0;
  bool m_stopped = false, m_cancelled = false;
};

Result<std::shared_ptr<const PlacedWeights>> PlacedWeights::place(std::shared_ptr<const Model> model,
                                                                  std::shared_ptr<kernels::Backend> backend,
                                                                  const Progress& progress, bool dequantises) {
  auto out = std::make_shared<PlacedWeights>();
  out->m_model = std::move(model);
  out->m_backend = std::move(backend);
  const Model& from = *out->m_model;
  out->m_embed = from.embed();
  out->m_head = from.head();
  out->m_finalNorm = from.finalNorm();
  Placing placing(*out, dequantises, progress);
  placing.tensor(out->m_embed, false);
  if (from.head().data == from.embed().data) out->m_head = out->m_embed;
  else placing.tensor(out->m_head, false);
  placing.tensor(out->m_finalNorm, false);
  for (const Layer l : idRange<Layer>(0, from.config().layers)) {
    out->m_layers.push_back(from.layer(l));
    eachOf(out->m_layers.back(), [&](TensorView& view, bool bias) { placing.tensor(view, bias); });
  }
  if (placing.cancelled())
    return Error("cancelled", "opening the model was cancelled", "while its weights went to the device",
                 "open it again");
  KV_TRY(backendStatus(*out->m_backend, "bringing the weights to the device"));
  return std::shared_ptr<const PlacedWeights>(std::move(out));
}

std::shared_ptr<const PlacedWeights> PlacedWeights::withLayer(const std::shared_ptr<const PlacedWeights>& weights,
                                                              Layer layer, const LayerWeights& other) {
  auto out = std::make_shared<PlacedWeights>(*weights);
  out->m_model = out->m_model->withLayer(layer, other);
  out->m_layers[at(layer)] = other;
  return out;
}

std::shared_ptr<const PlacedWeights> PlacedWeights::withConfig(const std::shared_ptr<const PlacedWeights>& weights,
                                                               const ModelConfig& config) {
  auto out = std::make_shared<PlacedWeights>(*weights);
  out->m_model = out->m_model->withConfig(config);
  return out;
}

}  // namespace kvlab
