// SPDX-License-Identifier: Apache-2.0
// A gist network with random weights for tests, written as a file and kept as values.
#pragma once
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/model/files/safetensors.h"

namespace kvlab {

struct GistFile {
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata{{"kind", "gist_net"}, {"model", "some model"}};
  std::int64_t hidden;

  GistFile(std::int64_t width, int levels, int pools, int inner, float last = 0.1f, unsigned seed = 3) : hidden(width) {
    std::mt19937 random(seed);
    const auto draw = [&](std::vector<std::int64_t> shape, float scale) {
      Tensor t{std::move(shape), {}};
      std::int64_t n = 1;
      for (const std::int64_t d : t.shape) n *= d;
      for (std::int64_t i = 0; i < n; ++i)
        t.values.push_back((static_cast<float>(random() % 20001) / 10000.0f - 1.0f) * scale);
      return t;
    };
    for (int level = 1; level <= levels; ++level) {
      const std::string at = "levels." + std::to_string(level) + ".";
      tensors[at + "norm"] = draw({hidden}, 1.0f);
      tensors[at + "query"] = draw({pools, hidden}, 0.3f);
      tensors[at + "position"] = draw({pools, 32}, 1.0f);
      tensors[at + "w1"] = draw({inner, pools * hidden}, 0.2f);
      tensors[at + "b1"] = draw({inner}, 0.2f);
      tensors[at + "w2"] = draw({hidden, inner}, last);
      tensors[at + "b2"] = draw({hidden}, last);
    }
  }

  Status write(const std::string& path) const {
    SafetensorsWriter writer;
    for (const auto& [name, t] : tensors) writer.add(name, Element::F32, t.shape, std::as_bytes(std::span(t.values)));
    for (const auto& [key, value] : metadata) writer.metadata(key, value);
    return writer.write(path);
  }

  /// The gist of 32 children [32, hidden] as core/kinds/wlod/tree/gist_net.h writes it, in double.
  std::vector<double> gist(int level, const float* x) const {
    const auto part = [&](const char* name) -> const Tensor& {
      return tensors.at("levels." + std::to_string(level) + "." + name);
    };
    const std::int64_t pools = part("query").shape[0], inner = part("w1").shape[0];
    const auto value = [](const Tensor& t, std::int64_t i) {
      return static_cast<double>(t.values[static_cast<std::size_t>(i)]);
    };
    std::vector<double> z, out(static_cast<std::size_t>(hidden));
    for (std::int64_t h = 0; h < pools; ++h) {
      std::vector<double> share;
      double sum = 0;
      for (std::int64_t c = 0; c < 32; ++c) {
        double squares = 0, score = value(part("position"), h * 32 + c);
        for (std::int64_t d = 0; d < hidden; ++d) squares += double(x[c * hidden + d]) * x[c * hidden + d];
        const double rms = std::sqrt(squares / static_cast<double>(hidden));
        for (std::int64_t d = 0; d < hidden; ++d)
          score += value(part("query"), h * hidden + d) * x[c * hidden + d] / rms * value(part("norm"), d);
        share.push_back(std::exp(score));
        sum += share.back();
      }
      for (std::int64_t d = 0; d < hidden; ++d) {
        double p = 0;
        for (std::int64_t c = 0; c < 32; ++c) p += share[static_cast<std::size_t>(c)] / sum * x[c * hidden + d];
        z.push_back(p);
      }
    }
    double squares = 0;
    for (const double p : z) squares += p * p;
    for (double& p : z) p /= std::sqrt(squares / static_cast<double>(z.size()));
    for (std::int64_t d = 0; d < hidden; ++d) {
      double& sum = out[static_cast<std::size_t>(d)];
      for (std::int64_t c = 0; c < 32; ++c) sum += x[c * hidden + d] / 32.0;
      sum += value(part("b2"), d);
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      double a = value(part("b1"), i);
      for (std::size_t j = 0; j < z.size(); ++j)
        a += value(part("w1"), i * static_cast<std::int64_t>(z.size()) + static_cast<std::int64_t>(j)) * z[j];
      a = a / (1 + std::exp(-a));
      for (std::int64_t d = 0; d < hidden; ++d)
        out[static_cast<std::size_t>(d)] += value(part("w2"), d * inner + i) * a;
    }
    return out;
  }
};

}  // namespace kvlab
