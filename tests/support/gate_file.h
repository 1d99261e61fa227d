// SPDX-License-Identifier: Apache-2.0
// Gates with random weights for tests, written as a file and kept as values.
#pragma once
#include <QTemporaryDir>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/model/files/config.h"
#include "core/model/files/safetensors.h"
#include "kernels/scalar_convert.h"
#include "support/session_fixture.h"

namespace kvlab {

struct GateFile {
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;  // as they read back
    Element element = Element::F32;
    std::vector<std::byte> bytes() const {
      std::vector<std::byte> out(values.size() * static_cast<std::size_t>(elementBytes(element)));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t narrow =
            element == Element::F16 ? kernels::floatToHalf(values[i]) : kernels::floatToBf16(values[i]);
        if (element == Element::F32) std::memcpy(out.data() + 4 * i, &values[i], 4);
        else std::memcpy(out.data() + 2 * i, &narrow, 2);
      }
      return out;
    }
  };
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata{
      {"input", "pre_rope"}, {"model", "some model"}, {"threshold", "0.05"}, {"cap", "6"}};

  GateFile(const ModelConfig& config, int hidden, Element element = Element::F32, unsigned seed = 3) {
    std::mt19937 random(seed);
    const auto draw = [&](std::vector<std::int64_t> shape, float scale, Element as) {
      Tensor t{std::move(shape), {}, as};
      std::int64_t n = 1;
      for (const std::int64_t d : t.shape) n *= d;
      for (std::int64_t i = 0; i < n; ++i) {
        const float x = (static_cast<float>(random() % 20001) / 10000.0f - 1.0f) * scale;
        t.values.push_back(as == Element::BF16      ? kernels::bf16ToFloat(kernels::floatToBf16(x))
                               : as == Element::F16 ? kernels::halfToFloat(kernels::floatToHalf(x))
                                                    : x);
      }
      return t;
    };
    for (int layer = 0; layer < config.layers; ++layer)
      for (int s = 1; s <= 4; ++s) {
        const std::int64_t in = s == 1 ? config.headDim : hidden, out = s == 4 ? 1 : hidden;
        const std::string at = "layers." + std::to_string(layer);
        tensors[at + ".w" + std::to_string(s)] =
            draw({config.kvHeads, out, in}, 1.7f / std::sqrt(static_cast<float>(in)), element);
        tensors[at + ".b" + std::to_string(s)] = draw({config.kvHeads, out}, 0.3f, Element::F32);
      }
  }

  Status write(const std::string& path) const {
    SafetensorsWriter writer;
    std::vector<std::vector<std::byte>> bytes;
    bytes.reserve(tensors.size());
    for (const auto& [name, t] : tensors) writer.add(name, t.element, t.shape, bytes.emplace_back(t.bytes()));
    for (const auto& [key, value] : metadata) writer.metadata(key, value);
    return writer.write(path);
  }

  /// The score of one key of one head, in double.
  double score(int layer, std::int64_t head, const float* key) const {
    const auto& first = tensors.at("layers." + std::to_string(layer) + ".w1").shape;
    std::vector<double> x(key, key + first[2]);
    for (int s = 1; s <= 4; ++s) {
      const Tensor& w = tensors.at("layers." + std::to_string(layer) + ".w" + std::to_string(s));
      const Tensor& b = tensors.at("layers." + std::to_string(layer) + ".b" + std::to_string(s));
      std::vector<double> y;
      for (std::int64_t o = 0; o < w.shape[1]; ++o) {
        double sum = b.values[static_cast<std::size_t>(head * w.shape[1] + o)];
        for (std::size_t i = 0; i < x.size(); ++i)
          sum += x[i] * w.values[static_cast<std::size_t>(head * w.shape[1] + o) * x.size() + i];
        y.push_back(s < 4 ? std::max(sum, 0.0) : sum);
      }
      x = std::move(y);
    }
    return x[0];
  }
};

/// A file of random gates for the model of SessionFixture; empty if it cannot be written.
inline std::string gatesFile() {
  static const QTemporaryDir folder;
  const std::string path = folder.filePath("gates.safetensors").toStdString();
  static const bool written = bool(GateFile(SessionFixture()->model().config(), 24).write(path));
  return written ? path : "";
}

}  // namespace kvlab
