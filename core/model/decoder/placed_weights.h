// SPDX-License-Identifier: Apache-2.0
// The weights of a model where ops can read them: the mapped files themselves, or copies in a back end's
// memory that go up once. Biases are f32. Weights in blocks (kernels/dtype.h) become f32 where the back end does not
// compute with them, or where that is asked for. Immutable and shared by a session and its forks; keeps the model and
// the back end alive.
#pragma once
#include <memory>
#include <vector>

#include "core/api/progress.h"
#include "core/model/model.h"
#include "kernels/backend/array.h"

namespace kvlab {

class PlacedWeights {
 public:
  /// dequantises: weights in blocks become f32. Errors: out_of_memory, device, cancelled. Progress counts bytes.
  static Result<std::shared_ptr<const PlacedWeights>> place(std::shared_ptr<const Model> model,
                                                            std::shared_ptr<kernels::Backend> backend,
                                                            const Progress& progress = {}, bool dequantises = false);
  /// Bytes that place() takes in the back end's memory.
  static std::int64_t bytes(const Model& model, const kernels::Backend& backend, bool dequantises = false);

  /// The same with other weights of the same shapes in a layer, placed on the same back end. Whoever made them keeps
  /// their bytes alive.
  static std::shared_ptr<const PlacedWeights> withLayer(const std::shared_ptr<const PlacedWeights>& weights,
                                                        Layer layer, const LayerWeights& other);
  /// The same read by another configuration of the same shapes.
  static std::shared_ptr<const PlacedWeights> withConfig(const std::shared_ptr<const PlacedWeights>& weights,
                                                         const ModelConfig& config);

  const Model& model() const { return *m_model; }
  const TensorView& embed() const { return m_embed; }
  const LayerWeights& layer(Layer l) const { return m_layers[at(l)]; }
  const TensorView& finalNorm() const { return m_finalNorm; }
  const TensorView& head() const { return m_head; }

 private:
  class Placing;

  std::shared_ptr<const Model> m_model;
  std::shared_ptr<kernels::Backend> m_backend;
  std::shared_ptr<std::vector<kernels::Array<std::byte>>> m_copies =  // shared with weights made of these
      std::make_shared<std::vector<kernels::Array<std::byte>>>();
  TensorView m_embed, m_finalNorm, m_head;
  std::vector<LayerWeights> m_layers;
};

}  // namespace kvlab
