// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/rope_config.h"

#include <cmath>

namespace kvlab {
namespace {

using nlohmann::json;
using Kind = RopeScaling::Kind;

constexpr double kMaxFactor = 1e6;

/// 0.1 m ln s + 1, the temperature of YaRN (arXiv:2309.00071, equation 22).
double yarnScale(double factor, double m) { return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0; }

Status readKind(const JsonFields& in, RopeScaling& rope) {
  const char* key = in.has("rope_type") ? "rope_type" : "type";
  const auto kind = KV_TRY(in.text(key, "default"));
  if (kind == "default") rope.kind = Kind::None;
  else if (kind == "linear") rope.kind = Kind::Linear;
  else if (kind == "llama3") rope.kind = Kind::Llama3;
  else if (kind == "yarn") rope.kind = Kind::Yarn;
  else return in.bad(key, "is not implemented", "use a checkpoint with default, linear, llama3 or yarn");
  return ok();
}

/// The length the model was trained at: in the scaling object, else beside it, else the maximum.
Status readOriginal(const JsonFields& in, const JsonFields& top, ModelConfig& c) {
  constexpr const char* key = "original_max_position_embeddings";
  constexpr std::int64_t most = 1 << 30;
  if (!in.has(key) && top.has(key)) return top.number(key, c.rope.originalMaxPosition, std::int64_t{1}, most);
  return in.number(key, c.rope.originalMaxPosition, std::int64_t{1}, most, std::optional<std::int64_t>(c.maxPositions));
}

Status readLlama3(const JsonFields& in, RopeScaling& rope) {
  KV_TRY(in.number("low_freq_factor", rope.lowFreqFactor, 1e-6, kMaxFactor));
  KV_TRY(in.number("high_freq_factor", rope.highFreqFactor, 1e-6, kMaxFactor));
  if (rope.highFreqFactor <= rope.lowFreqFactor) return in.bad("high_freq_factor", "is not above low_freq_factor");
  return ok();
}

Status readYarn(const JsonFields& in, RopeScaling& rope) {
  double mscale = 0, mscaleAll = 0;
  KV_TRY(in.number("beta_fast", rope.betaFast, 1e-6, kMaxFactor, 32.0));
  KV_TRY(in.number("beta_slow", rope.betaSlow, 1e-6, kMaxFactor, 1.0));
  KV_TRY(in.flag("truncate", rope.truncate, true));
  KV_TRY(in.number("mscale", mscale, 0.0, kMaxFactor, 0.0));
  KV_TRY(in.number("mscale_all_dim", mscaleAll, 0.0, kMaxFactor, 0.0));
  const double usual = mscale != 0 && mscaleAll != 0
      ? yarnScale(rope.factor, mscale) / yarnScale(rope.factor, mscaleAll)
      : yarnScale(rope.factor, 1);
  return in.number("attention_factor", rope.attentionFactor, 1e-6, kMaxFactor, usual);
}

Status readScaling(const JsonFields& in, const JsonFields& top, ModelConfig& c) {
  if (auto s = readKind(in, c.rope); !s || c.rope.kind == Kind::None) return s;
  if (c.rope.kind == Kind::Linear) return in.number("factor", c.rope.factor, 1e-6, kMaxFactor);
  KV_TRY(readOriginal(in, top, c));
  // Without a factor, YaRN stretches from the original length to the maximum.
  std::optional<double> usual;
  if (c.rope.kind == Kind::Yarn)
    usual = static_cast<double>(c.maxPositions) / static_cast<double>(c.rope.originalMaxPosition);
  KV_TRY(in.number("factor", c.rope.factor, 1e-6, kMaxFactor, usual));
  return c.rope.kind == Kind::Llama3 ? readLlama3(in, c.rope) : readYarn(in, c.rope);
}

Status readTheta(const JsonFields& in, ModelConfig& c) {
  return in.number("rope_theta", c.ropeTheta, 1.001, 1e15, c.ropeTheta);
}

}  // namespace

Status readRope(const JsonFields& top, ModelConfig& c) {
  KV_TRY(readTheta(top, c));
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!top.has(key)) continue;
    const json& object = top.json().at(key);
    if (!object.is_object()) return top.bad(key, "is not an object");
    const JsonFields in(object, top.file());
    KV_TRY(readTheta(in, c));
    double partial = 1;
    KV_TRY(in.number("partial_rotary_factor", partial, 0.0, 1.0, 1.0));
    if (partial != 1) return in.bad("partial_rotary_factor", "is not implemented", "use a checkpoint with 1");
    for (const auto& [name, value] : object.items())
      if (value.is_object()) return top.bad(key, "differs by layer (\"" + name + "\")", "use another checkpoint");
    return readScaling(in, top, c);
  }
  return ok();
}

}  // namespace kvlab
