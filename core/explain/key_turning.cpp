// SPDX-License-Identifier: Apache-2.0
#include "core/explain/key_turning.h"

#include <algorithm>
#include <cmath>

#include "core/api/json_values.h"
#include "core/model/decoder/frequencies.h"

namespace kvlab {
namespace {

/// Turns each pair by an angle times `sign`; lengths are multiplied by the factor to the power of `sign`.
void turnRows(const KeyTurning& turning, std::span<float> keys, int dim, std::span<const double> phases, int sign) {
  if (turning.times == 0 || phases.empty()) return;
  const std::size_t width = keys.size() / phases.size();
  std::vector<double> cosines(turning.first.size()), sines(turning.first.size());
  for (std::size_t row = 0; row < phases.size(); ++row) {
    const double phase = (turning.times * phases[row] + turning.shift) * sign;
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      const double factor = turning.frequencies[i] == 0 ? 1 : sign > 0 ? turning.factor : 1 / turning.factor;
      cosines[i] = factor * std::cos(phase * turning.frequencies[i]);
      sines[i] = factor * std::sin(phase * turning.frequencies[i]);
    }
    for (std::size_t head = row * width; head < (row + 1) * width; head += at(dim))
      for (std::size_t i = 0; i < cosines.size(); ++i) {
        float& a = keys[head + at(turning.first[i])];
        float& b = keys[head + at(turning.second[i])];
        const double x = a, y = b;
        a = static_cast<float>(x * cosines[i] - y * sines[i]);
        b = static_cast<float>(y * cosines[i] + x * sines[i]);
      }
  }
}

KeyTurning fromRope(const ModelConfig& config, const Rope& rope, std::int64_t length) {
  KeyTurning out;
  const std::vector<std::int32_t> order = engineOrder(config);
  const int half = config.headDim / 2;
  out.frequencies = inverseFrequencies(rope, config.headDim, length);
  for (int i = 0; i < half; ++i) {
    out.first.push_back(order.empty() ? i : order[at(i)]);
    out.second.push_back(order.empty() ? i + half : order[at(i + half)]);
  }
  out.frequencies.resize(at(half));
  out.factor = rope.attentionFactor;
  return out;
}

/// The mistake of a list by its kind and parameters, on the rope of a layer.
KeyTurning mistaken(KeyTurning turning, std::string kind, nlohmann::json parameters, std::string text) {
  turning.kind = std::move(kind), turning.parameters = std::move(parameters), turning.text = std::move(text);
  return turning;
}

KeyTurning neighbourPairs(KeyTurning turning) {
  int turns = 0;
  for (const double w : turning.frequencies) turns += w != 0 ? 1 : 0;
  for (int i = 0; i < turns; ++i) turning.first[at(i)] = 2 * i, turning.second[at(i)] = 2 * i + 1;
  turning.first.resize(at(turns)), turning.second.resize(at(turns)), turning.frequencies.resize(at(turns));
  return mistaken(std::move(turning), "rotated_neighbours", nlohmann::json::object(),
                  "rotated in pairs of neighbours where the model's pairs are halves");
}

KeyTurning timed(KeyTurning turning, double times, double shift, std::string kind, std::string text,
                 nlohmann::json parameters = nlohmann::json::object()) {
  turning.times = times, turning.shift = shift;
  return mistaken(std::move(turning), std::move(kind), std::move(parameters), std::move(text));
}

bool turnsAlike(const KeyTurning& a, const KeyTurning& b) {
  return a.frequencies == b.frequencies && a.factor == b.factor && a.first == b.first && a.times == b.times &&
      a.shift == b.shift;
}

void addRopes(std::vector<KeyTurning>& out, const ModelConfig& config, const Rope& own, std::int64_t length) {
  Rope plain = own;
  plain.kind = Rope::Kind::Default, plain.factor = 1, plain.attentionFactor = 1;
  if (own.kind != Rope::Kind::Default)
    out.push_back(mistaken(fromRope(config, plain, length), "rotary_scaling", {{"scaling", "none"}},
                           "rotated without the model's scaling of positions"));
  for (const Rope& other : config.ropes)
    if (!(other == own))
      out.push_back(mistaken(fromRope(config, other, length), "rotary_of_other_layers", {{"base", other.theta}},
                             "rotated as other layers of the model are, with base " + numberWords(other.theta, 6)));
  for (const double base : {1e4, 1e5, 1.5e5, 2.5e5, 5e5, 1e6, 5e6, 8e6, 1e7}) {
    if (base == own.theta) continue;
    Rope rope = own;
    rope.theta = base;
    out.push_back(
        mistaken(fromRope(config, rope, length), "rotary_base", {{"base", base}, {"model", own.theta}},
                 "rotated with base " + numberWords(base, 6) + " where the model has " + numberWords(own.theta, 6)));
  }
  for (const double factor : {2.0, 4.0, 8.0, 16.0, 0.25, 0.125}) {
    KeyTurning turning = fromRope(config, own, length);
    for (double& w : turning.frequencies) w /= factor;
    out.push_back(mistaken(std::move(turning), "rotary_scaling", {{"scaling", "linear"}, {"factor", factor}},
                           "rotated with positions divided by " + numberWords(factor, 4)));
  }
  if (own.dims > 0 && own.dims < config.headDim) {
    Rope rope = own;
    rope.dims = 0;
    KeyTurning turning;
    turning.frequencies = inverseFrequencies(rope, config.headDim, length);
    turning.factor = rope.attentionFactor;
    for (int i = 0; i < config.headDim / 2; ++i)
      turning.first.push_back(i), turning.second.push_back(i + config.headDim / 2);
    out.push_back(mistaken(std::move(turning), "rotary_dims", {{"dims", config.headDim}, {"model", own.dims}},
                           "rotated in all values of a head where the model rotates " + std::to_string(own.dims)));
  }
}

}  // namespace

