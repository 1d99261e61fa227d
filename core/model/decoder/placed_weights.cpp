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

bool copied(const kernels::Backend& backend, bool bias) { return bias || !backend.onHost(); }
std::int64_t placedBytes(const TensorView& view, bool bias) { return bias ? view.elements() * 4 : view.bytes(); }

}  // namespace

std::int64_t PlacedWeights::bytes(const Model& model, const kernels::Backend& backend) {
  std::int64_t sum = 0;
  const auto add = [&](const TensorView& view, bool bias) {
    sum += copied(backend, bias) ? placedBytes(view, bias) : 0;
  };
  add(model.embed(), false);
  if (model.head().data != model.embed().data) add(model.head(), false);
  add(model.finalNorm(), false);
  for (const Layer l : idRange<Layer>(0, model.config().layers)) eachOf(model.layer(l), add);
  return sum;
}

class PlacedWeights::Placing {
 public:
  Placing(PlacedWeights& out, const Progress& progress)
      : m_out(out), m_progress(progress), m_all(bytes(*out.m_model, *out.m_backend)) {}

  void tensor(TensorView& view, bool bias) {
    if (m_stopped || !copied(*m_out.m_backend, bias)) return;
    if (!bias) return copy(view, view.data);
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
      m_stopped = m_cancelled = !report(m_progress, "weights to the device", m_done, m_all);
      const std::int64_t piece = std::min(kPieceBytes, size - at);
      if (!m_stopped) memory.write(at, {static_cast<const std::byte*>(from) + at, static_cast<std::size_t>(piece)});
      m_done += piece;
    }
    view.data = memory.data();
    m_out.m_copies.push_back(std::move(memory));
  }

  PlacedWeights& m_out;
  const Progress& m_progress;
  std::int64_t m_all, m_done = 0;
  bool m_stopped = false, m_cancelled = false;
};

Result<std::shared_ptr<const PlacedWeights>> PlacedWeights::place(std::shared_ptr<const Model> model,
                                                                  std::shared_ptr<kernels::Backend> backend,
                                                                  const Progress& progress) {
  auto placed = std::make_shared<PlacedWeights>();
  placed->m_model = std::move(model);
  placed->m_backend = std::move(backend);
  const Model& from = *placed->m_model;
  placed->m_embed = from.embed();
  placed->m_head = from.head();
  placed->m_finalNorm = from.finalNorm();
  Placing placing(*placed, progress);
  placing.tensor(placed->m_embed, false);
  if (from.head().data == from.embed().data) placed->m_head = placed->m_embed;
  else placing.tensor(placed->m_head, false);
  placing.tensor(placed->m_finalNorm, false);
  for (const Layer l : idRange<Layer>(0, from.config().layers)) {
    placed->m_layers.push_back(from.layer(l));
    eachOf(placed->m_layers.back(), [&](TensorView& view, bool bias) { placing.tensor(view, bias); });
  }
  if (placing.cancelled())
    return Error("cancelled", "opening the model was cancelled", "while its weights went to the device",
                 "open it again");
  KV_TRY(backendStatus(*placed->m_backend, "bringing the weights to the device"));
  return std::shared_ptr<const PlacedWeights>(std::move(placed));
}

}  // namespace kvlab