void KeyTurning::turn(std::span<float> keys, int dim, std::span<const double> phases) const {
  turnRows(*this, keys, dim, phases, 1);
}

void KeyTurning::turnBack(std::span<float> keys, int dim, std::span<const double> phases) const {
  turnRows(*this, keys, dim, phases, -1);
}

KeyTurning turningOf(const ModelConfig& config, Layer layer, std::int64_t length) {
  return fromRope(config, config.rope(layer), length);
}

KeyTurning turningWithBase(const ModelConfig& config, Layer layer, std::int64_t length, double base) {
  Rope rope = config.rope(layer);
  const double own = rope.theta;
  rope.theta = base;
  return mistaken(fromRope(config, rope, length), "rotary_base", {{"base", base}, {"model", own}},
                  "rotated with base " + numberWords(base, 4) + " where the model has " + numberWords(own, 6));
}

std::vector<KeyTurning> otherTurnings(const ModelConfig& config, Layer layer, std::int64_t length) {
  const KeyTurning own = turningOf(config, layer, length);
  std::vector<KeyTurning> out;
  out.push_back(timed(own, 0, 0, "not_rotated", "not rotated"));
  out.push_back(timed(own, -1, 0, "inverse_rotation", "rotated the other way"));
  out.push_back(timed(own, 2, 0, "rotated_twice", "rotated twice"));
  out.push_back(neighbourPairs(own));
  out.push_back(timed(own, 1, 1, "position_offset", "rotated to the position behind their own", {{"offset", 1}}));
  out.push_back(timed(own, 1, -1, "position_offset", "rotated to the position before their own", {{"offset", -1}}));
  addRopes(out, config, config.rope(layer), length);
  std::erase_if(out, [&](const KeyTurning& one) { return turnsAlike(one, own); });
  return out;
}

KeyTurning turningLike(const KeyTurning& mistake, const ModelConfig& config, Layer layer, std::int64_t length) {
  if (mistake.kind.empty()) return turningOf(config, layer, length);
  if (mistake.kind == "rotary_base" && config.ropes.size() == 1)
    return turningWithBase(config, layer, length, mistake.parameters.value("base", 0.0));
  if (mistake.kind == "position_offset")
    return timed(turningOf(config, layer, length), 1, mistake.shift, mistake.kind, mistake.text, mistake.parameters);
  for (KeyTurning& one : otherTurnings(config, layer, length))
    if (one.kind == mistake.kind && one.parameters == mistake.parameters) return std::move(one);
  return turningOf(config, layer, length);
}

}  // namespace kvlab
